// What stands around the results: the head with the box, the modules, and what is said aloud.

import { element, fill, foreign } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { nameOf } from "./section.js";

/** How long a count must stand before it is said, milliseconds: not at each key. */
const CALM = 700;

/** The head of the page. */
export function head(box) {
    const who = element("div", { class: "person-place" });
    const node = element("header", {},
        element("a", { class: "brand", href: "./", "aria-label": t("search.home") }, element("span", { class: "brand-sign" }), "trawl"),
        box.form, who);
    return { node, who };
}

/** Links to the modules, and to all of them. `element` is what is shown. */
export class Modules {
    #links = new Map();

    /** @param {(module: object | null) => void} open */
    constructor(open) {
        this.open = open;
        this.list = element("ul", {});
        this.element = element("nav", { class: "modules", "aria-label": t("modules.label") }, this.list);
    }

    /** @param {object[]} modules by their order */
    set modules(modules) {
        this.#links = new Map([null, ...modules].map((module) => [module, this.#link(module)]));
        fill(this.list, ...[...this.#links.values()].map((link) => element("li", {}, link)));
    }

    /**
     * Where one is, and where each link leads.
     *
     * @param {object | undefined} current
     * @param {(module: object | null) => string} address
     */
    mark(current, address) {
        for (const [module, link] of this.#links) {
            link.href = address(module);
            const isCurrent = (module?.id ?? null) === (current?.id ?? null);
            if (!isCurrent) {
                link.removeAttribute("aria-current");
            } else if (!link.ariaCurrent) {
                link.setAttribute("aria-current", "page");
                // On a narrow page the list goes sideways, and down where there are many.
                const { offsetLeft, offsetTop, offsetWidth, offsetHeight } = link;
                this.list.scrollLeft = offsetLeft - (this.list.clientWidth - offsetWidth) / 2;
                this.list.scrollTop = offsetTop - (this.list.clientHeight - offsetHeight) / 2;
            }
        }
    }

    #link(module) {
        const link = element("a", { href: "./" }, module ? foreign(nameOf(module)) : t("modules.all"));
        link.addEventListener("click", (event) => {
            if (!event.button && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey) {
                event.preventDefault();
                this.open(module);
            }
        });
        return link;
    }
}

/** What is said to those who do not see the results change. `element` is what is heard. */
export class Voice {
    #timer = 0;

    constructor() {
        this.element = element("p", { class: "unseen", role: "status" });
    }

    /**
     * Says how many there are, once nothing has changed for a while.
     *
     * @param {{count: number, modules: number, lack: "nobody" | "unreached" | "unread" | null}} found `lack` is what is missing:
     *     nobody answered at all, or as `lackOf` says it
     */
    count({ count, modules, lack }) {
        if (lack === "nobody") {
            this.#later(t("say.nobody"));
            return;
        }
        const none = t(lack ? "say.nothing-yet" : "say.nothing");
        const parts = [count ? t("say.count", { count }) : none, modules > 1 ? t("say.modules", { count: modules }) : null,
            lack && t(`say.${lack}`)];
        this.#later(parts.filter(Boolean).join(" "));
    }

    /** Nothing is to be said. */
    hush() {
        clearTimeout(this.#timer);
        fill(this.element);
    }

    #later(text) {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => fill(this.element, text), CALM);
    }
}
