import { element } from "../../shared/dom.js";
import { t } from "../../shared/language.js";
import { poll } from "../polling.js";
import { morph } from "../morph.js";
import { searchesTable } from "../searches-table.js";
import { View } from "../view.js";

/** The server's limit. */
const MOST = 200;

class Searches extends View {
    open() {
        const failed = element("div");
        const list = element("div", { "aria-busy": "true" });
        this.render(t("nav.searches"), { lead: t("searches.lead") }, failed, list);
        poll({
            signal: this.signal,
            load: (options) => this.call("GET", "/admin/v1/searches/slow", { ...options, query: { limit: MOST } }),
            show: ({ data }) => {
                list.removeAttribute("aria-busy");
                morph(list, searchesTable(data));
            },
            failed,
        });
    }
}

customElements.define("console-searches", Searches);
