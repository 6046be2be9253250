import { element, fill } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { explain } from "./failure.js";
import { table } from "./table.js";

const LIMIT = 50;

export class PagedTable {
    #view;
    #options;
    #load;
    #rows = [];
    #list = element("div");
    #more = element("p", { class: "actions" });
    #query;

    /**
     * @param {import("./view.js").View} view
     * @param {{path?: string, load?: (query: object) => Promise<object>, caption: string, columns: string[], empty: string,
     *     row: (data: object) => object, query?: object}} options
     *     `load` loads a page by its filter, `limit` and `cursor`, in place of a GET of `path`; `query` is the first filter
     */
    constructor(view, options) {
        this.#view = view;
        this.#options = options;
        this.#load = options.load ?? ((query) => view.call("GET", options.path, { query }));
        this.#query = options.query ?? {};
        this.node = element("div", { class: "pages" }, this.#list, this.#more);
        this.#show(null);
    }

    filter(query) {
        this.#query = query;
        this.#rows = [];
        return this.#show(null);
    }

    async #show(cursor) {
        const query = this.#query;
        this.node.setAttribute("aria-busy", "true");
        fill(this.#more);
        try {
            const page = await this.#load({ ...query, limit: LIMIT, cursor });
            if (query !== this.#query) {
                return;
            }
            if (!cursor) {
                this.#rows = [];
            }
            const first = this.#rows.length;
            this.#rows.push(...page.data.map(this.#options.row));
            fill(this.#list, table({ ...this.#options, rows: this.#rows }));
            fill(this.#more, page.cursor && element("button", { type: "button", click: () => this.#show(page.cursor) }, t("console.more")));
            // Focus went with the button.
            if (cursor && document.activeElement === document.body) {
                focusRow(this.#list.querySelectorAll("tbody tr")[first]);
            }
        } catch (failure) {
            if (failure.name !== "AbortError" && query === this.#query) {
                fill(this.#more, explain(failure, () => this.#show(cursor)));
            }
        } finally {
            if (query === this.#query) {
                this.node.removeAttribute("aria-busy");
            }
        }
    }
}

/** Focuses the first new row: its link or button, else its name. */
function focusRow(row) {
    const name = row?.querySelector("th");
    name?.setAttribute("tabindex", "-1");
    (row?.querySelector("a, button") ?? name)?.focus();
}
