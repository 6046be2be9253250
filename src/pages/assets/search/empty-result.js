import { element } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { filtersOf } from "./address.js";

/** What the server searches by: without any, nothing can be found. */
const PART_OF_A_WORD = /[\p{L}\p{N}\p{Extended_Pictographic}]/u;

/**
 * The text for an empty result: nothing found, or sources missing.
 *
 * @param {import("./address.js").Place} place
 * @param {"unreached" | "unread" | null} gap as of `gapOf`
 * @param {{withoutFilters: () => void, everywhere: () => void}} ways
 * @returns {HTMLElement[]}
 */
export function emptyResult(place, gap, { withoutFilters, everywhere }) {
    const heading = place.module ? "h3" : "h2";
    if (gap) {
        return [element(heading, {}, t("empty.incomplete")), element("p", {}, t(`empty.${gap}`))];
    }
    return [
        ...place.q
            ? [
                element(heading, {}, t("empty.title"), " ", element("bdi", {}, place.q)),
                element("p", {}, t(PART_OF_A_WORD.test(place.q) ? "empty.why" : "empty.no-word")),
            ]
            : [element(heading, {}, t("empty.all"))],
        element("p", { class: "ways" },
            filtersOf(place) ? element("button", { type: "button", click: withoutFilters }, t("empty.without-filters")) : null,
            place.module && place.q ? element("button", { type: "button", click: everywhere }, t("empty.everywhere")) : null),
    ];
}
