// Around the results: head, module links, announcements.

import { element, fill, isolate } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { nameOf } from "./module-name.js";

/** Milliseconds without change before an announcement. */
const CALM = 700;

export function head(box, suggestions) {
    const who = element("div", { class: "person-place" });
    const node = element("header", {},
        element("a", { class: "brand", href: "./", "aria-label": t("search.home") }, element("span", { class: "brand-icon" }), "trawl"),
        box.form, suggestions.element, who);
    return { node, who };
}

export class Modules {
    #links = new Map();
    #totals = new Map();

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
        // They may have come first.
        this.totals = this.#totals;
    }

    /**
     * Shows the totals of a search beside the names; modules without matches are faint.
     *
     * @param {Map<string, string>} totals by module id, of those with matches
     */
    set totals(totals) {
        this.#totals = totals;
        for (const [module, link] of this.#links) {
            const total = totals.get(module?.id);
            if (total) {
                link.dataset.total = total;
            } else {
                delete link.dataset.total;
            }
        }
    }

    /**
     * Marks the current module and updates the links.
     *
     * @param {object | null | undefined} current null for all modules, undefined for an unknown one
     * @param {(module: object | null) => string} address
     */
    mark(current, address) {
        for (const [module, link] of this.#links) {
            link.href = address(module);
            const isCurrent = module === null ? current === null : module.id === current?.id;
            if (!isCurrent) {
                link.removeAttribute("aria-current");
            } else if (!link.ariaCurrent) {
                link.setAttribute("aria-current", "page");
                // Sideways on narrow screens, else vertically.
                const { offsetLeft, offsetTop, offsetWidth, offsetHeight } = link;
                this.list.scrollLeft = offsetLeft - (this.list.clientWidth - offsetWidth) / 2;
                this.list.scrollTop = offsetTop - (this.list.clientHeight - offsetHeight) / 2;
            }
        }
    }

    #link(module) {
        const link = element("a", { href: "./" }, module ? isolate(nameOf(module)) : t("modules.all"));
        link.addEventListener("click", (event) => {
            if (!event.button && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey) {
                event.preventDefault();
                this.open(module);
            }
        });
        return link;
    }
}

/** Announcements for screen readers. */
export class Announcer {
    #timer = 0;

    constructor() {
        this.element = element("p", { class: "unseen", role: "status" });
    }

    /**
     * Announces the result count after a calm moment.
     *
     * @param {{count: number, modules: number, gap: "nobody" | "unreached" | "unread" | null}} found `gap` as of `gapOf`, or
     *     "nobody" where no source answered
     */
    count({ count, modules, gap }) {
        if (gap === "nobody") {
            this.#later(t("say.nobody"));
            return;
        }
        const none = t(gap ? "say.nothing-yet" : "say.nothing");
        const parts = [count ? t("say.count", { count }) : none, modules > 1 ? t("say.modules", { count: modules }) : null,
            gap && t(`say.${gap}`)];
        this.#later(parts.filter(Boolean).join(" "));
    }

    clear() {
        clearTimeout(this.#timer);
        fill(this.element);
    }

    #later(text) {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => fill(this.element, text), CALM);
    }
}
