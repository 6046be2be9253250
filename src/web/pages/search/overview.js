// All modules at once: a section for each, by their order, which fill as their answers come.

import { events, Failure, call } from "../shared/api.js";
import { element, fill, foreign } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { question, writeAddress } from "./address.js";
import { Section, nameOf, noteElement } from "./section.js";
import { readable } from "./row.js";
import { cut, WARNING } from "./signs.js";
import { isIncomplete, lackOf, notes } from "./states.js";

/** Items of each module. */
const LIMIT = 5;

/** How long answers that come early wait for those above them, milliseconds: most come together. */
const GATHER = 60;

/** How long nothing is said of a search that nobody has answered yet, milliseconds. */
const QUIET = 200;

/** The sections. `element` is what is shown; `missing` leads from above them to the first that is not complete. */
export class Overview {
    #sections = new Map();
    #asking = new AbortController();
    #arrived = new Map();
    #timer = 0;
    #settled = false;
    #isGood = false;
    #isUnderWay = false;
    /** Sections that are asked for alone again: what becomes of the others is nothing to them. */
    #alone = new Set();

    /**
     * @param {{open: Function, address: Function, trouble: Function, done: Function, nothing: Function, readOn: Function}} page
     */
    constructor(page) {
        this.page = page;
        this.place = null;
        this.missing = element("button", { type: "button", class: "missing", hidden: true, click: () => this.#goToMissing() });
        this.list = element("div", { class: "sections" });
        this.waiting = element("div", { class: "skeleton", "aria-hidden": "true", hidden: true },
            ...[1, 2, 3, 4, 5].map(() => element("div", { class: "bone" })));
        this.empty = element("div", { class: "empty", hidden: true });
        this.without = element("p", { class: "without", hidden: true });
        this.element = element("div", { class: "overview" }, this.waiting, this.list, this.empty, this.without);
    }

    /** The modules that there are, by their order: each has a section, empty as yet. */
    set modules(modules) {
        for (const module of modules) {
            const isNew = !this.#sections.has(module.id);
            const section = this.#section(module);
            // The search may have begun before it was known who there is to answer.
            if (isNew && this.#isUnderWay) {
                section.begin(this.place.q);
                if (this.#settled) {
                    section.reserve();
                }
            }
        }
    }

    /** Whether this place is shown already. */
    holds(place) {
        return this.#isGood && writeAddress({ ...this.place, module: "" }) === writeAddress({ ...place, module: "" });
    }

    /** What opens the module of a code or an id; nothing where it is not shown. */
    linkTo(name) {
        return this.#ordered().find(({ module, element }) => !element.hidden && [module.code, module.id].includes(name))?.link;
    }

    /** Ends what is under way, on the server too. */
    stop() {
        if (this.element.ariaBusy || this.#alone.size) {
            this.#isGood = false;
        }
        this.#isUnderWay = false;
        this.#alone.clear();
        this.#asking.abort();
        // Who comes back to what is shown yet may ask a module again.
        this.#asking = new AbortController();
        clearTimeout(this.#timer);
    }

    /** Searches at a place. */
    async show(place) {
        this.stop();
        const { signal } = this.#asking;
        this.#begin(place);
        try {
            let done = null;
            const query = { ...question(place), limit: LIMIT };
            for await (const { event, data } of events("POST", "/contents/search/all", { query, signal })) {
                // An answer to what is not asked any more is none.
                if (signal.aborted) {
                    return;
                }
                if (event === "module") {
                    this.#take(readable(data));
                } else if (event === "done") {
                    done = data;
                }
            }
            if (!done) {
                throw new Failure(0, "");
            }
            this.#finish();
        } catch (failure) {
            if (!signal.aborted) {
                this.#fail(failure);
            }
        }
    }

    #begin(place) {
        this.place = place;
        this.#isGood = true;
        this.#isUnderWay = true;
        this.#arrived.clear();
        this.#settled = false;
        this.empty.hidden = true;
        this.without.hidden = true;
        this.element.setAttribute("aria-busy", "true");
        for (const section of this.#sections.values()) {
            section.settle();
            section.begin(place.q);
        }
        this.#timer = setTimeout(() => {
            this.waiting.hidden = [...this.#sections.values()].some((section) => !section.element.hidden);
        }, QUIET);
    }

    #take(answer) {
        const section = this.#section(answer.module);
        if (!section.pending) {
            section.begin(this.place.q);
        }
        this.#arrived.set(section, answer);
        if (this.#settled) {
            this.#paint(true);
            return;
        }
        if (this.#arrived.size === 1) {
            clearTimeout(this.#timer);
            this.#timer = setTimeout(() => this.#settle(), GATHER);
        }
        this.#paint(false);
    }

    /** Shows what has come: all of it, or only what nothing above can move any more. */
    #paint(all) {
        const now = Date.now();
        for (const section of this.#ordered()) {
            const answer = this.#arrived.get(section);
            if (answer) {
                this.waiting.hidden = true;
                this.#arrived.delete(section);
                section.show(answer, now);
            } else if (this.#awaits(section) && !all) {
                break;
            }
        }
        this.#tellMissing();
    }

