// Tables become cards on narrow screens.

import { element } from "../shared/dom.js";
import { t } from "../shared/language.js";

/**
 * @param {object} options
 * @param {string} options.caption for screen readers
 * @param {string[]} options.columns the headings; an empty one is that of actions
 * @param {{key: string, cells: any[], class?: string}[]} options.rows the first cell is the row's heading
 * @param {string} [options.empty] the text where there are no rows
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
