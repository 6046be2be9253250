// One module's results by the server's cursor.
//
// Scrolling, a button or the notice requests the next page: one at a time, none after the end.

import { call } from "../shared/api.js";
import { element, fill, isolate } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { question } from "./address.js";
import { nameOf } from "./module-name.js";
import { formatCount, noteElement } from "./section.js";
import { gapOf, hasSkipped, notes } from "./source-notes.js";
import { withValidItems, row } from "./row.js";
import { moduleIcon } from "./icons.js";

const LIMIT = 20;

/** Most rows of a page, and of a position in the history, which are loaded at once. */
const MOST_OF_PAGE = 100;
const MOST_AT_ONCE = 1_000;

/** Distance to the end at which the next page loads. */
const NEAR = "1200px 0px";

/** Consecutive empty pages that load without a click. */
const EMPTY_PAGES = 3;

export class ModuleList {
    #request = new AbortController();
    #cursor = null;
    #count = 0;
    #empty = 0;
    #loading = false;
    #isPartial = false;
    /** Whether a source waits for the end of the typing. */
    #hasSkipped = false;
    /** Whether the notice shows a failure of this list. */
    #hasFailed = false;
    #near = new IntersectionObserver((entries) => this.#seen(entries), { rootMargin: NEAR });

    /** @param {{asked: Function, failed: Function, done: Function, answered: Function, emptyResult: Function, sources: Function, decided: Function, counted: Function}} page */
    constructor(page) {
        this.page = page;
        this.place = null;
        this.heading = element("h2", { id: "list-title", tabindex: "-1", "data-begin": true });
        this.count = element("span", { class: "count" });
        this.icon = element("span", { class: "icon-place" });
        this.notes = element("div", { class: "notes" });
        this.rows = element("ul", { class: "rows roomy-rows", "aria-labelledby": "list-title" });
        this.waiting = element("div", { class: "skeleton", "aria-hidden": "true", hidden: true },
            ...[1, 2, 3, 4].map(() => element("div", { class: "bone tall" })));
        this.tail = element("div", { class: "tail" });
        this.end = element("div", { class: "end", "aria-hidden": "true" });
        this.empty = element("div", { class: "empty", hidden: true });
        this.title = element("div", { class: "title" }, this.icon, this.heading, this.count);
        this.element = element("section", { class: "list", "aria-labelledby": "list-title" },
            this.title, this.notes, this.empty, this.rows, this.waiting, this.tail, this.end);
    }

    /** Aborts the search, on the server too. */
    stop() {
        this.#request.abort();
        this.#near.disconnect();
    }

    /**
     * Shows the first page, and further ones while fewer than so many rows are there.
     *
     * @param {import("./address.js").Place} place
     * @param {object} module
     * @param {number} [rows]
     */
    async show(place, module, rows = 0) {
        this.stop();
        if ([this.notes, this.empty, this.tail].some((part) => part.contains(document.activeElement))) {
            // The focused button disappears.
            this.heading.focus({ preventScroll: true });
        }
        const isSame = this.place?.module === place.module;
        this.place = place;
        this.module = module;
        this.#request = new AbortController();
        this.#cursor = null;
        this.#count = 0;
        this.#empty = 0;
        this.#isPartial = false;
        this.#hasSkipped = false;
        this.title.hidden = false;
        fill(this.heading, isolate(nameOf(module)));
        fill(this.icon, moduleIcon(module));
        fill(this.tail);
        this.empty.hidden = true;
        if (isSame) {
            // Old results stay until new ones arrive.
            this.rows.classList.add("old");
        } else {
            fill(this.rows);
            fill(this.count);
            fill(this.notes);
        }
        const { signal } = this.#request;
        const wanted = Math.min(rows, MOST_AT_ONCE);
        let hasMore = await this.#load(true, wanted);
        while (hasMore && !signal.aborted && this.#count < wanted) {
            hasMore = await this.#load(false, wanted - this.#count);
        }
    }

    /** Tells that there is no such module. */
    showUnknown(...ways) {
        this.stop();
        this.place = null;
        for (const part of [this.notes, this.rows, this.tail]) {
            fill(part);
        }
        fill(this.heading, t("trouble.no-module"));
        this.title.hidden = true;
        fill(this.empty, element("h2", {}, t("trouble.no-module")), element("p", { class: "ways" }, ...ways));
        this.empty.hidden = false;
    }

    /** Loads a page; returns whether it had rows. */
    async #load(isFirst, wanted = 0) {
        if (!isFirst && (this.#loading || this.#cursor === null)) {
            return false;
        }
        const limit = Math.min(Math.max(wanted, LIMIT), MOST_OF_PAGE);
        const before = this.#count;
        const arrived = isFirst ? null : this.page.asked();
        const { signal } = this.#request;
        const waits = !isFirst && this.tail.contains(document.activeElement) ? this.#waitAtLast() : null;
        this.#loading = true;
        this.#near.disconnect();
        fill(this.tail);
        this.waiting.hidden = isFirst && this.rows.childElementCount > 0;
        this.rows.setAttribute("aria-busy", "true");
        const query = {
            ...question(this.place), moduleId: this.module.id, source: this.place.source, limit, paging: "cursor", pinned: true,
            cursor: this.#cursor, facets: isFirst ? "author,source" : undefined, typing: this.page.isTyping() || undefined,
        };
        try {
            const answer = await call("POST", "/contents/search", { query, signal });
            if (!signal.aborted) {
                this.#take(withValidItems(answer), isFirst, limit);
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
            arrived?.();
            if (!signal.aborted) {
                this.#loading = false;
                this.waiting.hidden = true;
                this.rows.removeAttribute("aria-busy");
            }
        }
        return !signal.aborted && this.#count > before;
    }

    /** Moves focus from the pressed button to the last row until more rows arrive. */
    #waitAtLast() {
        const place = stopOf(this.rows.lastElementChild) ?? this.heading;
        place.focus({ preventScroll: true });
        return place;
    }

