// One item beside the list, as the server tells it to this person; a sheet on narrow screens.

import { call } from "../shared/api.js";
import { element, fill, isolate } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { exactTime, isoTime } from "../shared/time.js";
import { contacts } from "./contacts.js";
import { describeFailure } from "./failure.js";
import { download, fileOf, size, textProblem } from "./file.js";
import { nodes, pieces, plain, textOf } from "./highlight.js";
import { CROSS, icon, moduleIcon } from "./icons.js";
import { itemAddress, itemPath } from "./item-address.js";
import { nameOf } from "./module-name.js";

/** Bytes of a text that are read at a time; the most that the server gives. */
const PART = 65_536;

const NARROW = matchMedia("(width < 40rem)");

/** Modules whose items are people or departments, with ways to reach them. */
const REACHABLE = new Set(["builtin:people", "builtin:department"]);

export class QuickLook {
    #request = new AbortController();
    #name = "";
    #keyword = "";
    /** The row that the item was opened from. */
    #origin = null;
    #length = 0;

    /** @param {{close: () => void, asked: () => () => void, modules: () => Promise<object[]>, opened: (name: string) => void, signedOut: (again: () => void) => void}} page */
    constructor(page) {
        this.page = page;
        this.heading = element("h2", { id: "look-title", tabindex: "-1", dir: "auto" });
        this.kind = element("p", { class: "kind" });
        this.body = element("div", { class: "look-body" });
        this.element = element("aside", { class: "look", "aria-labelledby": "look-title", hidden: true },
            element("div", { class: "look-head" }, this.kind,
                element("button", { type: "button", class: "clear-look", "aria-label": t("look.close"), title: t("look.close"), click: () => page.close() },
                    icon(CROSS))),
            this.heading, this.body);
    }

    get isOpen() {
        return !this.element.hidden;
    }

    /** The shown item, as of `itemName`; empty without one. */
    get name() {
        return this.#name;
    }

    /** Moves focus into the sheet, which covers the list. */
    focus() {
        this.heading.focus({ preventScroll: true });
    }

