import { element, fill } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { filtersOf, FIRST_DAY, LAST_DAY } from "./address.js";

/** Milliseconds without typing after which a filter applies. */
const PAUSE = 300;

/** The bar above the results; dispatches `change` with the changed parts of the place. */
export class Filters extends EventTarget {
    #timer = 0;
    #place = null;
    /** By module. */
    #known = new Map();
    #offered = "";

    constructor() {
        super();
        const radio = (value) => element("label", {},
            element("input", { type: "radio", name: "sort", value, class: "unseen" }), element("span", {}, t(`sort.${value}`)));
        this.sort = element("fieldset", { class: "sort" },
            element("legend", { class: "unseen" }, t("sort.label")), radio("relevance"), radio("time"));
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

    set place(place) {
        this.#place = place;
        // Everything stands in one order.
        this.sort.hidden = !place.q;
        for (const input of this.sort.querySelectorAll("input")) {
            input.checked = input.value === place.sort;
        }
        for (const [name, input] of Object.entries(this.inputs)) {
            // Never overwrite focused input.
            if (input !== document.activeElement) {
                input.value = place[name];
            }
        }
        const count = filtersOf(place);
        fill(this.summary, count ? t("filter.some", { count }) : t("filter.none"));
        this.summary.classList.toggle("active", count > 0);
        this.reset.hidden = count === 0;
        this.#offer();
    }

    /** Returns typed input that was not dispatched yet. */
    take() {
        if (!this.#timer) {
            return {};
        }
        this.#stop();
        return { author: this.inputs.author.value.trim() };
    }

    /**
     * The sources to choose from, as the module's answer lists them.
     *
     * @param {{id: string, name: string}[]} reports
     */
    set sources(reports) {
        const { module, source } = this.#place;
        // A filtered answer lists that one alone.
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
        // Refilling would close an open list.
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
            // A half-typed year is invalid or long ago.
            input.addEventListener("change", () => input.validity.valid && this.#tell({ [name]: input.value }));
        }
        const { author } = this.inputs;
        author.addEventListener("input", (event) => {
            this.#stop();
            if (!event.isComposing) {
                this.#timer = setTimeout(() => this.#tell(this.take()), PAUSE);
            }
        });
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
