import assert from "node:assert/strict";
import test from "node:test";

import { ITEMS, find, server } from "./source.mjs";

test("pages hold every match once", () => {
    const ids = [];
    let cursor = null;
    do {
        const page = find("report", 7, cursor);
        assert.equal(page.total, ITEMS.length);
        ids.push(...page.data.map(({ id }) => id));
        cursor = page.cursor;
    } while (cursor);
    assert.deepEqual(ids, ITEMS.map(({ id }) => id));
});

test("two slashes are a path", async () => {
    await new Promise((listening) => { server.listen(0, "127.0.0.1", listening); });
    const { port } = server.address();
    const answer = await fetch(`http://127.0.0.1:${port}//?keyword=report`);
    assert.equal(answer.status, 401);
    await answer.text();
    server.closeAllConnections();
    await new Promise((closed) => { server.close(closed); });
});

test("unknown word finds nothing", () => {
    assert.deepEqual(find("nowhere", 10, null), { data: [], total: 0, cursor: null });
});
