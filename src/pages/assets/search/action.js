// Decides what may be opened and which pictures are shown: http, https and paths of this server only.

/** Client kinds whose actions a browser may follow, in order of preference. */
const CLIENTS = ["web", "pc"];

/** What a host could be hidden behind. */
const UNCLEAR = /^\/\/|[\\\u0000-\u001f\u007f]/;

/** Schemes that run or read something. */
const SCRIPTS = ["javascript:", "data:", "vbscript:", "blob:", "file:", "filesystem:"];

/** Paths that may sign somebody in or out; never loaded as a picture. */
const SIGNING_IN = /\/(?:session|oauth2)(?:\/|$)/i;

/**
 * The address that an action opens, or why there is none: no action, an app's own, or an unsafe address.
 *
 * @param {unknown} action a JSON object as text: lines by client kind
 * @param {string} base the page's own address
 * @returns {{href: string, host: string} | {why: "none" | "app" | "unsafe"}} `host` is empty for this server
 */
export function target(action, base) {
    const clients = read(action);
    const found = CLIENTS.filter((client) => typeof clients[client] === "string")
        .map((client) => leads(clients[client], base));
    return found.find((one) => one.href) ?? found[0] ?? { why: Object.keys(clients).length ? "app" : "none" };
}

function read(action) {
    try {
        const value = JSON.parse(action);
        return value && typeof value === "object" && !Array.isArray(value) ? value : {};
    } catch {
        return {};
    }
}

/** Reads `[OpenUrl]` with a line `url=…`, or `[OpenApp]` with a line `appUrl=…`. */
function leads(text, base) {
    const [tag, ...lines] = text.split("\n").map((line) => line.trim()).filter(Boolean);
    const name = { "[OpenUrl]": "url", "[OpenApp]": "appUrl" }[tag];
    const line = lines.find((one) => one.split("=", 1)[0].trim() === name);
    return line === undefined ? { why: "app" } : address(line.slice(line.indexOf("=") + 1).trim(), base);
}

/**
 * Accepts http, https and paths of this server; neither `//host` nor credentials.
 *
 * @param {string} text
 * @param {string} base
 */
function address(text, base) {
    if (UNCLEAR.test(text)) {
        return { why: "unsafe" };
    }
    const isPath = text.startsWith("/");
    let url;
    try {
        url = isPath ? new URL(text, base) : new URL(text);
    } catch {
        return { why: "app" };
    }
    if (url.protocol === "http:" || url.protocol === "https:") {
        return url.username || url.password ? { why: "unsafe" } : { href: url.href, host: isPath ? "" : url.host };
    }
    return { why: SCRIPTS.includes(url.protocol) ? "unsafe" : "app" };
}

/**
 * The address of a picture that may be shown: a path of this server or a data address.
 *
 * @param {unknown} image
 * @param {string} base the page's own address
 * @returns {string | null}
 */
export function picture(image, base) {
    if (typeof image !== "string" || !image.trim()) {
        return null;
    }
    if (/^data:image\/(?:png|jpeg|gif|webp|avif);/i.test(image)) {
        return image;
    }
    try {
        const url = new URL(image, base);
        const isAddress = image.startsWith("/") || /^https?:/i.test(image);
        const isOurs = url.origin === new URL(base).origin && !SIGNING_IN.test(decodeURIComponent(url.pathname));
        return isAddress && isOurs ? url.href : null;
    } catch {
        return null;
    }
}
