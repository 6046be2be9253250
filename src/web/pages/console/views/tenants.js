// Every tenant, page by page.

import { element, foreign } from "../../shared/dom.js";
import { t } from "../../shared/language.js";
import { when } from "../amounts.js";
import { Pages } from "../pages.js";
import { sign } from "../signs.js";
import { badge } from "../states.js";
import { View } from "../view.js";

class Tenants extends View {
    open() {
        const add = element("a", { class: "button main", href: this.console.href({ view: "tenants", id: "+" }) }, sign("add"), t("tenants.add"));
        const pages = new Pages(this, {
            path: "/admin/v1/tenants", caption: t("nav.tenants"), empty: t("console.none"),
            columns: [...["tenants.code", "tenants.name", "sources.state", "tenants.created"].map((key) => t(key)), ""],
            row: (tenant) => ({ key: tenant.eCode, cells: [
                element("a", { href: this.console.href({ view: "tenants", id: tenant.eCode }) }, foreign(tenant.eCode)),
                foreign(tenant.name), tenantBadge(tenant), when(tenant.createdAt),
                this.console.tenant === tenant.eCode
                    ? element("span", { class: "faint" }, t("tenants.acted-on"))
                    : element("a", { href: this.console.href({ view: "overview", tenant: tenant.eCode }) }, t("tenants.act-on")),
            ] }),
        });
        this.lay(t("nav.tenants"), { actions: [add], lead: t("tenants.lead") }, pages.node);
    }
}

/** Whether a tenant is in use or frozen. */
export function tenantBadge({ frozen }) {
    return frozen ? badge("warning", "frozen", t("tenant.frozen")) : badge("good", "ok", t("tenant.in-use"));
}

customElements.define("console-tenants", Tenants);
