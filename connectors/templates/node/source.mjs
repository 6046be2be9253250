// A source of trawl: answers searches by the contract. Put your own system's search into `find`.

import { timingSafeEqual } from "node:crypto";
import { realpathSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";

const KEY = process.env.SOURCE_API_KEY ?? "";
const NEW_YEAR = 1_704_067_200_000;

/** The newest first; of equal times by id, so that every page has its place. */
export const ITEMS = Array.from({ length: 45 }, (_, number) => ({
    id: `reports/${String(number).padStart(2, "0")}`,
    title: `Report ${number} of the harbour`,
    brief: "Cranes, quays and customs.",
    author: "Mei Chen",
    displayTime: NEW_YEAR - Math.floor(number / 2) * 3_600_000,
    action: JSON.stringify({ web: `[OpenUrl]\nurl=https://intranet.example/reports/${number}` }),
})).sort(compare);

function compare(one, other) {
    return other.displayTime - one.displayTime || (one.id < other.id ? -1 : Number(one.id > other.id));
}

/** A page of matches, the number of all, and the cursor of the next page or null. It may be async. */
export function find(keyword, limit, cursor) {
    const words = keyword.toLowerCase().split(/\s+/u).filter(Boolean);
    const matches = ITEMS.filter(({ title, brief }) => words.every((word) => `${title} ${brief}`.toLowerCase().includes(word)));
    // The cursor names the last item, not an offset: added and removed items shift no page. An id may hold slashes.
    const [, time, id] = /^(-?\d+)\/(.+)$/su.exec(cursor ?? "") ?? [];
    const last = cursor && { displayTime: Number(time), id };
    const left = last ? matches.filter((item) => compare(item, last) > 0) : matches;
    const page = left.slice(0, limit);
    const end = page.at(-1);
    return { data: page, total: matches.length, cursor: left.length > page.length && end ? `${end.displayTime}/${end.id}` : null };
}

function isKey(given = "") {
    const [left, right] = [Buffer.from(given), Buffer.from(KEY)];
    return KEY !== "" && left.length === right.length && timingSafeEqual(left, right);
}

async function answer(request) {
    // The request's own text, as `new URL` would read the host in `//`.
    const query = new URLSearchParams(request.url.split("?").slice(1).join("?"));
    const [keyword, cursor] = [query.get("keyword") ?? "", query.get("cursor")];
    const limit = Number(query.get("limit") || 10);
    if (!isKey(request.headers["x-api-key"])) {
        return { code: 401, message: "the key is missing or wrong" };
    } else if (!keyword.trim()) {
        return { code: 400, message: "keyword: is required" };
    } else if (!Number.isInteger(limit) || (cursor && !/^-?\d+\/./u.test(cursor))) {
        return { code: 400, message: "limit or cursor: is not one of this source" };
    }
    const found = await find(keyword, Math.min(Math.max(limit, 1), 100), cursor);
    return { code: 200, message: null, count: found.data.length, ...found };
}

export const server = createServer(async (request, response) => {
    let body;
    try {
        body = await answer(request);
    } catch (error) {
        console.error(error);
        body = { code: 500, message: "the search failed" };
    }
    response.writeHead(body.code, { "Content-Type": "application/json;charset=UTF-8" }).end(JSON.stringify(body));
});

// Also by a symbolic link, such as a release folder's.
if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
    if (!KEY) {
        console.error("SOURCE_API_KEY: is required");
        process.exit(1);
    }
    const host = process.env.HOST ?? "127.0.0.1";
    server.listen(Number(process.env.PORT ?? 8090), host, () => {
        console.log(`http://${host.includes(":") ? `[${host}]` : host}:${server.address().port}/search`);
    });
}
