const [method, path, isPage, done] = arguments;
const headers = isPage ? { "x-trawl-session": "1" } : {};
fetch(path, { method, headers })
    .then(async (answer) => done({ status: answer.status, body: await answer.json() }))
    .catch((error) => done({ error: String(error) }));
