// Answers list requests by `test.answer(query)`, which returns a status and a body.
test.intercept(async ({ path, query }) => {
    const answer = path === "contents/search" && test.answer?.(query);
    return answer ? test.response(...answer) : undefined;
});

test.rows = (from, count) =>
    Array.from({ length: count }, (_, place) => ({ id: `i${from + place}`, title: `Row ${from + place}` }));

const source = (status, name = "x") => ({ id: name, name, status });

test.answers = {
    // Pages of 45 rows; the third fails `listFailures` times.
    thirdFails(query) {
        const from = Number(query.get("cursor") ?? 0);
        if (from === 40 && test.listFailures) {
            test.listFailures -= 1;
            return [500];
        }
        const cursor = from < 40 ? String(from + 20) : null;
        return [200, { data: test.rows(from, Math.min(20, 45 - from)), total: 45, cursor, sources: [] }];
    },
    endless(query) {
        const [from, limit] = [Number(query.get("cursor") ?? 0), Number(query.get("limit"))];
        return [200, { data: test.rows(from, limit), total: 9000, cursor: String(from + limit), sources: [] }];
    },
    emptyFirst: (query) => [
        200,
        query.get("cursor")
            ? { data: test.rows(0, 2), total: 5000, cursor: null, sources: [source("ok")] }
            : { data: [], total: 5000, cursor: "c", partial: true, sources: [source("ok")] },
    ],
    emptyForever: () => [200, { data: [], total: 7, cursor: "c", sources: [] }],
    invalidFirst: (query) => [
        200,
        query.get("cursor")
            ? { data: [], total: 0, cursor: null, sources: [source("ok")] }
            : { data: [], total: 0, cursor: "c", sources: [source("invalid")] },
    ],
    timeout: () => [502, { sources: [{ id: "x", name: "Contracts", status: "timeout" }] }],
    busy: () => [429],
    // A partial page with invalid items, then the rest.
    partialFirst: (query) => [
        200,
        query.get("cursor")
            ? { data: test.rows(3, 2), total: 5, cursor: null, sources: [] }
            : { data: [null, ...test.rows(0, 3), 7, "x"], total: 5, cursor: "c", partial: true, sources: [] },
    ],
    expiredCursor: (query) =>
        query.get("cursor") ? [400] : [200, { data: test.rows(0, 20), total: 40, cursor: "c", sources: [] }],
    twoRows: () => [200, { data: test.rows(50, 2), total: 2, cursor: null, sources: [] }],
    // Three sources of each module; the filter leaves one.
    sourcesOfModule(query) {
        const chosen = query.get("source");
        const sources = ["a", "b", "c"].map((name) => source("ok", query.get("moduleId") + name));
        const shown = sources.filter(({ id }) => !chosen || id === chosen);
        return [200, { data: test.rows(0, 1), total: 1, cursor: null, sources: shown }];
    },
};