    #take(answer, isFirst, limit) {
        const now = Date.now();
        const rows = answer.data.map((item) => row(item, this.module, { roomy: true, now }));
        const isBegun = this.#count > 0;
        this.#count += rows.length;
        this.#cursor = answer.cursor ?? null;
        this.#empty = rows.length ? 0 : this.#empty + 1;
        const gap = gapOf(answer);
        // Unread items follow, so nothing is left out.
        this.#isPartial ||= gap === "unreached" || (gap !== null && rows.length > 0);
        const sourceNotes = notes(answer, now);
        if (isFirst) {
            this.rows.classList.remove("old");
            fill(this.rows, ...rows);
            fill(this.count);
            fill(this.notes, ...sourceNotes.map((note) => noteElement(note, () => this.show(this.place, this.module))));
            this.page.sources(answer.sources ?? []);
            this.page.decided(answer);
            this.page.counted(answer.facets, answer.sources ?? []);
        } else {
            this.rows.append(...rows);
        }
        // Unknown while the list continues by itself.
        const isEmpty = !this.#count && (this.#cursor === null || gap !== null || this.#empty >= EMPTY_PAGES);
        this.empty.hidden = !isEmpty;
        if (isEmpty) {
            const missing = gap ?? (this.#isPartial ? "unreached" : this.#cursor === null ? null : "unread");
            fill(this.empty, ...this.page.emptyResult(this.place, missing));
            this.page.done({ count: 0, modules: 0, gap: missing });
        } else if (this.#count && !isBegun) {
            fill(this.count, formatCount(answer));
            this.page.done({ count: Math.max(answer.total ?? 0, rows.length), modules: 1, gap });
        } else if (this.#hasFailed) {
            this.page.answered();
        }
        this.#hasFailed = false;
        if (!isEmpty || this.#cursor !== null) {
            this.#showEnd(sourceNotes, gap !== null && rows.length < limit, isFirst);
        }
        this.#hasSkipped ||= hasSkipped(answer);
        this.askSkipped();
    }

    /** Begins again with the sources that were skipped, after the typing. */
    askSkipped() {
        if (this.#hasSkipped && this.place && !this.page.isTyping()) {
            this.show(this.place, this.module);
        }
    }

    /** Fills the end of the list: continue on scroll, a button, or the final note. */
    #showEnd(sourceNotes, isHeldUp, isFirst) {
        const troubles = isFirst ? [] : sourceNotes.filter((note) => note.level === "trouble").map((note) => noteElement({ ...note, again: false }));
        const onward = () => this.#load(false);
        if (this.#cursor === null) {
            fill(this.tail, ...troubles, element("p", { class: "all" }, t(this.#isPartial ? "list.incomplete" : "list.all", { count: this.#count })));
        } else if (isHeldUp || this.#empty >= EMPTY_PAGES) {
            // Failing sources are not asked without end.
            fill(this.tail, ...troubles, element("button", { type: "button", click: onward }, t("list.more")));
        } else {
            fill(this.tail, ...troubles);
            this.#near.observe(this.end);
        }
    }

    #fail(failure, isFirst) {
        // Nothing replaces the old results.
        this.rows.classList.remove("old");
        const again = () => (isFirst ? this.show(this.place, this.module) : this.#load(false));
        const hasSources = failure.status === 502 || failure.status === 504;
        if (!isFirst && failure.status === 400) {
            // Modules or sources changed: the cursor is invalid.
            this.#offer([element("span", {}, t("list.ended"))], () => this.show(this.place, this.module), t("list.begin-again"));
            return;
        }
        if (!hasSources) {
            if (!isFirst) {
                this.#offer([element("span", {}, t("list.broken"))], again);
            }
            this.#hasFailed = true;
            this.page.failed(failure, again);
            return;
        }
        const sourceNotes = notes({ code: failure.status, sources: failure.body?.sources }, Date.now());
        const elements = sourceNotes.map((note) => noteElement({ ...note, again: false }));
        if (isFirst) {
            fill(this.rows);
            fill(this.count);
            fill(this.notes);
            fill(this.empty, element("h3", {}, t("empty.nobody")), ...elements,
                element("button", { type: "button", click: again }, t("common.retry")));
            this.empty.hidden = false;
            this.page.sources(failure.body?.sources ?? []);
            this.page.done({ count: 0, modules: 0, gap: "nobody" });
        } else {
            this.#offer(elements, again);
        }
    }

    /** Offers a retry; the cursor is kept, so nothing is lost. */
    #offer(elements, again, name = t("common.retry")) {
        fill(this.tail, element("div", { class: "broken", role: "status" }, ...elements, " ",
            element("button", { type: "button", click: again }, name)));
    }

    #seen(entries) {
        if (entries.some((entry) => entry.isIntersecting) && !this.#loading && this.element.checkVisibility()) {
            this.#load(false);
        }
    }
}

/** The focusable element of a row. */
function stopOf(row) {
    return row?.querySelector("[data-stop]") ?? null;
}
