// One module's section among all: it keeps its place, and once it has been waited for, its height.

import { element, fill, foreign } from "../shared/dom.js";
import { number, t } from "../shared/language.js";
import { notes, isIncomplete } from "./states.js";
import { row } from "./row.js";
import { sign } from "./signs.js";

/** The name of a module as the page says it: those that every tenant starts with have one in each language. */
export function nameOf(module) {
    return module.name === DEFAULTS[module.type] ? t(`module.${module.type}`) : module.name || module.code;
}

/** Names that modules start with, by type. */
const DEFAULTS = {
    1: "Articles", 2: "News", 3: "To-do", 4: "Done", 5: "Feeds", 6: "People", 7: "Departments", 8: "Groups", 9: "Files",
    10: "Favorites", 11: "Messages",
};

/** A section; `element` is what is shown. */
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
        /** The last answer; null where there is none for what is looked for. */
        this.answer = null;
        this.count = element("span", { class: "count" });
        this.link = element("a", { href: "#", "data-stop": true }, foreign(nameOf(module)));
        this.more = element("a", { href: "#", class: "more", tabindex: "-1", "aria-hidden": "true" });
        for (const link of [this.link, this.more]) {
            link.addEventListener("click", (event) => this.#follow(event));
        }
        this.notes = element("div", { class: "notes" });
        this.rows = element("ul", { class: "rows" });
        this.waiting = element("div", { class: "skeleton", "aria-hidden": "true" },
            ...[1, 2, 3].map(() => element("div", { class: "bone" })));
        this.element = element("section", { class: "section", hidden: true, "data-module": module.code },
            element("div", { class: "title" }, sign(module), element("h2", {}, this.link), this.count, this.more),
            this.notes, this.rows, this.waiting);
        this.waiting.hidden = true;
    }

    get pending() {
        return this.#state === "pending";
    }

    /** Whether it has something to show for what is looked for: items, or why there are none. */
    get matters() {
        return this.answer !== null && (this.answer.data.length > 0 || this.#said.length > 0);
    }

    /** Another search begins: what was found for the one before stays until there is something else. */
    begin(wanted) {
        this.#state = "pending";
        this.wanted = wanted;
        this.element.classList.add("old");
        this.element.setAttribute("aria-busy", "true");
    }

    /** It is late: its place is kept, so that nothing moves when it comes. */
    reserve() {
        this.element.hidden = false;
        this.element.classList.add("reserved");
        if (!this.rows.childElementCount) {
            fill(this.notes);
            this.waiting.hidden = false;
            this.link.href = this.page.address(this.module);
        }
    }

    /** Its answer is there. */
    show(answer, now) {
        const wasReserved = this.element.classList.contains("reserved");
        this.#state = "shown";
        this.answer = answer;
        this.waiting.hidden = true;
        this.element.classList.remove("old");
        this.element.removeAttribute("aria-busy");
        this.#said = notes(answer, this.wanted, now);
        this.link.href = this.more.href = this.page.address(this.module);
        const isMore = answer.data.length > 0 && (answer.cursor !== null || answer.total > answer.data.length);
        fill(this.count, answer.data.length ? counted(answer) : "");
        fill(this.more, t("section.all"));
        this.more.hidden = !isMore;
        fill(this.notes, ...this.#said.map((note) => noteElement(note, () => this.page.again(this))),
            // A place that was kept is not taken away again.
            wasReserved && !answer.data.length && !this.#said.length ? element("p", { class: "note" }, t("section.nothing")) : null);
        fill(this.rows, ...answer.data.map((item) => row(item, this.module, { roomy: false, now })));
        this.element.hidden = !wasReserved && !this.matters;
    }

    /** The search is over, and another one has not begun: what was kept free may go with the next. */
    settle() {
        this.element.classList.remove("reserved");
    }

    /** It was not answered, because the whole search failed. */
    leave() {
        this.#state = "idle";
        this.answer = null;
        this.#said = [];
        this.waiting.hidden = true;
        // They were about what was looked for before.
        fill(this.notes);
        this.element.hidden = !this.rows.childElementCount;
        // What was found before is all there is, and has to be legible.
        this.element.classList.remove("old");
        this.element.removeAttribute("aria-busy");
    }

    #said = [];

    #follow(event) {
        // Another tab is the browser's.
        if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) {
            return;
        }
        event.preventDefault();
        this.page.open(this.module);
    }
}

/** How many there are; not all of them were counted where something is missing. */
export function counted(answer) {
    const total = Math.max(answer.total ?? 0, answer.data.length);
    return isIncomplete(answer) ? t("count.least", { count: total }) : number(total);
}

/** A note as an element, with a way to ask again where that may help. */
export function noteElement(note, again) {
    return element("p", { class: `note ${note.level}` },
        element("span", { dir: "auto" }, note.text), " ",
        note.again ? element("button", { type: "button", class: "link", click: again }, t("common.retry")) : null);
}
