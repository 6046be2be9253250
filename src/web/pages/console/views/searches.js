// Recent slow searches.

import { element } from "../../shared/dom.js";
import { t } from "../../shared/language.js";
import { keepLive } from "../live.js";
import { bringUpToDate } from "../morph.js";
import { searchesTable } from "../searches.js";
import { View } from "../view.js";

/** As many as are kept. */
const MOST = 200;

class Searches extends View {
    open() {
        const failed = element("div");
        const list = element("div", { "aria-busy": "true" });
        this.lay(t("nav.searches"), { lead: t("searches.lead") }, failed, list);
        keepLive({
            signal: this.signal,
            load: (options) => this.call("GET", "/admin/v1/searches/slow", { ...options, query: { limit: MOST } }),
            show: ({ data }) => {
                list.removeAttribute("aria-busy");
                bringUpToDate(list, searchesTable(data));
            },
            failed,
        });
    }
}

customElements.define("console-searches", Searches);
