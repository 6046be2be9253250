// Chips that narrow the results: how new, by whom, from where. One Tab stop; arrows move between them.

import { element, fill, isolate } from "../shared/dom.js";
import { number, t } from "../shared/language.js";
import { dayBefore, periodOf, PERIODS, startOf } from "./address.js";
import { formatDay } from "../shared/time.js";

/** Values shown of each facet. */
const MOST = 6;

/** Dispatches `change` with the changed parts of the place. */
export class Chips extends EventTarget {
    #place = null;
    #facets = {};
    /** Names of sources by their ids. */
    #names = new Map();

    constructor() {
        super();
        this.element = element("div", { class: "chips", role: "toolbar", "aria-label": t("chips.label") });
        this.element.addEventListener("keydown", (event) => this.#move(event));
    }

    set place(place) {
        this.#place = place;
        this.#show();
    }

    /**
     * The counts of an answer; earlier ones stay until then.
     *
     * @param {{author?: {value: string, count: number}[], source?: {value: string, count: number}[]}} facets
     * @param {{id: string, name: string}[]} [sources]
     */
    take(facets, sources = []) {
        this.#facets = facets ?? {};
        this.#names = new Map(sources.map(({ id, name }) => [id, name]));
        this.#show();
    }

    #show() {
        const focused = this.element.contains(document.activeElement) ? document.activeElement.dataset.chip : null;
        fill(this.element, ...this.#times(), ...this.#authors(), ...this.#sources());
        const chips = [...this.element.children];
        const stop = chips.find(({ dataset }) => dataset.chip === focused) ?? chips[0];
        stop.tabIndex = 0;
        if (focused !== null) {
            stop.focus();
        }
    }

    #times() {
        const { from, to } = this.#place;
        const period = periodOf(this.#place);
        const chips = Object.entries(PERIODS).map(([name, days]) => {
            const isPressed = name === period;
            return this.#chip(name, t(`chips.${name}`), { isPressed, change: { from: isPressed ? "" : dayBefore(days), to: "" } });
        });
        const own = [["from", from], ["to", to]].filter(([, day]) => day && !period);
        return [...chips, ...own.map(([name, day]) =>
            this.#chip(name, t(`chips.${name}`, { day: formatDay(startOf(day)) }), { isPressed: true, change: { [name]: "" } }))];
    }

    #authors() {
        const { author } = this.#place;
        return this.#values("author", author, (value) => value, (left, right) => left.toLowerCase() === right.toLowerCase());
    }

    #sources() {
        const { source } = this.#place;
        const isOnly = !source && !(this.#facets.source?.length > 1);
        return isOnly ? [] : this.#values("source", source, (id) => this.#names.get(id) || id);
    }

    /** The most frequent values, and the chosen one. */
    #values(facet, chosen, nameOf, isSame = Object.is) {
        const values = (this.#facets[facet] ?? []).slice(0, MOST);
        if (chosen && !values.some(({ value }) => isSame(value, chosen))) {
            values.unshift({ value: chosen });
        }
        return values.map(({ value, count }) => {
            const isPressed = Boolean(chosen) && isSame(value, chosen);
            return this.#chip(`${facet}:${value}`, nameOf(value), { count, isPressed, change: { [facet]: isPressed ? "" : value } });
        });
    }

    #chip(id, text, { count, isPressed, change }) {
        return element("button", {
            type: "button", class: "chip", tabindex: -1, "data-chip": id, "aria-pressed": String(isPressed),
            click: () => this.dispatchEvent(new CustomEvent("change", { detail: change })),
        }, isolate(text), count === undefined ? null : element("span", { class: "count" }, number(count)));
    }

    #move(event) {
        const chips = [...this.element.children];
        const at = chips.indexOf(document.activeElement);
        const places = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: chips.length - 1 };
        const next = chips[places[event.key]];
        if (next && !event.ctrlKey && !event.metaKey && !event.altKey) {
            event.preventDefault();
            chips[at].tabIndex = -1;
            next.tabIndex = 0;
            next.focus();
        }
    }
}
