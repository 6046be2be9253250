import assert from "node:assert/strict";
import test from "node:test";

import { ITEMS, find } from "./source.mjs";

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

test("unknown word finds nothing", () => {
    assert.deepEqual(find("nowhere", 10, null), { data: [], total: 0, cursor: null });
});
