// One module's view: a list that goes on as one reads, by the server's cursor, to its end.

import { call } from "../shared/api.js";
import { element, fill, foreign } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { question } from "./address.js";
import { counted, nameOf, noteElement } from "./section.js";
import { isIncomplete, lackOf, notes } from "./states.js";
import { readable, row } from "./row.js";
import { sign } from "./signs.js";

/** Items of a page. */
const LIMIT = 20;

/** How near the end of the list a page is fetched. */
const NEAR = "1200px 0px";

/** So many empty pages in a row are asked for without being told to. */
const EMPTY_PAGES = 3;

/** The list. `element` is what is shown. */
export class ModuleList {
    #asking = new AbortController();
    #cursor = null;
    #count = 0;
    #empty = 0;
    #loading = false;
    #isPartial = false;
    /** The page says of it what is in its way. */
    #isInTrouble = false;
    #near = new IntersectionObserver((entries) => this.#seen(entries), { rootMargin: NEAR });

    /** @param {{trouble: Function, done: Function, went: Function, nothing: Function, sources: Function}} page */
    constructor(page) {
        this.page = page;
        this.place = null;
        this.heading = element("h2", { id: "list-title", tabindex: "-1", "data-begin": true });
        this.count = element("span", { class: "count" });
        this.sign = element("span", { class: "sign-place" });
        this.notes = element("div", { class: "notes" });
        this.rows = element("ul", { class: "rows roomy-rows", "aria-labelledby": "list-title" });
        this.waiting = element("div", { class: "skeleton", "aria-hidden": "true", hidden: true },
            ...[1, 2, 3, 4].map(() => element("div", { class: "bone tall" })));
        this.tail = element("div", { class: "tail" });
        this.end = element("div", { class: "end", "aria-hidden": "true" });
        this.empty = element("div", { class: "empty", hidden: true });
        this.element = element("section", { class: "list", "aria-labelledby": "list-title" },
            element("div", { class: "title" }, this.sign, this.heading, this.count),
            this.notes, this.empty, this.rows, this.waiting, this.tail, this.end);
    }

    /** Ends what is under way, on the server too. */
    stop() {
        this.#asking.abort();
        this.#near.disconnect();
    }

    /** Searches a module at a place, from its beginning. */
    async show(place, module) {
        this.stop();
        if ([this.notes, this.empty, this.tail].some((part) => part.contains(document.activeElement))) {
            // What was pressed goes.
            this.heading.focus({ preventScroll: true });
        }
        const isSame = this.place?.module === place.module;
        this.place = place;
        this.module = module;
        this.#asking = new AbortController();
        this.#cursor = null;
        this.#count = 0;
        this.#empty = 0;
        this.#isPartial = false;
        fill(this.heading, foreign(nameOf(module)));
        fill(this.sign, sign(module));
        fill(this.tail);
        this.empty.hidden = true;
        if (isSame) {
            // What was found before stays until there is something else.
            this.rows.classList.add("old");
        } else {
            fill(this.rows);
            fill(this.count);
            fill(this.notes);
        }
        await this.#page(true);
    }

    async #page(isFirst) {
        if (!isFirst && (this.#loading || this.#cursor === null)) {
            // Whoever asks for what follows: it comes once.
            return;
        }
        const { signal } = this.#asking;
        const waits = !isFirst && this.tail.contains(document.activeElement) ? this.#waitAtLast() : null;
        this.#loading = true;
        this.#near.disconnect();
        fill(this.tail);
        this.waiting.hidden = isFirst && this.rows.childElementCount > 0;
        this.rows.setAttribute("aria-busy", "true");
        const query = {
            ...question(this.place), moduleId: this.module.id, source: this.place.source, limit: LIMIT, paging: "cursor",
            cursor: this.#cursor,
        };
        try {
            const answer = await call("POST", "/contents/search", { query, signal });
            if (!signal.aborted) {
                this.#take(readable(answer), isFirst);
                if (waits && document.activeElement === waits) {
                    const next = waits === this.heading ? this.rows.firstElementChild : waits.closest("li").nextElementSibling;
                    stopOf(next)?.focus({ preventScroll: true });
                }
            }
        } catch (failure) {
            if (!signal.aborted) {
                this.#fail(failure, isFirst);
            }
        } finally {
            if (!signal.aborted) {
                this.#loading = false;
                this.waiting.hidden = true;
                this.rows.removeAttribute("aria-busy");
            }
        }
    }

