// All modules at once, from the event stream: their best results, then a section each, by `orderNo`.
//
// Sections below an unanswered one wait for `GATHER`. Then unanswered ones get a placeholder of five rows and keep it:
// nothing moves under a reader.

import { events, Failure, call } from "../shared/api.js";
import { element, fill, isolate } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { question, writeAddress } from "./address.js";
import { nameOf } from "./module-name.js";
import { Section, formatCount, noteElement } from "./section.js";
import { withValidItems } from "./row.js";
import { icon, WARNING } from "./icons.js";
import { hasSkipped, isIncomplete, gapOf, notes } from "./source-notes.js";
import { TopResults } from "./top-results.js";

const LIMIT = 5;

/** Best results of all modules. */
const TOP = 5;

/** Milliseconds in which most answers arrive. */
const GATHER = 60;

/** Milliseconds before a placeholder shows. */
const QUIET = 200;

/** `missing` is a button above the sections that leads to the first incomplete one. */
export class Overview {
    #sections = new Map();
    #request = new AbortController();
    #arrived = new Map();
    /** Best results that have not been shown. */
    #arrivedTop = null;
    #timer = 0;
    #settled = false;
    #isValid = false;
    #isSearching = false;
    /** How the words were changed, by the answers so far. */
    #decision = null;
    #facets = {};
    /** Sections being retried alone; the search of all modules does not answer for them. */
    #retried = new Set();

    /**
     * @param {{open: Function, address: Function, failed: Function, done: Function, decided: Function, counted: Function, totals: Function, emptyResult: Function, restoreFocus: Function}} page
     */
    constructor(page) {
        this.page = page;
        this.place = null;
        this.missing = element("button", { type: "button", class: "missing", hidden: true, click: () => this.#focusIncomplete() });
        this.top = new TopResults();
        this.list = element("div", { class: "sections" });
        this.waiting = element("div", { class: "skeleton", "aria-hidden": "true", hidden: true },
            ...[1, 2, 3, 4, 5].map(() => element("div", { class: "bone" })));
        this.empty = element("div", { class: "empty", hidden: true });
        this.without = element("p", { class: "without", hidden: true });
        this.element = element("div", { class: "overview" }, this.waiting, this.top.element, this.list, this.empty, this.without);
    }

    /** Adds a section for each module. */
    set modules(modules) {
        for (const module of modules) {
            const isNew = !this.#sections.has(module.id);
            const section = this.#section(module);
            // The search may have begun earlier.
            if (isNew && this.#isSearching) {
                section.begin();
                if (this.#settled) {
                    section.showPlaceholder();
                }
            }
        }
    }

    isShowing(place) {
        return this.#isValid && writeAddress({ ...this.place, module: "", item: "" }) === writeAddress({ ...place, module: "", item: "" });
    }

    /** Tells again what stands above the results, which another view has replaced. */
    resume() {
        this.page.decided(this.#decision ?? {});
        this.page.counted(this.#facets);
    }

    /** The link that opens a module, by code or id. */
    linkTo(name) {
        return this.#ordered().find(({ module, element }) => !element.hidden && [module.code, module.id].includes(name))?.link;
    }

    /** Aborts the search, on the server too. */
    stop() {
        if (this.element.ariaBusy || this.#retried.size) {
            this.#isValid = false;
        }
        this.#isSearching = false;
        this.#retried.clear();
        this.#request.abort();
        // A module can still be retried.
        this.#request = new AbortController();
        clearTimeout(this.#timer);
    }

    async show(place) {
        this.stop();
        const { signal } = this.#request;
        this.#begin(place);
        try {
            let done = null;
            const top = this.top.isPending ? TOP : undefined;
            const query = { ...question(place), limit: LIMIT, facets: "author", top, typing: this.page.isTyping() || undefined };
            for await (const { event, data } of events("POST", "/contents/search/all", { query, signal })) {
                if (signal.aborted) {
                    return;
                }
                if (event === "module") {
                    this.#take(withValidItems(data));
                } else if (event === "top") {
                    this.#takeTop(withValidItems(data));
                } else if (event === "done") {
                    done = data;
                }
            }
            if (!done) {
                throw new Failure(0, "");
            }
            this.#facets = done.facets;
            this.page.counted(this.#facets);
            this.#finish();
        } catch (failure) {
            if (!signal.aborted) {
                this.#fail(failure);
            }
        }
    }

    #begin(place) {
        this.place = place;
        this.#isValid = true;
        this.#isSearching = true;
        this.#decision = null;
        this.#arrived.clear();
        this.#arrivedTop = null;
        this.#settled = false;
        // By time there is no best.
        if (place.sort === "relevance") {
            this.top.begin();
        } else {
            this.top.show([], [], 0);
        }
        this.empty.hidden = true;
        this.without.hidden = true;
        this.element.setAttribute("aria-busy", "true");
        for (const section of this.#sections.values()) {
            section.releasePlaceholder();
            section.begin();
        }
        this.#timer = setTimeout(() => {
            this.waiting.hidden = [...this.#sections.values()].some((section) => !section.element.hidden);
        }, QUIET);
    }

    #take(answer) {
        const section = this.#section(answer.module);
        if (!section.pending) {
            section.begin();
        }
        const isFirst = !this.#arrived.size && !this.#arrivedTop;
        this.#arrived.set(section, answer);
        this.#decide(answer);
        this.#arrive(isFirst);
    }

    #takeTop(answer) {
        const isFirst = !this.#arrived.size;
        // A single source shows the same in its section.
        const found = (answer.sources ?? []).filter(({ total }) => total !== 0);
        this.#arrivedTop = found.length > 1 ? answer.data : [];
        this.#decide(answer);
        this.#arrive(isFirst);
    }

    #arrive(isFirst) {
        this.page.answered();
        if (this.#settled) {
            this.#paint(true);
            return;
        }
        if (isFirst) {
            clearTimeout(this.#timer);
            this.#timer = setTimeout(() => this.#settle(), GATHER);
        }
        this.#paint(false);
    }

    /** A word is left out unless some module has it. */
    #decide({ data, corrected, corrections, relaxed }) {
        const before = this.#decision;
        if (!before || data.length) {
            const leftOut = (relaxed?.leftOut ?? []).filter((word) => !before?.hasMatches || before.relaxed?.leftOut.includes(word));
            this.#decision = {
                hasMatches: data.length > 0,
                corrected: before?.corrected ?? corrected,
                corrections: before?.corrections ?? corrections,
                relaxed: leftOut.length ? { leftOut } : undefined,
            };
            this.page.decided(this.#decision);
        }
    }

    /** Shows arrived answers: all, or those with no pending section above. */
    #paint(all) {
        const now = Date.now();
        if (this.#arrivedTop) {
            this.waiting.hidden = true;
            this.top.show(this.#arrivedTop, this.#ordered().map(({ module }) => module), now);
            this.#arrivedTop = null;
        } else if (this.top.isPending && !all) {
            return;
        }
        for (const section of this.#ordered()) {
            const answer = this.#arrived.get(section);
            if (answer) {
                this.waiting.hidden = true;
                this.#arrived.delete(section);
                section.show(answer, now);
            } else if (this.#isPending(section) && !all) {
                break;
            }
        }
        this.#showIncomplete();
    }

    /** Lists the incomplete sections above all. */
    #showIncomplete() {
        const sections = this.#incomplete();
        this.missing.hidden = !sections.length;
        fill(this.missing, icon(WARNING), element("span", {}, t("overview.missing"), " ", ...names(sections)));
        this.missing.title = this.missing.textContent;
    }

