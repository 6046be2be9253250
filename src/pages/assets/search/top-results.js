// The best results of all modules, above their sections.

import { element, fill } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { row } from "./row.js";

export class TopResults {
    /** Whether a search has not answered yet. */
    isPending = false;

    constructor() {
        this.rows = element("ul", { class: "rows", "aria-labelledby": "top-title" });
        this.waiting = element("div", { class: "skeleton", "aria-hidden": "true", hidden: true },
            ...[1, 2, 3].map(() => element("div", { class: "bone" })));
        this.element = element("section", { class: "section top", hidden: true, "aria-labelledby": "top-title" },
            element("div", { class: "title" }, element("h2", { id: "top-title" }, t("top.title"))), this.rows, this.waiting);
    }

    /** Earlier results stay until new ones arrive. */
    begin() {
        this.isPending = true;
        this.element.classList.remove("reserved");
        this.element.classList.add("old");
        this.element.setAttribute("aria-busy", "true");
    }

    /** Holds the place of results, so that nothing moves later. */
    showPlaceholder() {
        this.element.hidden = false;
        this.element.classList.add("reserved");
        this.waiting.hidden = this.rows.childElementCount > 0;
    }

    /**
     * @param {object[]} items naming their modules
     * @param {object[]} modules
     * @param {number} now
     */
    show(items, modules, now) {
        this.end();
        const rows = items.map((item) => {
            const module = modules.find(({ code }) => code === item.module);
            return module && row(item, module, { roomy: false, now, isNamed: true });
        });
        fill(this.rows, ...rows);
        this.element.hidden = !this.rows.childElementCount;
    }

    /** Earlier results are as good as none is to come. */
    end() {
        this.isPending = false;
        this.waiting.hidden = true;
        this.element.classList.remove("old");
        this.element.removeAttribute("aria-busy");
    }
}
