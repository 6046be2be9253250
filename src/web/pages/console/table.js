// Tables that become cards where there is no room for columns.

import { element } from "../shared/dom.js";
import { t } from "../shared/language.js";

/**
 * @param {object} options
 * @param {string} options.caption what the table holds, for who does not see the heading
 * @param {string[]} options.columns their heads; an empty one is of what can be done
 * @param {{key: string, cells: any[], class?: string}[]} options.rows the first cell of each names it
 * @param {string} [options.empty] what is said where there are none
 */
export function table({ caption, columns, rows, empty }) {
    if (rows.length === 0) {
        return element("p", { class: "empty" }, empty ?? t("console.none"));
    }
    return element(
        "table", { class: "cards" },
        element("caption", { class: "unseen" }, caption),
        element("thead", {}, element("tr", {}, ...columns.map((column) => element(
            "th", { scope: "col" }, column || element("span", { class: "unseen" }, t("console.deeds")),
        )))),
        element("tbody", {}, ...rows.map((row) => element(
            "tr", { "data-key": row.key, class: row.class },
            ...row.cells.map((cell, place) => element(
                place === 0 ? "th" : "td",
                { scope: place === 0 ? "row" : null, "data-head": place > 0 && columns[place] ? columns[place] : null },
                element("div", {}, ...[cell].flat()),
            )),
        ))),
    );
}
