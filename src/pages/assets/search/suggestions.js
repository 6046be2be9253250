// Completions of the typed text: saved and recent searches, titles, people, departments, names after `author:`, modules after `in:`.

import { call } from "../shared/api.js";
import { element, fill, isolate } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { writeAddress } from "./address.js";
import { CLOCK, icon, LENS, moduleIcon, STAR } from "./icons.js";
import { nameOf } from "./module-name.js";

const MOST = 6;
/** Recent and saved searches, each. */
const MOST_OWN = 2;

/** Module types whose icon stands for the kind of a suggestion. */
const TYPES = { person: 6, author: 6, department: 7 };

/** A line of buttons below the box; dispatches `pick` with the changed parts of the place. */
export class Suggestions extends EventTarget {
    #request = new AbortController();
    #text = "";

    constructor() {
        super();
        this.element = element("ul", { class: "suggestions", "aria-label": t("suggestions.label"), hidden: true });
    }

    /**
     * Completes a text; older suggestions stay until the server has answered.
     *
     * @param {string} text
     * @param {{recent: string[], saved: {name: string, place: object}[], modules: () => Promise<object[]>}} own searches, the latest
     *     first, and the modules to choose from
     */
    async show(text, { recent, saved, modules }) {
        if (text === this.#text) {
            return;
        }
        this.#text = text;
        this.#request.abort();
        this.#request = new AbortController();
        const { signal } = this.#request;
        this.element.hidden = !text;
        let choices = await moduleChoices(text, modules);
        if (!choices.length && !signal.aborted) {
            const { before, prefix } = splitAuthor(text);
            const completed = await this.#complete(before, prefix, signal);
            choices = once(text, [...ownChoices(text, recent, saved), ...completed]).slice(0, MOST);
        }
        if (!signal.aborted) {
            fill(this.element, ...choices.map((choice) => this.#button(choice)));
        }
    }

    async #complete(before, prefix, signal) {
        if (!prefix) {
            return [];
        }
        try {
            const { data } = await call("GET", "/contents/suggest", { query: { prefix, limit: MOST }, signal });
            return completions(before, data);
        } catch {
            // The search itself tells of failures.
            return [];
        }
    }

    #button({ change, shown, picture }) {
        const pick = () => this.dispatchEvent(new CustomEvent("pick", { detail: change }));
        return element("li", {}, element("button", { type: "button", class: "suggestion", title: shown, click: pick }, picture, isolate(shown)));
    }
}

/** The text up to the value of a last `author:`, and that value; else nothing and the whole text. */
export function splitAuthor(text) {
    const found = /^(.*(?:^|\s)author[:：])"?([^"]*)$/isu.exec(text);
    return found ? { before: found[1], prefix: found[2].trim() } : { before: "", prefix: text };
}

/** The words before a last `in:`, and the beginning of a module's name; null without one. */
export function splitModule(text) {
    const found = /^(?:(.*)\s)?in[:：]"?([^"]*)$/isu.exec(text);
    return found && { words: (found[1] ?? "").trim(), prefix: found[2].trim().toLowerCase() };
}

/** Modules whose name or code begins so; choosing one searches the other words there. */
async function moduleChoices(text, modules) {
    const typed = splitModule(text);
    if (!typed) {
        return [];
    }
    const begins = (name) => [name, ...name.split(/\s+/)].some((part) => part.toLowerCase().startsWith(typed.prefix));
    const all = await modules().catch(() => []);
    return all.filter((module) => [nameOf(module), module.name, module.code].some(begins)).map((module) => ({
        change: { q: typed.words, module: module.code, source: "" }, shown: nameOf(module), picture: moduleIcon(module),
    }));
}

function ownChoices(text, recent, saved) {
    const begins = (one) => one.toLowerCase().startsWith(text.toLowerCase());
    return [
        ...saved.filter(({ name, place }) => begins(name) || begins(place.q)).slice(0, MOST_OWN)
            .map(({ name, place }) => ({ change: place, shown: name, picture: icon(STAR) })),
        ...recent.filter(begins).slice(0, MOST_OWN).map((one) => ({ change: { q: one }, shown: one, picture: icon(CLOCK) })),
    ];
}

function completions(before, suggestions) {
    const fitting = suggestions.filter(({ kind }) => (before ? ["person", "author"].includes(kind) : kind !== "module"));
    return fitting.map(({ text: shown, kind }) => {
        // A phrase cannot hold a quote.
        const value = `"${shown.replaceAll('"', " ")}"`;
        const picture = TYPES[kind] ? moduleIcon({ type: TYPES[kind] }) : icon(LENS);
        return { change: { q: before ? before + value : kind === "author" ? `author:${value}` : shown }, shown, picture };
    });
}

/** The choices that change what is typed, each once. */
function once(text, choices) {
    const known = new Set([writeAddress({ q: text.toLowerCase() })]);
    const isNew = ({ change }) => {
        const made = writeAddress({ ...change, q: change.q.toLowerCase() });
        return !known.has(made) && known.add(made);
    };
    return choices.filter(isNew);
}
