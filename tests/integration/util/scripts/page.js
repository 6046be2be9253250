// Installed before the scripts of every page.
window.test = {
    // Wraps fetch; if `respond` returns undefined, the request is sent.
    intercept(respond) {
        const next = window.fetch;
        window.fetch = async (address, options) => {
            const [path, query] = String(address).split("?");
            const send = (changed = {}) => next(changed.address ?? address, changed.options ?? options);
            const request = { address: String(address), path, query: new URLSearchParams(query), options, send };
            return (await respond(request)) ?? send();
        };
    },

    response: (status, body = {}, headers = {}) =>
        new Response(JSON.stringify({ code: status, message: "no", ...body }), { status, headers }),

    // Fails requests while `failures` is above 0; `requests` counts them.
    failures: 0,
    requests: 0,
    fail(beginning, status, { times = Infinity, body, headers } = {}) {
        test.failures = times;
        test.intercept(({ path }) => {
            if (!test.failures || !path.startsWith(beginning)) {
                return undefined;
            }
            test.failures -= 1;
            test.requests += 1;
            return test.response(status, body, headers);
        });
    },

    // Holds requests to a path until `release()`.
    hold(held) {
        const released = new Promise((resolve) => (test.release = resolve));
        test.intercept(async ({ path }) => {
            if (path === held) {
                await released;
            }
        });
    },

    // Records URL and tenant header of each request in `requested`.
    record() {
        test.requested = [];
        test.intercept(({ address, options }) => {
            test.requested.push([address, options?.headers?.["indicated-e-code"]]);
        });
    },

    // Every request times out at once; `limits` holds the timeouts that were set.
    hang() {
        test.limits = [];
        const timeout = AbortSignal.timeout.bind(AbortSignal);
        AbortSignal.timeout = (limit) => {
            test.limits.push(limit);
            return timeout(1);
        };
        window.fetch = (_, { signal }) =>
            new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },

    // Keeps pending timers of `wait` milliseconds in `timers`.
    track(wait) {
        test.timers = new Set();
        const { setTimeout, clearTimeout } = window;
        window.setTimeout = (act, given, ...more) => {
            const timer = setTimeout(act, given, ...more);
            if (given === wait) {
                test.timers.add(timer);
            }
            return timer;
        };
        window.clearTimeout = (timer) => {
            test.timers.delete(timer);
            clearTimeout(timer);
        };
    },

    change(selector, value) {
        const field = document.querySelector(selector);
        field.value = value;
        field.dispatchEvent(new Event("change", { bubbles: true }));
    },

    enter(selector, text) {
        const field = document.querySelector(selector);
        field.focus();
        field.value = text;
        field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    },

    follow(address) {
        const link = document.createElement("a");
        link.href = address;
        document.body.append(link);
        link.click();
    },

    // Only visible elements.
    places: (selector) =>
        [...document.querySelectorAll(selector)]
            .filter((element) => element.checkVisibility())
            .map((element) => element.getBoundingClientRect())
            .map(({ x, y }) => [x, y]),
};
