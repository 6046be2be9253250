// Where one is on the page, as its address says it: what can be shared, kept and reloaded.

/**
 * @typedef {object} Place
 * @property {string} q what is looked for; empty at the start
 * @property {string} module a module's code or id; empty where all are searched
 * @property {"time" | "relevance"} sort
 * @property {string} from the first day, such as "2024-01-31"; empty where there is none
 * @property {string} to the last day
 * @property {string} author
 * @property {string} source a source's id; of one module only
 */

/** Where nothing is looked for yet. */
export const START = Object.freeze({ q: "", module: "", sort: "time", from: "", to: "", author: "", source: "" });

/** So long may be what is looked for (decisions 6), in UTF-16 units as an input counts them. */
export const LONGEST = 256;

/** What narrows a search down. */
export const FILTERS = Object.freeze(["from", "to", "author", "source"]);

/**
 * The place that an address names. What it cannot mean is left out.
 *
 * @param {string} query such as `location.search`
 * @returns {Place}
 */
export function readAddress(query) {
    const parameters = new URLSearchParams(query);
    const text = (name) => (parameters.get(name) ?? "").trim();
    return {
        // No half of a character at its end.
        q: text("q").slice(0, LONGEST).replace(/[\ud800-\udbff]$/, "").trim(),
        module: text("module"),
        sort: text("sort") === "relevance" ? "relevance" : "time",
        from: startOf(text("from")) === null ? "" : text("from"),
        to: startOf(text("to")) === null ? "" : text("to"),
        author: text("author"),
        source: text("module") ? text("source") : "",
    };
}

/**
 * The query of the address that names a place; empty at the start.
 *
 * @param {Place} place
 */
export function writeAddress(place) {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(place)) {
        if (value && value !== START[name] && !(name === "source" && !place.module)) {
            parameters.set(name, value);
        }
    }
    return parameters.size ? `?${parameters}` : "";
}

/**
 * What the server is asked at a place.
 *
 * @param {Place} place
 * @returns {Record<string, string | number | boolean | undefined>}
 */
export function question(place) {
    return {
        keyword: place.q,
        sort: place.sort,
        from: startOf(place.from) ?? undefined,
        // The last day is meant as a whole, and the server takes the time before which.
        to: startOf(place.to, 1) ?? undefined,
        author: place.author,
        highlight: true,
    };
}

/** How many filters a place has. */
export function filtersOf(place) {
    return FILTERS.filter((name) => place[name]).length;
}

/**
 * When a day begins where the reader is, epoch milliseconds; null where the text is no day.
 *
 * @param {string} day such as "2024-01-31"
 * @param {number} [later] so many days after it
 */
export function startOf(day, later = 0) {
    const parts = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day)?.slice(1).map(Number);
    if (!parts) {
        return null;
    }
    const [year, month, date] = parts;
    const begin = new Date(2000, 0, 1);
    begin.setFullYear(year, month - 1, date);
    if (begin.getMonth() !== month - 1 || begin.getDate() !== date) {
        return null;
    }
    begin.setDate(date + later);
    return begin.getTime();
}
