// Holds responses to POST until `test.release()`; `test.isDone` says that one has arrived.
{
    const released = new Promise((resolve) => (test.release = resolve));
    test.intercept(async ({ options, send }) => {
        if (options.method !== "POST") {
            return undefined;
        }
        const answer = await send({ options: { ...options, signal: undefined } });
        test.isDone = true;
        await released;
        options.signal?.throwIfAborted();
        return answer;
    });
}
