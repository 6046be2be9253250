// Two audit pages of all tenants; the list of one tenant waits for `test.failList()`.
test.intercept(({ path, query }) => {
    if (path !== "admin/v1/audit") {
        return undefined;
    }
    if (!query.has("allTenants")) {
        return new Promise((_, reject) => (test.failList = () => reject(new TypeError("gone"))));
    }
    const from = Number(query.get("cursor") ?? 0);
    const entry = (id) => ({ id, at: 1, action: "module.create", objectKind: "module", objectId: `m${id}` });
    return test.response(200, { data: [entry(from), entry(from + 1)], cursor: from ? null : "2" });
});
