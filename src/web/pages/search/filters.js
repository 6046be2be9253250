// The order of what is found, and what narrows it down.

import { element, fill } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { filtersOf } from "./address.js";

/** How long a pause in typing a name is, milliseconds. */
const PAUSE = 300;

/** Days outside of these are years that are still being typed. */
const FIRST_DAY = "1900-01-01";
const LAST_DAY = "9999-12-31";

/** The bar above the results. `element` is what is shown; tells `change` with what is other than before. */
export class Filters extends EventTarget {
    #timer = 0;
    #place = null;
    /** The sources of each module that was searched. */
    #known = new Map();
    #offered = "";

    constructor() {
        super();
        const radio = (value) => element("label", {},
            element("input", { type: "radio", name: "sort", value, class: "unseen" }), element("span", {}, t(`sort.${value}`)));
        this.sort = element("fieldset", { class: "sort" },
            element("legend", { class: "unseen" }, t("sort.label")), radio("time"), radio("relevance"));
        const day = (name) => element("input", { type: "date", name, min: FIRST_DAY, max: LAST_DAY });
        this.inputs = { from: day("from"), to: day("to"), author: element("input", { name: "author", autocomplete: "off" }) };
        this.source = element("select", { name: "source" });
        this.sourceLabel = this.#labelled("source", this.source);
        this.reset = element("button", { type: "button", class: "link" }, t("filter.reset"));
        this.summary = element("summary", {});
        this.more = element("details", { class: "filters" }, this.summary,
            element("div", { class: "fields" }, ...Object.entries(this.inputs).map(([name, input]) => this.#labelled(name, input)),
                this.sourceLabel, this.reset));
        this.element = element("div", { class: "bar" }, this.sort, this.more);
        this.#listen();
    }

    /** Shows where one is. */
    set place(place) {
        this.#place = place;
        for (const input of this.sort.querySelectorAll("input")) {
            input.checked = input.value === place.sort;
        }
        for (const [name, input] of Object.entries(this.inputs)) {
            // Who is typing is not interrupted.
            if (input !== document.activeElement) {
                input.value = place[name];
            }
        }
        const count = filtersOf(place);
        fill(this.summary, count ? t("filter.some", { count }) : t("filter.none"));
        this.summary.classList.toggle("active", count > 0);
        this.reset.hidden = count === 0;
        if (count) {
            this.more.open = true;
        }
        this.#offer();
    }

    /** What has been typed and was not told yet; it is told now. */
    take() {
        if (!this.#timer) {
            return {};
        }
        this.#stop();
        return { author: this.inputs.author.value.trim() };
    }

    /**
     * The sources that one may choose among: those of the module that was searched.
     *
     * @param {{id: string, name: string}[]} reports
     */
    set sources(reports) {
        const { module, source } = this.#place;
        // With a filter, the answer has no other source than that one.
        if (!source || !(this.#known.get(module)?.length > 1)) {
            this.#known.set(module, reports);
        }
        this.#offer();
    }

    #offer() {
        const { module, source } = this.#place;
        const reports = [...this.#known.get(module) ?? []];
        this.sourceLabel.hidden = !module || (reports.length < 2 && !source);
        if (source && !reports.some(({ id }) => id === source)) {
            reports.push({ id: source, name: source });
        }
        const offered = JSON.stringify(reports.map(({ id, name }) => [id, name]));
        // A list that is open would close.
        if (offered !== this.#offered) {
            this.#offered = offered;
            fill(this.source, element("option", { value: "" }, t("filter.every-source")),
                ...reports.map(({ id, name }) => element("option", { value: id }, name || id)));
        }
        this.source.value = source;
    }

    #labelled(name, input) {
        return element("label", {}, element("span", {}, t(`filter.${name}`)), input);
    }

    #listen() {
        this.sort.addEventListener("change", (event) => this.#tell({ sort: event.target.value }));
        this.source.addEventListener("change", () => this.#tell({ source: this.source.value }));
        for (const name of ["from", "to"]) {
            const input = this.inputs[name];
            // While its year is typed, a day is one of long ago, or none.
            input.addEventListener("change", () => input.validity.valid && this.#tell({ [name]: input.value }));
        }
        const { author } = this.inputs;
        author.addEventListener("input", (event) => {
            this.#stop();
            if (!event.isComposing) {
                this.#timer = setTimeout(() => this.#tell(this.take()), PAUSE);
            }
        });
        // Who leaves it has typed to the end.
        author.addEventListener("change", () => this.#timer && this.#tell(this.take()));
        author.addEventListener("compositionend", () => this.#tell({ author: author.value.trim() }));
        this.reset.addEventListener("click", () => {
            for (const input of Object.values(this.inputs)) {
                input.value = "";
            }
            this.summary.focus();
            this.#tell({ from: "", to: "", author: "", source: "" });
        });
    }

    #stop() {
        clearTimeout(this.#timer);
        this.#timer = 0;
    }

    #tell(changed) {
        const detail = { ...this.take(), ...changed };
        this.dispatchEvent(new CustomEvent("change", { detail }));
    }
}
