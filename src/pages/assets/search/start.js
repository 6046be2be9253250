import { element, fill } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { CLOCK, CROSS, icon } from "./icons.js";

/** Dispatches `pick` with a recent search, `left` after one was removed. */
export class Start extends EventTarget {
    /** @param {import("../shared/recent.js").Recent} recent */
    constructor(recent) {
        super();
        this.recent = recent;
        this.list = element("ul", { class: "recent" });
        this.recentPart = element("section", { "aria-labelledby": "recent-title" },
            element("div", { class: "title" }, element("h2", { id: "recent-title" }, t("start.recent")),
                element("button", { type: "button", class: "link", click: () => this.#clear() }, t("start.clear"))),
            this.list);
        this.element = element("div", { class: "start", hidden: true }, this.recentPart,
            element("section", { "aria-labelledby": "hints-title" },
                element("h2", { id: "hints-title" }, t("start.hints")),
                element("dl", { class: "hints" }, ...["words", "phrase", "without", "author"].map((name) =>
                    element("div", {}, element("dt", {}, element("code", {}, t(`hint.${name}.form`))),
                        element("dd", {}, t(`hint.${name}`)))))));
    }

    show() {
        const list = this.recent.list();
        this.recentPart.hidden = !list.length;
        fill(this.list, ...list.map((text) => element("li", {},
            element("button", {
                type: "button", class: "pick", "data-stop": true,
                click: () => this.dispatchEvent(new CustomEvent("pick", { detail: text })),
            }, icon(CLOCK), element("bdi", {}, text)),
            element("button", {
                type: "button", class: "forget", "aria-label": t("start.forget", { text }), title: t("start.forget", { text }),
                click: () => this.#forget(text),
            }, icon(CROSS)))));
        this.element.hidden = false;
    }

    #forget(text) {
        this.recent.remove(text);
        this.show();
        this.dispatchEvent(new Event("left"));
    }

    #clear() {
        this.recent.clear();
        this.show();
        this.dispatchEvent(new Event("left"));
    }
}
