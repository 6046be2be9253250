// A client of hey-api: stores an item, then finds it.
import { client } from "./api/client.gen.js";
import { getSearch, issueToken, postSearch, putContents } from "./api/index.js";
import type { Content, ContentItem, SourceReport } from "./api/index.js";

declare const process: { env: Record<string, string> };
const { BASE: baseUrl, CLIENT_ID: client_id, CLIENT_SECRET: client_secret } = process.env;

client.setConfig({ baseUrl });
const form = { grant_type: "client_credentials", client_id, client_secret };
const token = await issueToken({ body: form, throwOnError: true });
client.setConfig({ auth: token.data.access_token });

const content: Content = { id: "n1", title: "Harbour dues", displayTime: 1704067200000 };
const written = await putContents({ path: { moduleCode: "article" }, body: [content], throwOnError: true });
if (written.data.data.length > 0) throw new Error(JSON.stringify(written.data));
const after = Number(written.response.headers.get("x-trawl-position"));

const query = { keyword: "harbour", moduleId: "article", sort: "time", limit: 5, after } as const;
const found = await getSearch({ query, throwOnError: true });
const posted = await postSearch({ body: query, throwOnError: true });
const [item]: ContentItem[] = found.data.data;
const [report]: SourceReport[] = posted.data.sources;
console.log(JSON.stringify([item.id, item.title, item.source, item.displayTime, report.status, posted.data.total]));