    /** What was pressed below the rows goes: one is at the last of them until there are more. */
    #waitAtLast() {
        const place = stopOf(this.rows.lastElementChild) ?? this.heading;
        place.focus({ preventScroll: true });
        return place;
    }

    #take(answer, isFirst) {
        const now = Date.now();
        const rows = answer.data.map((item) => row(item, this.module, { roomy: true, now }));
        const isBegun = this.#count > 0;
        this.#count += rows.length;
        this.#cursor = answer.cursor ?? null;
        this.#empty = rows.length ? 0 : this.#empty + 1;
        const lack = lackOf(answer);
        // A page of none leaves nothing out: what was not looked through yet comes behind it.
        this.#isPartial ||= lack === "unreached" || (lack !== null && rows.length > 0);
        const said = notes(answer, this.place.q, now);
        if (isFirst) {
            this.rows.classList.remove("old");
            fill(this.rows, ...rows);
            fill(this.count);
            fill(this.notes, ...said.map((note) => noteElement(note, () => this.show(this.place, this.module))));
            this.page.sources(answer.sources ?? []);
        } else {
            this.rows.append(...rows);
        }
        // Where it goes on by itself, it is not known yet.
        const isEmpty = !this.#count && (this.#cursor === null || lack !== null || this.#empty >= EMPTY_PAGES);
        this.empty.hidden = !isEmpty;
        if (isEmpty) {
            const missing = lack ?? (this.#isPartial ? "unreached" : this.#cursor === null ? null : "unread");
            fill(this.empty, ...this.page.nothing(this.place, missing));
            this.page.done({ count: 0, modules: 0, lack: missing });
        } else if (this.#count && !isBegun) {
            fill(this.count, counted(answer));
            this.page.done({ count: Math.max(answer.total ?? 0, rows.length), modules: 1, lack });
        } else if (this.#isInTrouble) {
            this.page.went();
        }
        this.#isInTrouble = false;
        if (!isEmpty || this.#cursor !== null) {
            this.#goOn(said, lack !== null && rows.length < LIMIT, isFirst);
        }
    }

    /** What stands below the rows: nothing while it goes on by itself, else why it does not, or that this is all. */
    #goOn(said, isHeldUp, isFirst) {
        const troubles = isFirst ? [] : said.filter((note) => note.level === "trouble").map((note) => noteElement({ ...note, again: false }));
        const onward = () => this.#page(false);
        if (this.#cursor === null) {
            fill(this.tail, ...troubles, element("p", { class: "all" }, t(this.#isPartial ? "list.incomplete" : "list.all", { count: this.#count })));
        } else if (isHeldUp || this.#empty >= EMPTY_PAGES) {
            // What is left is with those who did not answer: they are not asked without end.
            fill(this.tail, ...troubles, element("button", { type: "button", click: onward }, t("list.more")));
        } else {
            fill(this.tail, ...troubles);
            this.#near.observe(this.end);
        }
    }

    #fail(failure, isFirst) {
        // What was found before is all there is, and has to be legible.
        this.rows.classList.remove("old");
        const again = () => (isFirst ? this.show(this.place, this.module) : this.#page(false));
        const hasSources = failure.status === 502 || failure.status === 504;
        if (!isFirst && failure.status === 400) {
            // Its modules or sources are other ones now: the place that it had got to is none any more.
            this.#offer([element("span", {}, t("list.ended"))], () => this.show(this.place, this.module), t("list.begin-again"));
            return;
        }
        if (!hasSources) {
            if (!isFirst) {
                this.#offer([element("span", {}, t("list.broken"))], again);
            }
            this.#isInTrouble = true;
            this.page.trouble(failure, again);
            return;
        }
        const said = notes({ code: failure.status, sources: failure.body?.sources }, this.place.q, Date.now());
        const elements = said.map((note) => noteElement({ ...note, again: false }));
        if (isFirst) {
            fill(this.rows);
            fill(this.count);
            fill(this.notes);
            fill(this.empty, element("h3", {}, t("empty.nobody")), ...elements,
                element("button", { type: "button", click: again }, t("common.retry")));
            this.empty.hidden = false;
            this.page.sources(failure.body?.sources ?? []);
            this.page.done({ count: 0, modules: 0, lack: "nobody" });
        } else {
            this.#offer(elements, again);
        }
    }

    /** Nothing is lost where a page failed: it is asked for again from the same place. */
    #offer(elements, again, name = t("common.retry")) {
        fill(this.tail, element("div", { class: "broken", role: "status" }, ...elements, " ",
            element("button", { type: "button", click: again }, name)));
    }

    #seen(entries) {
        if (entries.some((entry) => entry.isIntersecting) && !this.#loading && this.element.checkVisibility()) {
            this.#page(false);
        }
    }
}

/** Where the keyboard stops in a row. */
function stopOf(row) {
    return row?.querySelector("[data-stop]") ?? null;
}