    /**
     * Shows an item; its row lends the title until the server has answered.
     *
     * @param {string} name as of `itemName`
     * @param {string} keyword
     * @param {HTMLElement | null} row
     */
    async show(name, keyword, row) {
        if (name === this.#name && keyword === this.#keyword) {
            return;
        }
        this.#request.abort();
        this.#request = new AbortController();
        const { signal } = this.#request;
        if (row || !this.isOpen) {
            this.#origin = row?.querySelector("[data-stop]") ?? document.activeElement;
        }
        if (this.element.contains(document.activeElement)) {
            // The focused link disappears.
            this.focus();
        }
        [this.#name, this.#keyword] = [name, keyword];
        this.element.hidden = false;
        this.element.scrollTop = 0;
        this.element.setAttribute("aria-busy", "true");
        const title = row?.querySelector(".open");
        fill(this.heading, ...title ? title.cloneNode(true).childNodes : []);
        fill(this.kind);
        fill(this.body, element("div", { class: "skeleton", "aria-hidden": "true" }, element("div", { class: "bone tall" })));
        const path = itemPath(name);
        const arrived = this.page.asked();
        try {
            const [modules, answer] = await Promise.all([this.page.modules(), path && call("GET", path, { query: { keyword }, signal })]);
            if (!signal.aborted) {
                this.#paint(answer?.data ?? null, path, modules);
            }
        } catch (failure) {
            if (!signal.aborted) {
                this.#fail(failure, row);
            }
        } finally {
            arrived();
            if (!signal.aborted) {
                this.element.removeAttribute("aria-busy");
            }
        }
        if (NARROW.matches && this.isOpen && !this.element.contains(document.activeElement)) {
            this.focus();
        }
    }

    /** Hides the item and gives focus back to its row, if it was here. */
    close() {
        if (!this.isOpen) {
            return;
        }
        const hadFocus = this.element.contains(document.activeElement);
        this.#request.abort();
        this.#name = "";
        this.element.hidden = true;
        if (hadFocus && this.#origin?.isConnected) {
            this.#origin.focus({ preventScroll: true });
        }
        this.#origin = null;
    }

    #paint(item, path, modules) {
        if (!item) {
            this.#gone();
            return;
        }
        this.page.opened(this.#name);
        const module = modules.find(({ code }) => code === item.module) ?? { code: item.module, type: 0, name: item.module };
        const marked = item.highlight ?? {};
        const read = (name) => (textOf(pieces(marked[name])).trim() ? pieces(marked[name]) : plain(item[name]));
        const title = read("title");
        fill(this.kind, moduleIcon(module), isolate(nameOf(module)));
        fill(this.heading, ...textOf(title).trim() ? nodes(title) : [element("span", { class: "untitled" }, t("row.untitled"))]);
        const text = element("div", { class: "look-text", dir: "auto" });
        const isReachable = REACHABLE.has(item.source);
        const shown = item.text ? read("text") : read("brief");
        fill(text, ...isReachable ? contacts(textOf(shown)) : nodes(shown));
        this.#length = Math.min(PART, item.textLength);
        const more = element("button", { type: "button", hidden: this.#length >= item.textLength, click: () => this.#readOn(path, text, more, item.textLength) }, t("look.more"));
        fill(this.body, this.#facts(item, read("subTitle"), module), this.#actions(item, module), text, more,
            this.#people(item.people), this.#related(item.related));
    }

    #facts(item, place, module) {
        const file = fileOf(item, module);
        const problem = textProblem(item);
        const facts = [
            place.length ? element("p", { class: "look-place", dir: "auto" }, ...nodes(place)) : null,
            element("p", { class: "look-facts" }, ...[
                item.author ? element("bdi", {}, item.author) : null,
                REACHABLE.has(item.source) ? null : element("time", { datetime: isoTime(item.displayTime) }, exactTime(item.displayTime)),
                file ? element("bdi", {}, [file.extension.toUpperCase(), size(file.size)].filter(Boolean).join(" · ")) : null,
                item.attachDescription ? element("bdi", {}, item.attachDescription) : null,
            ].filter(Boolean)),
            problem && element("p", { class: "look-place" }, t("look.text-problem"), " ", element("span", { lang: "en" }, isolate(problem))),
        ];
        return element("div", {}, ...facts.filter(Boolean));
    }

    #actions(item, module) {
        const file = fileOf(item, module);
        const save = file && element("button", { type: "button", class: "main", click: () => download(save, file) }, t("look.download"));
        const copy = element("button", { type: "button", click: () => this.#copy(copy) }, t("look.copy"));
        const host = item.opens?.host;
        return element("div", { class: "look-actions" },
            item.opens ? element("a", { class: "button main", href: item.opens.address, target: "_blank", rel: "noopener noreferrer" },
                host ? t("look.open-in", { host }) : t("look.open")) : null,
            save, copy);
    }

    async #copy(button) {
        try {
            await navigator.clipboard.writeText(new URL(itemAddress(this.#name), document.baseURI).href);
            fill(button, t("look.copied"));
        } catch {
            fill(button, t("look.not-copied"));
        }
    }

    /** Adds the next part of a long text. */
    async #readOn(path, text, more, whole) {
        const { signal } = this.#request;
        more.disabled = true;
        try {
            const query = { keyword: this.#keyword, offset: this.#length, length: PART };
            const { data } = await call("GET", path, { query, signal });
            text.append(...data.highlight?.text ? nodes(pieces(data.highlight.text)) : nodes(plain(data.text)));
            this.#length += PART;
            more.hidden = this.#length >= whole;
        } catch {
            // The button stays, for another try.
        }
        more.disabled = false;
    }

    #people(people) {
        return list(t("look.people"), people.map(({ role, name, userId }) => [
            t(`role.${role}`),
            userId ? this.#link(`people/${userId}`, name) : isolate(name),
        ]));
    }

    #related(related) {
        return list(t("look.related"), related.map(({ relation, module, id, title }) => [
            t(`relation.${relation}`),
            this.#link(`${module}/${id}`, title || t("row.untitled")),
        ]));
    }

    #link(name, text) {
        return element("a", { href: itemAddress(name), "data-look": name }, isolate(text));
    }

    #fail(failure, row) {
        if (failure.status === 404) {
            this.#gone();
            return;
        }
        const [name, keyword] = [this.#name, this.#keyword];
        // The same item can be asked for again.
        this.#name = "";
        const again = () => this.show(name, keyword, row);
        if (failure.status === 401) {
            this.page.signedOut(again);
            return;
        }
        const { text } = describeFailure(failure, { online: navigator.onLine, tries: 0 });
        fill(this.body, element("p", { class: "note trouble", role: "status" }, text, " ",
            element("button", { type: "button", class: "link", click: again }, t("common.retry"))));
    }

    #gone() {
        fill(this.body, element("p", { class: "note", role: "status" }, t("look.gone")));
    }
}

/** A titled list of entries, each group under one label; null without any. */
function list(title, entries) {
    const isFirst = (place) => entries[place - 1]?.[0] !== entries[place][0];
    return entries.length ? element("section", {}, element("h3", {}, title),
        element("ul", { class: "look-list" }, ...entries.map(([label, content], place) =>
            element("li", {}, element("span", { class: isFirst(place) ? "label" : "label unseen" }, label), content)))) : null;
}
