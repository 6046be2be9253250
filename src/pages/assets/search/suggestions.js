// Completions of the typed text: recent searches, titles, people, departments, and names after `author:`.

import { call } from "../shared/api.js";
import { element, fill, isolate } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { CLOCK, icon, LENS, moduleIcon } from "./icons.js";

const MOST = 6;
const MOST_RECENT = 2;

/** Module types whose icon stands for the kind of a suggestion. */
const TYPES = { person: 6, author: 6, department: 7 };

/** A line of buttons below the box; dispatches `pick` with the whole new text. */
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
     * @param {string[]} recent searches, the latest first
     */
    async show(text, recent) {
        if (text === this.#text) {
            return;
        }
        this.#text = text;
        this.#request.abort();
        this.#request = new AbortController();
        const { signal } = this.#request;
        this.element.hidden = !text;
        const { before, prefix } = splitAuthor(text);
        if (!prefix) {
            fill(this.element);
            return;
        }
        let data = [];
        try {
            ({ data } = await call("GET", "/contents/suggest", { query: { prefix, limit: MOST }, signal }));
        } catch {
            // The search itself tells of failures.
        }
        if (!signal.aborted) {
            fill(this.element, ...choices(text, before, data, recent).map((choice) => this.#button(choice)));
        }
    }

    #button({ text, shown, picture }) {
        const pick = () => this.dispatchEvent(new CustomEvent("pick", { detail: text }));
        return element("li", {}, element("button", { type: "button", class: "suggestion", title: shown, click: pick }, picture, isolate(shown)));
    }
}

/** The text up to the value of a last `author:`, and that value; else nothing and the whole text. */
export function splitAuthor(text) {
    const found = /^(.*(?:^|\s)author[:：])"?([^"]*)$/isu.exec(text);
    return found ? { before: found[1], prefix: found[2].trim() } : { before: "", prefix: text };
}

/** The texts that a pick puts into the box, each once. */
export function choices(text, before, suggestions, recent) {
    const typed = text.toLowerCase();
    const earlier = recent.filter((one) => one.toLowerCase().startsWith(typed)).slice(0, MOST_RECENT)
        .map((one) => ({ text: one, shown: one, picture: icon(CLOCK) }));
    const fitting = suggestions.filter(({ kind }) => (before ? ["person", "author"].includes(kind) : kind !== "module"));
    const completed = fitting.map(({ text: shown, kind }) => {
        // A phrase cannot hold a quote.
        const value = `"${shown.replaceAll('"', " ")}"`;
        const picture = TYPES[kind] ? moduleIcon({ type: TYPES[kind] }) : icon(LENS);
        return { text: before ? before + value : kind === "author" ? `author:${value}` : shown, shown, picture };
    });
    const known = new Set([typed]);
    return [...earlier, ...completed].filter((choice) => !known.has(choice.text.toLowerCase()) && known.add(choice.text.toLowerCase()))
        .slice(0, MOST);
}
