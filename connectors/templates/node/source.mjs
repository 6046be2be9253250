// A source of trawl: answers searches by the contract. Put your own system's search into `find`.

import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const KEY = process.env.SOURCE_API_KEY ?? "change-me";
const NEW_YEAR = 1_704_067_200_000;

/** The newest first; of equal times by id, so that every page has its place. */
export const ITEMS = Array.from({ length: 45 }, (_, number) => ({
    id: `report-${String(number).padStart(2, "0")}`,
    title: `Report ${number} of the harbour`,
    brief: "Cranes, quays and customs.",
    author: "Mei Chen",
    displayTime: NEW_YEAR - Math.floor(number / 2) * 3_600_000,
    action: JSON.stringify({ web: `[OpenUrl]\nurl=https://intranet.example/reports/${number}` }),
})).sort(compare);

function compare(one, other) {
    return other.displayTime - one.displayTime || (one.id < other.id ? -1 : Number(one.id > other.id));
}

/** A page of matches, the number of all, and the cursor of the next page or null. */
export function find(keyword, limit, cursor) {
    const words = keyword.toLowerCase().split(/\s+/u).filter(Boolean);
    const matches = ITEMS.filter(({ title, brief }) => words.every((word) => `${title} ${brief}`.toLowerCase().includes(word)));
    // The cursor names the last item, not an offset: added and removed items shift no page.
    const [time, id] = cursor?.split("/") ?? [];
    const last = cursor && { displayTime: Number(time), id };
    const left = last ? matches.filter((item) => compare(item, last) > 0) : matches;
    const page = left.slice(0, limit);
    const end = page.at(-1);
    return { data: page, total: matches.length, cursor: left.length > page.length && end ? `${end.displayTime}/${end.id}` : null };
}

function answer(request) {
    const query = new URL(request.url, "http://source").searchParams;
    const [keyword, cursor] = [query.get("keyword") ?? "", query.get("cursor")];
    const limit = Number(query.get("limit") ?? 10);
    if (request.headers["x-api-key"] !== KEY) {
        return { code: 401, message: "the key is missing or wrong" };
    } else if (!keyword.trim()) {
        return { code: 400, message: "keyword: is required" };
    } else if (!Number.isInteger(limit) || (cursor && !/^\d+\/./u.test(cursor))) {
        return { code: 400, message: "limit or cursor: is not one of this source" };
    }
    const found = find(keyword, Math.min(Math.max(limit, 1), 100), cursor);
    return { code: 200, message: null, count: found.data.length, ...found };
}

export const server = createServer((request, response) => {
    const body = answer(request);
    response.writeHead(body.code, { "Content-Type": "application/json;charset=UTF-8" }).end(JSON.stringify(body));
});

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
    server.listen(Number(process.env.PORT ?? 8090), "127.0.0.1", () => {
        console.log(`http://127.0.0.1:${server.address().port}/search`);
    });
}
