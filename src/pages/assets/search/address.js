// The address is the page's state.

/**
 * @typedef {object} Place
 * @property {string} q the keyword; empty at the start and for everything in a module
 * @property {string} module a module's code or id; empty for all modules
 * @property {"time" | "relevance"} sort
 * @property {string} from the first day, such as "2024-01-31"; empty without one
 * @property {string} to the last day
 * @property {string} author
 * @property {string} source a source's id; only with a module
 * @property {"" | "true"} exact whether the words are searched as typed
 * @property {string} item an item beside the list, as of `itemName`
 */

export const START = Object.freeze({ q: "", module: "", sort: "relevance", from: "", to: "", author: "", source: "", exact: "", item: "" });

/** Longest keyword, in UTF-16 units as an input counts them. */
export const LONGEST = 256;

export const FILTERS = Object.freeze(["from", "to", "author", "source"]);

/** The keyword that finds everything. */
export const EVERYTHING = "*";

/** Days before today on which periods up to now begin. */
export const PERIODS = Object.freeze({ today: 0, week: 7, month: 30, year: 365 });

/** Days outside are mistakes, or still being typed. */
export const FIRST_DAY = "1900-01-01";
export const LAST_DAY = "9999-12-31";

/**
 * Reads a place from an address; invalid parts are dropped.
 *
 * @param {string} query such as `location.search`
 * @returns {Place}
 */
export function readAddress(query) {
    const parameters = new URLSearchParams(query);
    const text = (name) => (parameters.get(name) ?? "").trim();
    const day = (name) => (isDay(text(name)) ? text(name) : "");
    const days = [day("from"), day("to")];
    // A period that ends before it begins was written the wrong way round.
    const [from, to] = days.every(Boolean) ? days.sort() : days;
    return {
        // Never half of a surrogate pair.
        q: text("q").slice(0, LONGEST).replace(/[\ud800-\udbff]$/, "").trim(),
        module: text("module"),
        sort: text("sort") === "time" ? "time" : "relevance",
        from,
        to,
        author: text("author"),
        source: text("module") ? text("source") : "",
        exact: text("exact") === "true" ? "true" : "",
        item: text("item"),
    };
}

/**
 * The address's query of a place; empty at the start.
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
 * The search parameters of a place. Without words, the newest come first.
 *
 * @param {Place} place
 * @returns {Record<string, string | number | boolean | undefined>}
 */
export function question(place) {
    return {
        keyword: place.q || EVERYTHING,
        sort: place.q ? place.sort : "time",
        from: startOf(place.from) ?? undefined,
        // The server's `to` is exclusive.
        to: startOf(place.to, 1) ?? undefined,
        author: place.author,
        exact: place.exact || undefined,
        highlight: true,
    };
}

/** Whether a place shows the start page. */
export function isStart(place) {
    return !place.q && !place.module;
}

export function filtersOf(place) {
    return FILTERS.filter((name) => place[name]).length;
}

/** The local day that many days before today, such as "2024-01-31". */
export function dayBefore(days) {
    const day = new Date();
    day.setDate(day.getDate() - days);
    const twoDigits = (value) => String(value).padStart(2, "0");
    return `${day.getFullYear()}-${twoDigits(day.getMonth() + 1)}-${twoDigits(day.getDate())}`;
}

/** The name of the period up to now that a place is limited to. */
export function periodOf({ from, to }) {
    return to ? undefined : Object.keys(PERIODS).find((name) => from === dayBefore(PERIODS[name]));
}

function isDay(day) {
    return startOf(day) !== null && day >= FIRST_DAY && day <= LAST_DAY;
}

/**
 * The start of a day in the local time zone, epoch milliseconds; null for an invalid date.
 *
 * @param {string} day such as "2024-01-31"
 * @param {number} [later] days to add
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
