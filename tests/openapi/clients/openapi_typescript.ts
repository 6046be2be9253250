// A client of openapi-typescript: stores an item, then finds it.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

declare const process: { env: Record<string, string> };
const { BASE: baseUrl, CLIENT_ID: client_id, CLIENT_SECRET: client_secret } = process.env;

function ok<T>({ data, error }: { data?: T; error?: unknown }): T {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

const client = createClient<paths>({ baseUrl });
const token = ok(
  await client.POST("/oauth2/token", {
    body: { grant_type: "client_credentials", client_id, client_secret },
    headers: { "content-type": "application/x-www-form-urlencoded" },
  }),
);
client.use({
  onRequest({ request }) {
    request.headers.set("authorization", `Bearer ${token.access_token}`);
  },
});

const content: components["schemas"]["Content"] = { id: "n1", title: "Harbour dues", displayTime: 1704067200000 };
const written = await client.PUT("/v1/contents/{moduleCode}", {
  params: { path: { moduleCode: "article" } },
  body: [content],
});
if (ok(written).data.length > 0) throw new Error(JSON.stringify(written.data));
const after = Number(written.response.headers.get("x-trawl-position"));

const query = { keyword: "harbour", moduleId: "article", sort: "time", limit: 5, after } as const;
const found = ok(await client.GET("/contents/search", { params: { query } }));
const posted = ok(await client.POST("/contents/search", { body: query }));
const [item]: components["schemas"]["ContentItem"][] = found.data;
const [report]: components["schemas"]["SourceReport"][] = posted.sources;
console.log(JSON.stringify([item.id, item.title, item.source, item.displayTime, report.status, posted.total]));
