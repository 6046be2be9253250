// The results of a search: order, filters, chips, and the items of all modules or of one.

import { element } from "../shared/dom.js";
import { Chips } from "./chips.js";
import { Decision } from "./decision.js";
import { Filters } from "./filters.js";
import { ModuleList } from "./module-list.js";
import { Overview } from "./overview.js";

export class Results {
    #place;

    /**
     * @param {{open: Function, address: Function, asked: Function, failed: Function, found: Function, answered: Function, emptyResult: Function,
     *     restoreFocus: Function, totals: Function, change: (changed: object) => void, isTyping: () => boolean}} page `asked` begins to wait, `found` follows a complete answer
     */
    constructor(page) {
        this.filters = new Filters();
        this.chips = new Chips();
        for (const part of [this.filters, this.chips]) {
            part.addEventListener("change", ({ detail }) => page.change(detail));
        }
        this.decision = new Decision((exact) => page.change({ exact: exact ? "true" : "" }));
        this.overview = new Overview(this.#callbacksOf(() => this.overview, page));
        this.list = new ModuleList(this.#callbacksOf(() => this.list, page));
        this.filters.element.append(this.overview.missing);
        this.element = element("div", { class: "results" }, this.filters.element, this.chips.element, this.decision.element,
            this.overview.element, this.list.element);
    }

    set place(place) {
        this.#place = place;
        this.filters.place = this.chips.place = place;
        this.hasControls = true;
        this.overview.element.hidden = Boolean(place.module);
        this.list.element.hidden = !place.module;
    }

    /** Whether there is something to order and to filter. */
    set hasControls(hasControls) {
        this.filters.element.hidden = this.chips.element.hidden = !hasControls;
    }

    /** The overview or the list. */
    get shown() {
        return this.list.element.hidden ? this.overview.element : this.list.element;
    }

    /** Asks the sources that were skipped while words were typed. */
    askSkipped() {
        if (!this.element.hidden) {
            (this.list.element.hidden ? this.overview : this.list).askSkipped();
        }
    }

    stop() {
        this.overview.stop();
        this.list.stop();
    }

    /** The callbacks of a view; ignored while it is hidden. */
    #callbacksOf(view, page) {
        const ifShown = (act) => (...given) => view().element.hidden || act(...given);
        return {
            open: page.open,
            asked: page.asked,
            address: (module, place) => page.address(module, place ?? this.#place),
            failed: ifShown(page.failed),
            done: ifShown(page.found),
            answered: ifShown(page.answered),
            emptyResult: page.emptyResult,
            restoreFocus: ifShown(page.restoreFocus),
            sources: ifShown((reports) => { this.filters.sources = reports; }),
            decided: ifShown((answer) => this.decision.show(this.#place, answer)),
            counted: ifShown((facets, sources) => this.chips.take(facets, sources)),
            totals: ifShown(page.totals),
            isTyping: page.isTyping,
        };
    }
}
