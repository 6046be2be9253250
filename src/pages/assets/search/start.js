// Before a search: saved and recent searches, what is open and new for this person, and how to ask more exactly.

import { call } from "../shared/api.js";
import { element, fill } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { dayBefore, EVERYTHING, startOf, writeAddress } from "./address.js";
import { CLOCK, CROSS, icon, STAR } from "./icons.js";
import { itemPath } from "./item-address.js";
import { row, withValidItems } from "./row.js";

/** Rows of a part. */
const MOST = 5;

/** Parts with items of many modules. */
const MIXED = new Set(["opened", "news"]);

/** Module types. */
const FAVORITES = 10;
/** Of which the newest items are a part. */
const TYPES = { todos: 3, favorites: FAVORITES };
/** Nothing in these is news. */
const STANDING = new Set([6, 7, 8, FAVORITES]);

/** Dispatches `pick` with the changed parts of the place, `left` after a search was removed. */
export class Start extends EventTarget {
    #request = new AbortController();

    /**
     * @param {import("../shared/recent.js").Recent} recent searches
     * @param {import("../shared/recent.js").Recent} opened names of items
     * @param {import("./saving.js").Saving} saving
     * @param {() => Promise<object[]>} modules
     */
    constructor(recent, opened, saving, modules) {
        super();
        Object.assign(this, { recent, opened, saving, modules });
        this.savedList = element("ul", { class: "saved" });
        this.savedPart = element("section", { "aria-labelledby": "saved-title" },
            element("h2", { id: "saved-title" }, t("saved.title")), this.savedList);
        this.list = element("ul", { class: "recent" });
        this.recentPart = element("section", { "aria-labelledby": "recent-title" },
            element("div", { class: "title" }, element("h2", { id: "recent-title" }, t("start.recent")),
                element("button", { type: "button", class: "link", click: () => this.#leave(() => this.recent.clear()) }, t("start.clear"))),
            this.list);
        this.parts = element("div", { class: "start-parts" });
        this.element = element("div", { class: "start", hidden: true }, this.savedPart, this.recentPart, this.parts,
            element("section", { "aria-labelledby": "hints-title" },
                element("h2", { id: "hints-title" }, t("start.hints")),
                element("dl", { class: "hints" }, ...["words", "phrase", "without", "author", "in", "all"].map((name) =>
                    element("div", {}, element("dt", {}, element("code", {}, t(`hint.${name}.form`))),
                        element("dd", {}, t(`hint.${name}`)))))));
    }

    show() {
        const saved = this.saving.saved.list();
        this.savedPart.hidden = !saved.length;
        fill(this.savedList, ...saved.map(({ name, place }) => element("li", { "data-saved": name },
            this.#pick(place, STAR, name, place.q === name ? "" : place.q),
            element("button", {
                type: "button", class: "link", "aria-label": t("saved.rename", { name }), click: () => this.#rename(name),
            }, t("saved.rename-short")),
            removal(t("saved.remove", { name }), () => this.#leave(() => this.saving.saved.remove(name))))));
        const list = this.recent.list();
        this.recentPart.hidden = !list.length;
        fill(this.list, ...list.map((text) => element("li", {}, this.#pick({ q: text }, CLOCK, text),
            removal(t("start.forget", { text }), () => this.#leave(() => this.recent.remove(text))))));
        this.element.hidden = false;
        this.load();
    }

    stop() {
        this.#request.abort();
        this.element.hidden = true;
    }

    /** Loads the parts, which appear together; one that fails is left out. */
    async load() {
        this.#request.abort();
        this.#request = new AbortController();
        const { signal } = this.#request;
        this.element.setAttribute("aria-busy", "true");
        const modules = await this.modules().catch(() => []);
        const parts = {
            opened: this.#openedItems(signal),
            todos: ofType(TYPES.todos, modules, signal),
            news: news(signal),
            favorites: ofType(TYPES.favorites, modules, signal),
        };
        const loaded = await Promise.allSettled(Object.values(parts));
        if (signal.aborted) {
            return;
        }
        const now = Date.now();
        const sections = Object.keys(parts).map((name, place) => part(name, loaded[place].value ?? [], modules, now));
        fill(this.parts, ...sections);
        this.element.removeAttribute("aria-busy");
    }

    /** Those that the person may still see. */
    async #openedItems(signal) {
        const read = async (name) => {
            try {
                return (await call("GET", itemPath(name), { signal })).data;
            } catch (failure) {
                if (failure.status === 404) {
                    this.opened.remove(name);
                }
                return null;
            }
        };
        const items = await Promise.all(this.opened.list().slice(0, MOST).map(read));
        return items.filter(Boolean);
    }

    #pick(change, picture, text, more = "") {
        return element("button", {
            type: "button", class: "pick", "data-stop": true,
            click: () => this.dispatchEvent(new CustomEvent("pick", { detail: change })),
        }, icon(picture), element("bdi", {}, text), more ? element("bdi", { class: "faint" }, more) : null);
    }

    #rename(name) {
        this.saving.rename(name, (renamed) => {
            this.show();
            // Its button was replaced, and the dialog gives focus back on closing.
            const [row] = [...this.savedList.children].filter(({ dataset }) => dataset.saved === renamed);
            this.saving.dialog.addEventListener("close", () => row.querySelector(".pick").focus(), { once: true });
        });
    }

    /** Removes searches, whose buttons had the focus. */
    #leave(remove) {
        remove();
        this.show();
        this.dispatchEvent(new Event("left"));
    }
}

function removal(name, remove) {
    return element("button", { type: "button", class: "forget", title: name, "aria-label": name, click: remove }, icon(CROSS));
}

/** A section of rows, whose title leads to all of its module; null without items. Items name their module. */
function part(name, items, modules, now) {
    const rows = items.map((item) => {
        const module = modules.find(({ code }) => code === item.module);
        return module && row(item, module, { roomy: false, now, isNamed: MIXED.has(name) });
    });
    const module = modules.find(({ type }) => type === TYPES[name]);
    const title = module ? element("a", { href: `./${writeAddress({ module: module.code })}` }, t(`start.${name}`)) : t(`start.${name}`);
    return rows.some(Boolean) ? element("section", { "aria-labelledby": `start-${name}` },
        element("h2", { id: `start-${name}` }, title), element("ul", { class: "rows" }, ...rows)) : null;
}

/** The newest items of the module of a type. */
async function ofType(type, modules, signal) {
    const module = modules.find((one) => one.type === type);
    if (!module) {
        return [];
    }
    const query = { keyword: EVERYTHING, moduleId: module.code, limit: MOST, paging: "cursor" };
    const { data } = withValidItems(await call("POST", "/contents/search", { query, signal }));
    return data.map((item) => ({ ...item, module: module.code }));
}

/** The newest items of all modules since yesterday. */
async function news(signal) {
    const query = { keyword: EVERYTHING, from: startOf(dayBefore(1)), limit: MOST };
    const { data } = await call("POST", "/contents/search/all", { query, signal });
    const items = data.filter(({ module }) => !STANDING.has(module.type)).flatMap((answer) =>
        withValidItems(answer).data.map((item) => ({ ...item, module: answer.module.code })));
    // A mixed module shows items of others again.
    const ids = new Set();
    const once = items.filter(({ id }) => !ids.has(id) && ids.add(id));
    return once.sort((left, right) => right.displayTime - left.displayTime).slice(0, MOST);
}
