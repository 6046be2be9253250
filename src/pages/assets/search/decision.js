// How the server changed the words of a search, said once above all results.

import { element, fill } from "../shared/dom.js";
import { t } from "../shared/language.js";

export class Decision {
    /** @param {(exact: boolean) => void} search searches again, as typed or not */
    constructor(search) {
        this.search = search;
        this.element = element("p", { class: "note hint decision", hidden: true });
    }

    /**
     * @param {{q: string, exact: string}} place
     * @param {{corrected?: string, corrections?: {from: string}[], relaxed?: {leftOut: string[]}}} answer
     */
    show(place, answer) {
        const texts = changes(answer);
        const isExact = Boolean(place.exact);
        const hadFocus = this.element.contains(document.activeElement);
        this.element.hidden = !texts.length && !isExact;
        fill(this.element, element("span", { dir: "auto" }, isExact ? t("state.exact") : texts.join(" ")), " ",
            element("button", { type: "button", class: "link", click: () => this.search(!isExact) },
                isExact ? t("state.not-exactly") : t("state.exactly", { q: place.q })));
        if (hadFocus && !this.element.hidden) {
            this.element.querySelector("button").focus({ preventScroll: true });
        }
    }
}

/** What an answer says of the words that were searched. */
export function changes({ corrected, corrections = [], relaxed }) {
    return [
        corrected && t("state.corrected", { unknown: corrections.map(({ from }) => from).join(", "), shown: corrected }),
        relaxed && t("state.relaxed", { words: relaxed.leftOut.join(", ") }),
    ].filter(Boolean);
}
