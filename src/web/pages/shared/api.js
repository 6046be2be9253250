// The server's interface, called with the session of this browser.

/** An answer that is no success. */
export class Failure extends Error {
    /**
     * @param {number} status the HTTP status; 0 where the server was not reached
     * @param {string} message what the server says of it
     * @param {object | null} body the whole answer
     * @param {number | null} retryAfter seconds after which asking again makes sense, where the server says so
     */
    constructor(status, message, body = null, retryAfter = null) {
        super(message);
        this.status = status;
        this.body = body;
        this.retryAfter = retryAfter;
    }
}

/** What says that a request is this page's own, which no page of another origin can. */
const OWN = { "x-trawl-session": "1" };

/**
 * Calls an operation; answers the envelope of its success.
 *
 * @param {string} method
 * @param {string} path
 * @param {{query?: Record<string, unknown>, body?: unknown, tenant?: string, signal?: AbortSignal, limit?: number}} [options]
 *     `limit` is after how many milliseconds the server counts as not reached
 * @returns {Promise<any>}
 */
export async function call(method, path, options = {}) {
    const response = await send(method, path, "application/json", options);
    return read(response);
}

/**
 * Calls an operation that answers by events; gives each as `{event, data}` as it comes.
 *
 * @param {string} method
 * @param {string} path
 * @param {{query?: Record<string, unknown>, body?: unknown, tenant?: string, signal?: AbortSignal}} [options]
 */
export async function* events(method, path, options = {}) {
    const response = await send(method, path, "text/event-stream", options);
    if (!response.ok || !response.headers.get("content-type")?.startsWith("text/event-stream")) {
        // A refusal is no stream.
        throw await read(response).then((body) => new Failure(response.status, "", body), (failure) => failure);
    }
    let rest = "";
    try {
        for await (const piece of texts(response.body)) {
            const blocks = (rest + piece).split("\n\n");
            rest = blocks.pop();
            yield* blocks.map(event).filter(Boolean);
        }
    } catch (error) {
        throw failed(error);
    }
}

/** One block of a stream of events (WHATWG HTML §9.2); nothing of a comment. */
export function event(block) {
    let name = "message";
    const data = [];
    for (const line of block.split("\n")) {
        const [field, value] = [line.split(":", 1)[0], line.slice(line.indexOf(":") + 1).replace(/^ /, "")];
        if (field === "event") {
            name = value;
        } else if (field === "data") {
            data.push(value);
        }
    }
    return data.length ? { event: name, data: JSON.parse(data.join("\n")) } : null;
}

async function* texts(body) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    try {
        for (;;) {
            const { done, value } = await reader.read();
            if (done) {
                return;
            }
            yield value;
        }
    } finally {
        // Who stops reading ends the server's work.
        reader.cancel().catch(() => {});
    }
}

/** The server's clock less this one's, in milliseconds; none as long as the two may agree. */
let ahead = 0;

/** Now by the server's clock, as far as its answers have told: epoch milliseconds. */
export function serverNow() {
    return Date.now() + ahead;
}

/** Learns the server's clock from an answer, whose date is in whole seconds and of some time since it was asked for. */
function learnClock(response, asked) {
    const date = Date.parse(response.headers.get("date"));
    if (Number.isNaN(date)) {
        return;
    }
    const [least, most] = [date - Date.now(), date + 1_000 - asked];
    if (ahead < least || ahead > most) {
        ahead = (least + most) / 2;
    }
}

async function send(method, path, accept, { query = {}, body, tenant, signal, limit }) {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
        if (value !== undefined && value !== null && value !== "") {
            parameters.set(name, String(value));
        }
    }
    // Relative to the page: a proxy may serve all of this below a path of its own.
    const address = path.replace(/^\//, "") + (parameters.size ? `?${parameters}` : "");
    const headers = { ...OWN, accept };
    if (body !== undefined) {
        headers["content-type"] = "application/json";
    }
    if (tenant) {
        headers["indicated-e-code"] = tenant;
    }
    const ends = [signal, limit && AbortSignal.timeout(limit)].filter(Boolean);
    const asked = Date.now();
    try {
        const response = await fetch(address, {
            method, headers, signal: ends.length > 1 ? AbortSignal.any(ends) : ends[0], cache: "no-store", credentials: "same-origin",
            body: body === undefined ? undefined : JSON.stringify(body),
        });
        learnClock(response, asked);
        return response;
    } catch (error) {
        throw failed(error);
    }
}

async function read(response) {
    let body = null;
    try {
        body = await response.json();
    } catch (error) {
        if (error.name === "AbortError") {
            throw error;
        }
    }
    // Operations on files fail with a code of their own in an answer that has status 200.
    if (!response.ok || body === null || body.code !== 200) {
        const status = response.ok ? body?.code ?? 0 : response.status;
        const seconds = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
        throw new Failure(status, body?.message ?? "", body, Number.isNaN(seconds) ? null : seconds);
    }
    return body;
}

/** What went wrong before an answer was there; that a request is not wanted any more is no failure. */
function failed(error) {
    return error.name === "AbortError" || error instanceof Failure ? error : new Failure(0, "");
}
