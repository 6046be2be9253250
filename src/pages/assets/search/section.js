// One module of the overview.

import { element, fill, isolate } from "../shared/dom.js";
import { number, t } from "../shared/language.js";
import { nameOf } from "./module-name.js";
import { notes, isIncomplete } from "./source-notes.js";
import { row } from "./row.js";
import { moduleIcon } from "./icons.js";

export class Section {
    /** @type {"idle" | "pending" | "shown"} */
    #state = "idle";

    /**
     * @param {object} module
     * @param {{open: (module: object) => void, address: (module: object) => string, again: (section: Section) => void}} page
     */
    constructor(module, page) {
        this.module = module;
        this.page = page;
        /** The last answer; null without one for the current search. */
        this.answer = null;
        this.count = element("span", { class: "count" });
        this.link = element("a", { href: "#" }, isolate(nameOf(module)));
        this.more = element("a", { href: "#", class: "more", tabindex: "-1", "aria-hidden": "true" });
        for (const link of [this.link, this.more]) {
            link.addEventListener("click", (event) => this.#onClick(event));
        }
        this.notes = element("div", { class: "notes" });
        this.rows = element("ul", { class: "rows" });
        this.waiting = element("div", { class: "skeleton", "aria-hidden": "true" },
            ...[1, 2, 3].map(() => element("div", { class: "bone" })));
        this.element = element("section", { class: "section", hidden: true, "data-module": module.code },
            element("div", { class: "title" }, moduleIcon(module), element("h2", {}, this.link), this.count, this.more),
            this.notes, this.rows, this.waiting);
        this.waiting.hidden = true;
    }

    get pending() {
        return this.#state === "pending";
    }

    get hasContent() {
        return this.answer !== null && (this.answer.data.length > 0 || this.#currentNotes.length > 0);
    }

    /** Starts a search; old results stay until new ones arrive. */
    begin() {
        this.#state = "pending";
        this.element.classList.add("old");
        this.element.setAttribute("aria-busy", "true");
    }

    /** Shows a placeholder of fixed height, so that nothing moves later. */
    showPlaceholder() {
        this.element.hidden = false;
        this.element.classList.add("reserved");
        if (!this.rows.childElementCount) {
            fill(this.notes);
            this.waiting.hidden = false;
            this.link.href = this.page.address(this.module);
        }
    }

    show(answer, now) {
        const wasReserved = this.element.classList.contains("reserved");
        this.#state = "shown";
        this.answer = answer;
        this.waiting.hidden = true;
        this.element.classList.remove("old");
        this.element.removeAttribute("aria-busy");
        this.#currentNotes = notes(answer, now);
        this.link.href = this.more.href = this.page.address(this.module);
        const isMore = answer.data.length > 0 && (answer.cursor !== null || answer.total > answer.data.length);
        fill(this.count, answer.data.length ? formatCount(answer) : "");
        fill(this.more, t("section.all"));
        this.more.hidden = !isMore;
        fill(this.notes, ...this.#currentNotes.map((note) => noteElement(note, () => this.page.again(this))),
            // A placeholder is not removed.
            wasReserved && !answer.data.length && !this.#currentNotes.length ? element("p", { class: "note" }, t("section.nothing")) : null);
        fill(this.rows, ...answer.data.map((item) => row(item, this.module, { roomy: false, now })));
        this.element.hidden = !wasReserved && !this.hasContent;
    }

    /** Releases the placeholder before the next search. */
    releasePlaceholder() {
        this.element.classList.remove("reserved");
    }

    cancel() {
        this.#state = "idle";
        this.answer = null;
        this.#currentNotes = [];
        this.waiting.hidden = true;
        // Of the previous search.
        fill(this.notes);
        this.element.hidden = !this.rows.childElementCount;
        // Nothing replaces the old results.
        this.element.classList.remove("old");
        this.element.removeAttribute("aria-busy");
    }

    #currentNotes = [];

    #onClick(event) {
        // The browser opens another tab.
        if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) {
            return;
        }
        event.preventDefault();
        this.page.open(this.module);
    }
}

/** The total; a lower bound for incomplete answers. */
export function formatCount(answer) {
    const total = Math.max(answer.total ?? 0, answer.data.length);
    return isIncomplete(answer) ? t("count.least", { count: total }) : number(total);
}

export function noteElement(note, again) {
    return element("p", { class: `note ${note.level}` },
        element("span", { dir: "auto" }, note.text), " ",
        note.again ? element("button", { type: "button", class: "link", click: again }, t("common.retry")) : null);
}
