// What a click on an item does: its `action`, of which a browser opens addresses and nothing else.

/** The kinds of clients whose actions a browser may follow, the nearest first. */
const CLIENTS = ["web", "pc"];

/** Schemes that run something in place of leading somewhere. */
const SCRIPTS = ["javascript:", "data:", "vbscript:", "blob:", "file:", "filesystem:"];

/** What a picture never is: asking for these may sign somebody in or out. */
const SIGNING_IN = /\/(?:session|oauth2)(?:\/|$)/i;

/**
 * Where an action leads; else why it leads nowhere: there is none, it is an app's own, or its address is not to be opened.
 *
 * @param {unknown} action a JSON object in a text, of lines by client kind
 * @param {string} base the page's own address
 * @returns {{href: string} | {why: "none" | "app" | "unsafe"}}
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

/** `[OpenUrl]` with a line `url=…`, or `[OpenApp]` with a line `appUrl=…`. */
function leads(text, base) {
    const [tag, ...lines] = text.split("\n").map((line) => line.trim()).filter(Boolean);
    const name = { "[OpenUrl]": "url", "[OpenApp]": "appUrl" }[tag];
    const line = lines.find((one) => one.split("=", 1)[0].trim() === name);
    return line === undefined ? { why: "app" } : address(line.slice(line.indexOf("=") + 1).trim(), base);
}

/**
 * Only what is http or https, or a path of this server; an app's own form is none.
 *
 * @param {string} text
 * @param {string} base
 */
function address(text, base) {
    const isPath = text.startsWith("/");
    let url;
    try {
        url = isPath ? new URL(text, base) : new URL(text);
    } catch {
        return { why: "app" };
    }
    if (url.protocol === "http:" || url.protocol === "https:") {
        return { href: url.href };
    }
    return { why: SCRIPTS.includes(url.protocol) ? "unsafe" : "app" };
}

/**
 * The address of a picture that may be shown: one of this server, or one that is in the address itself.
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