    #focusIncomplete() {
        const [first] = this.#incomplete();
        first.element.scrollIntoView({ block: "center" });
        (first.notes.querySelector("button") ?? first.link).focus({ preventScroll: true });
    }

    /** A previous answer counts until a new one arrives. */
    #incomplete() {
        return this.#ordered().filter((section) => section.answer && isIncomplete(section.answer));
    }

    /** From here on late sections keep a placeholder. */
    #settle() {
        clearTimeout(this.#timer);
        this.#settled = true;
        if (this.top.isPending && !this.#arrivedTop) {
            this.top.showPlaceholder();
        }
        for (const section of this.#ordered()) {
            if (this.#isPending(section) && !this.#arrived.has(section)) {
                section.showPlaceholder();
            }
        }
        this.#paint(true);
    }

    /** Whether the search of all modules will answer for it. */
    #isPending(section) {
        return section.pending && !this.#retried.has(section);
    }

    #finish() {
        this.#isSearching = false;
        clearTimeout(this.#timer);
        this.#settled = true;
        this.#paint(true);
        // It was removed meanwhile.
        for (const section of this.#ordered().filter((one) => this.#isPending(one))) {
            section.element.remove();
            this.#sections.delete(section.module.id);
        }
        this.#conclude();
    }

    /** Lists the modules without results and announces the count. */
    #conclude() {
        this.waiting.hidden = true;
        this.element.removeAttribute("aria-busy");
        const sections = this.#ordered().filter((section) => section.answer);
        const found = sections.filter((section) => section.answer.data.length);
        const nothing = sections.filter((section) => !section.answer.data.length && !isIncomplete(section.answer));
        const gaps = this.#incomplete().map((section) => gapOf(section.answer));
        const gap = gaps.includes("unreached") ? "unreached" : gaps[0] ?? null;
        this.without.hidden = !found.length || !nothing.length;
        fill(this.without, t("overview.nothing-in"), " ", ...names(nothing));
        this.empty.hidden = found.length > 0;
        fill(this.empty, ...this.page.emptyResult(this.place, gap));
        const count = found.reduce((sum, section) => sum + Math.max(section.answer.total, section.answer.data.length), 0);
        this.#showIncomplete();
        this.page.done({ count, modules: found.length, gap });
        this.page.totals(new Map(found.map(({ module, answer }) => [module.id, formatCount(answer)])));
        this.askSkipped();
    }

    #fail(failure) {
        this.#isValid = false;
        this.#isSearching = false;
        clearTimeout(this.#timer);
        this.#arrived.clear();
        this.#arrivedTop = null;
        this.top.end();
        this.waiting.hidden = true;
        this.element.removeAttribute("aria-busy");
        for (const section of this.#sections.values()) {
            if (this.#isPending(section)) {
                section.cancel();
            }
        }
        this.#showIncomplete();
        const again = () => {
            this.show(this.place);
            this.page.restoreFocus();
        };
        if (failure.status === 502 || failure.status === 504) {
            // This is not an empty answer.
            this.top.show([], [], 0);
            for (const section of this.#sections.values()) {
                section.element.hidden = true;
                fill(section.rows);
            }
            const sourceNotes = notes({ code: failure.status, sources: failure.body?.sources }, Date.now());
            fill(this.empty, element("h2", {}, t("empty.nobody")),
                ...sourceNotes.map((note) => noteElement({ ...note, again: false }, again)),
                element("button", { type: "button", click: again }, t("common.retry")));
            this.empty.hidden = false;
            this.page.done({ count: 0, modules: 0, gap: "nobody" });
        } else {
            this.page.failed(failure, again);
        }
    }

    /** Searches once more in modules with skipped sources, after the typing and the whole search. */
    askSkipped() {
        if (!this.#isSearching && !this.page.isTyping()) {
            this.#ordered().filter(({ answer, pending }) => answer && !pending && hasSkipped(answer)).forEach((section) => this.#retry(section));
        }
    }

    async #retry(section) {
        const { signal } = this.#request;
        const place = this.place;
        this.#retried.add(section);
        if (section.notes.contains(document.activeElement)) {
            // The focused button disappears.
            section.link.focus({ preventScroll: true });
        }
        section.showPlaceholder();
        section.begin();
        const query = { ...question(place), limit: LIMIT, moduleId: section.module.id, paging: "cursor", pinned: true };
        let answer;
        try {
            answer = withValidItems(await call("POST", "/contents/search", { query, signal }));
        } catch (failure) {
            if (signal.aborted) {
                return;
            }
            this.#retried.delete(section);
            if (![502, 504, 413].includes(failure.status)) {
                if (section.answer) {
                    section.show(section.answer, Date.now());
                } else {
                    section.cancel();
                }
                this.page.failed(failure, () => this.#retry(section));
                return;
            }
            answer = { code: failure.status, data: [], total: 0, cursor: null, partial: true, sources: failure.body?.sources };
        }
        if (!signal.aborted) {
            this.#retried.delete(section);
            section.show(answer, Date.now());
            // Otherwise the whole search ends it.
            if (!this.#isSearching) {
                this.#conclude();
            }
        }
    }

    #ordered() {
        return [...this.#sections.values()];
    }

    /** The section of a module, created in its place. */
    #section(module) {
        const known = this.#sections.get(module.id);
        if (known) {
            return known;
        }
        const section = new Section(module, {
            open: this.page.open,
            address: (one) => this.page.address(one, this.place),
            again: (one) => this.#retry(one),
        });
        const sections = [...this.#sections.values(), section].sort((left, right) => left.module.orderNo - right.module.orderNo);
        this.#sections = new Map(sections.map((one) => [one.module.id, one]));
        const next = sections[sections.indexOf(section) + 1];
        this.list.insertBefore(section.element, next?.element ?? null);
        return section;
    }
}

function names(sections) {
    return sections.flatMap((section, place) => [place ? t("list.comma") : null, isolate(nameOf(section.module))]);
}
