test.intercept(async ({ path, send }) => {
    if (path !== "admin/v1/index") {
        return undefined;
    }
    const body = await (await send()).json();
    return test.response(200, { ...body, data: { ...body.data, rebuildFailed: true } });
});
