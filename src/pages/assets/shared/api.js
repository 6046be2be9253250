// Calls the public HTTP interface by the browser's session.

export class Failure extends Error {
    /**
     * @param {number} status the HTTP status; 0 if the server was not reached
     * @param {string} message the server's
     * @param {object | null} body the whole answer
     * @param {number | null} retryAfter seconds, where the server says so
     */
    constructor(status, message, body = null, retryAfter = null) {
        super(message);
        this.status = status;
        this.body = body;
        this.retryAfter = retryAfter;
    }
}

/** Proves that the request comes from this origin: no other page can set it. */
const SESSION_HEADER = { "x-trawl-session": "1" };

/**
 * Calls an operation; returns the envelope of a success, and beside it the `etag` of an answer that has one.
 *
 * @param {string} method
 * @param {string} path
 * @param {{query?: Record<string, unknown>, body?: unknown, match?: string, tenant?: string, signal?: AbortSignal,
 *     limit?: number, keepalive?: boolean}}
 *     [options]
 *     `body` is sent as JSON, a `Blob` as it is; `match` is the `etag` that the object must still have, `limit` a timeout
 *     in milliseconds; with `keepalive` the call outlives the page
 * @returns {Promise<any>}
 */
export async function call(method, path, options = {}) {
    const response = await send(method, path, "application/json", options);
    return { ...await read(response), etag: response.headers.get("etag") };
}

/**
 * Calls an operation that answers with a file.
 *
 * @param {string} path
 * @param {{query?: Record<string, unknown>, tenant?: string, signal?: AbortSignal}} [options]
 * @returns {Promise<Blob>}
 */
export async function file(path, options = {}) {
    const response = await send("GET", path, "*/*", options);
    if (!response.ok) {
        await read(response);
    }
    try {
        return await response.blob();
    } catch (error) {
        // A file that breaks off is none.
        throw toFailure(error);
    }
}

/**
 * Calls an operation that answers with server-sent events; yields each as `{event, data}`.
 *
 * @param {string} method
 * @param {string} path
 * @param {{query?: Record<string, unknown>, body?: unknown, tenant?: string, signal?: AbortSignal}} [options]
 */
export async function* events(method, path, options = {}) {
    const response = await send(method, path, "text/event-stream", options);
    if (!response.ok || !response.headers.get("content-type")?.startsWith("text/event-stream")) {
        // An error is not a stream.
        throw await read(response).then((body) => new Failure(response.status, "", body), (failure) => failure);
    }
    let rest = "";
    try {
        for await (const piece of decoded(response.body)) {
            const blocks = (rest + piece).split("\n\n");
            rest = blocks.pop();
            yield* blocks.map(event).filter(Boolean);
        }
    } catch (error) {
        throw toFailure(error);
    }
}

/** Parses one block of server-sent events (WHATWG HTML §9.2); null for a comment. */
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

async function* decoded(body) {
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
        // Aborts the server's work.
        reader.cancel().catch(() => {});
    }
}

/** The server's clock minus this one, in milliseconds; 0 while both may agree. */
let clockOffset = 0;

/** The server's current time, epoch milliseconds. */
export function serverNow() {
    return Date.now() + clockOffset;
}

/** Bounds the clock difference by an answer's `Date`, which is in whole seconds. */
function learnClock(response, asked) {
    const date = Date.parse(response.headers.get("date"));
    if (Number.isNaN(date)) {
        return;
    }
    const [least, most] = [date - Date.now(), date + 1_000 - asked];
    if (clockOffset < least || clockOffset > most) {
        clockOffset = (least + most) / 2;
    }
}

async function send(method, path, accept, { query = {}, body, match, tenant, signal, limit, keepalive }) {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
        if (value !== undefined && value !== null && value !== "") {
            parameters.set(name, String(value));
        }
    }
    // Relative: a proxy may add a path.
    const address = path.replace(/^\//, "") + (parameters.size ? `?${parameters}` : "");
    const headers = { ...SESSION_HEADER, accept };
    const isRaw = body instanceof Blob;
    if (body !== undefined) {
        headers["content-type"] = isRaw ? "application/octet-stream" : "application/json";
    }
    if (tenant) {
        headers["indicated-e-code"] = tenant;
    }
    if (match) {
        headers["if-match"] = match;
    }
    const ends = [signal, limit && AbortSignal.timeout(limit)].filter(Boolean);
    const asked = Date.now();
    try {
        const response = await fetch(address, {
            method, headers, signal: ends.length > 1 ? AbortSignal.any(ends) : ends[0], cache: "no-store", credentials: "same-origin", keepalive,
            body: body === undefined || isRaw ? body : JSON.stringify(body),
        });
        learnClock(response, asked);
        return response;
    } catch (error) {
        throw toFailure(error);
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
    // File operations report errors in a 200 answer.
    if (!response.ok || body === null || body.code !== 200) {
        const status = response.ok ? body?.code ?? 0 : response.status;
        const seconds = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
        throw new Failure(status, body?.message ?? "", body, Number.isNaN(seconds) ? null : seconds);
    }
    return body;
}

/** Turns an error before an answer into a `Failure`; an abort stays one. */
function toFailure(error) {
    return error.name === "AbortError" || error instanceof Failure ? error : new Failure(0, "");
}
