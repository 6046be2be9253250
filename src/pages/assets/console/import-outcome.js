import { element, isolate } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { icon } from "./icons.js";
import { table } from "./table.js";

/**
 * What an import left out or cut, and why it broke off.
 *
 * @param {{truncated: number, undated: number, notes: string[], rejected: number, rejections: object[], error: string | null}} imported
 * as the server tells it
 */
export function outcome({ truncated, undated, notes, rejected, rejections, error }) {
    const caption = t("import.rejected", { count: rejected });
    const rows = rejections.map(({ line, id, reason }, place) => ({ key: `${place}`, cells: [
        line === null ? "–" : `${line}`, id === null ? "–" : element("code", {}, isolate(id)), element("span", { lang: "en" }, isolate(reason)),
    ] }));
    return [
        error && element("div", { class: "notice alarm", role: "alert" }, icon("fail"), element(
            "p", {}, t("import.broke-off"), " ", element("span", { lang: "en" }, isolate(error)),
        )),
        truncated > 0 && element("p", {}, t("import.truncated", { count: truncated })),
        undated > 0 && element("p", {}, t("import.undated", { count: undated })),
        ...notes.map((note) => element("p", { lang: "en", dir: "auto" }, isolate(note))),
        rejected > 0 && element("p", {}, icon("warning"), ` ${caption}`),
        rows.length > 0 && element(
            "div", { class: "scrolling", tabindex: "0", role: "region", "aria-label": caption },
            table({ caption, columns: ["import.line", "contents.id", "import.reason"].map((key) => t(key)), rows }),
        ),
        rows.length > 0 && rejected > rows.length && element("p", { class: "faint" }, t("searches.more", { count: rejected - rows.length })),
    ];
}