    /** Says above them all which sections are not complete, wherever those are. */
    #tellMissing() {
        const sections = this.#incomplete();
        this.missing.hidden = !sections.length;
        fill(this.missing, cut(WARNING), element("span", {}, t("overview.missing"), " ", ...names(sections)));
        this.missing.title = this.missing.textContent;
    }

    #goToMissing() {
        const [first] = this.#incomplete();
        first.element.scrollIntoView({ block: "center" });
        (first.notes.querySelector("button") ?? first.link).focus({ preventScroll: true });
    }

    /** What is known of the search before counts until there is another answer. */
    #incomplete() {
        return this.#ordered().filter((section) => section.answer && isIncomplete(section.answer));
    }

    /** Who has not answered by now is late: places are kept from here on. */
    #settle() {
        clearTimeout(this.#timer);
        this.#settled = true;
        for (const section of this.#ordered()) {
            if (this.#awaits(section) && !this.#arrived.has(section)) {
                section.reserve();
            }
        }
        this.#paint(true);
    }

    /** Whether the search of all is to answer for it. */
    #awaits(section) {
        return section.pending && !this.#alone.has(section);
    }

    #finish() {
        this.#isUnderWay = false;
        clearTimeout(this.#timer);
        this.#settled = true;
        this.#paint(true);
        // A module that is gone since has no answer.
        for (const section of this.#ordered().filter((one) => this.#awaits(one))) {
            section.element.remove();
            this.#sections.delete(section.module.id);
        }
        this.#conclude();
    }

    /** Says what nothing was found in, and in how many something was. */
    #conclude() {
        this.waiting.hidden = true;
        this.element.removeAttribute("aria-busy");
        const sections = this.#ordered().filter((section) => section.answer);
        const found = sections.filter((section) => section.answer.data.length);
        const nothing = sections.filter((section) => !section.answer.data.length && !isIncomplete(section.answer));
        const lacks = this.#incomplete().map((section) => lackOf(section.answer));
        const lack = lacks.includes("unreached") ? "unreached" : lacks[0] ?? null;
        this.without.hidden = !found.length || !nothing.length;
        fill(this.without, t("overview.nothing-in"), " ", ...names(nothing));
        this.empty.hidden = found.length > 0;
        fill(this.empty, ...this.page.nothing(this.place, lack));
        const count = found.reduce((sum, section) => sum + Math.max(section.answer.total, section.answer.data.length), 0);
        this.#tellMissing();
        this.page.done({ count, modules: found.length, lack });
    }

    #fail(failure) {
        this.#isGood = false;
        this.#isUnderWay = false;
        clearTimeout(this.#timer);
        this.#arrived.clear();
        this.waiting.hidden = true;
        this.element.removeAttribute("aria-busy");
        for (const section of this.#sections.values()) {
            if (this.#awaits(section)) {
                section.leave();
            }
        }
        this.#tellMissing();
        const again = () => {
            this.show(this.place);
            this.page.readOn();
        };
        if (failure.status === 502 || failure.status === 504) {
            // Nobody answered: that is no empty answer.
            for (const section of this.#sections.values()) {
                section.element.hidden = true;
                fill(section.rows);
            }
            const said = notes({ code: failure.status, sources: failure.body?.sources }, this.place.q, Date.now());
            fill(this.empty, element("h2", {}, t("empty.nobody")),
                ...said.map((note) => noteElement({ ...note, again: false }, again)),
                element("button", { type: "button", click: again }, t("common.retry")));
            this.empty.hidden = false;
            this.page.done({ count: 0, modules: 0, lack: "nobody" });
        } else {
            this.page.trouble(failure, again);
        }
    }

    /** Asks one module alone again. */
    async #again(section) {
        const { signal } = this.#asking;
        const place = this.place;
        this.#alone.add(section);
        if (section.notes.contains(document.activeElement)) {
            // What was pressed goes.
            section.link.focus({ preventScroll: true });
        }
        section.reserve();
        section.begin(place.q);
        const query = { ...question(place), limit: LIMIT, moduleId: section.module.id, paging: "cursor" };
        let answer;
        try {
            answer = readable(await call("POST", "/contents/search", { query, signal }));
        } catch (failure) {
            if (signal.aborted) {
                return;
            }
            this.#alone.delete(section);
            if (![502, 504, 413].includes(failure.status)) {
                if (section.answer) {
                    section.show(section.answer, Date.now());
                } else {
                    section.leave();
                }
                this.page.trouble(failure, () => this.#again(section));
                return;
            }
            answer = { code: failure.status, data: [], total: 0, cursor: null, partial: true, sources: failure.body?.sources };
        }
        if (!signal.aborted) {
            this.#alone.delete(section);
            section.show(answer, Date.now());
            // Else the end of the search of all does.
            if (!this.#isUnderWay) {
                this.#conclude();
            }
        }
    }

    #ordered() {
        return [...this.#sections.values()];
    }

    /** The section of a module, at its place. */
    #section(module) {
        const known = this.#sections.get(module.id);
        if (known) {
            return known;
        }
        const section = new Section(module, {
            open: this.page.open,
            address: (one) => this.page.address(one, this.place),
            again: (one) => this.#again(one),
        });
        const sections = [...this.#sections.values(), section].sort((left, right) => left.module.orderNo - right.module.orderNo);
        this.#sections = new Map(sections.map((one) => [one.module.id, one]));
        const next = sections[sections.indexOf(section) + 1];
        this.list.insertBefore(section.element, next?.element ?? null);
        return section;
    }
}

/** The names of sections, one after the other. */
function names(sections) {
    return sections.flatMap((section, place) => [place ? t("list.comma") : null, foreign(nameOf(section.module))]);
}
