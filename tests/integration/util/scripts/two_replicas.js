test.intercept(async ({ path, send }) => {
    if (path !== "admin/v1/replicas") {
        return undefined;
    }
    const body = await (await send()).json();
    const [own] = body.data;
    const other = { ...own, id: "<b>r1</b>", version: "9.9.9", seenAt: own.seenAt - 60_000, behind: 1_200, leads: ["maintenance"] };
    return test.response(200, { ...body, data: [own, other] });
});
