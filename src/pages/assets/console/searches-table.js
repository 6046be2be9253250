// The table of slow searches, without keywords.

import { element, isolate } from "../shared/dom.js";
import { number, t } from "../shared/language.js";
import { duration, timeElement } from "./format.js";
import { badge } from "./source-state.js";
import { table } from "./table.js";

/** Sources named in the short form. */
const FEW = 3;

/**
 * @param {object[]} searches as `GET /admin/v1/searches/slow` lists them
 * @param {{isShort?: boolean}} [options]
 */
export function searchesTable(searches, { isShort = false } = {}) {
    const seen = new Map();
    const rows = searches.map((search) => {
        // Two may end in one millisecond.
        const nth = (seen.get(search.time) ?? 0) + 1;
        seen.set(search.time, nth);
        return { key: `${search.time}-${nth}`, cells: isShort ? short(search) : long(search) };
    });
    const columns = isShort
        ? ["searches.time", "searches.took", "searches.module", "searches.sources"]
        : ["searches.time", "searches.took", "searches.module", "searches.order", "searches.words", "searches.filters", "searches.result", "searches.sources"];
    return table({ caption: t("overview.slow-searches"), columns: columns.map((key) => t(key)), rows, empty: t("searches.none") });
}

function short(search) {
    return [timeElement(search.time), duration(search.tookMs), moduleOf(search), sourcesOf(search, FEW)];
}

function long(search) {
    const filters = search.filters.map((filter) => t(`searches.by-${filter}`)).join(", ");
    return [
        timeElement(search.time), duration(search.tookMs), moduleOf(search), t(`order.${search.order}`), number(search.words),
        [filters || "–", search.later && element("div", { class: "faint" }, t("searches.later"))],
        search.status === "failed" ? badge("alarm", "fail", t("searches.failed"))
            : search.partial ? badge("warning", "warning", t("searches.partial")) : badge("good", "ok", t("searches.whole")),
        sourcesOf(search, search.sources.length),
    ];
}

function moduleOf({ module }) {
    return module === null ? element("em", {}, t("searches.every-module")) : element("code", {}, isolate(module));
}

function sourcesOf({ sources }, most) {
    if (sources.length === 0) {
        return "–";
    }
    return element("ul", { class: "asked" }, ...sources.slice(0, most).map(({ id, name, status, tookMs }) => element(
        "li", { "data-key": id }, isolate(name), " ",
        element("span", { class: status === "ok" ? "faint" : "alarm-text" }, status === "ok" ? duration(tookMs) : `${t(`status.${status}`)}, ${duration(tookMs)}`),
    )), sources.length > most && element("li", { class: "faint" }, t("searches.more", { count: sources.length - most })));
}
