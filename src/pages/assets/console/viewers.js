import { element, isolate } from "../shared/dom.js";
import { t } from "../shared/language.js";

/** The lists of a visibility. */
export const VIEWER_KINDS = ["users", "departments", "groups"];

/** Of each kind, the ids that are shown. */
const MOST_IDS = 100;

/** The viewers that a visibility names. */
export function viewers(visibility) {
    if (!visibility) {
        return t("content.everyone");
    }
    const named = VIEWER_KINDS.filter((kind) => visibility[kind]?.length > 0);
    if (named.length === 0) {
        return t("content.nobody");
    }
    return element("ul", { class: "names" }, ...named.map((kind) => {
        const ids = visibility[kind];
        return element(
            "li", {}, element("span", { class: "faint" }, t(`content.${kind}`)), " ",
            ...ids.slice(0, MOST_IDS).flatMap((id, place) => [place > 0 && ", ", isolate(id)]),
            ids.length > MOST_IDS && element("span", { class: "faint" }, ` ${t("searches.more", { count: ids.length - MOST_IDS })}`),
        );
    }));
}
