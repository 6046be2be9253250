import { element, isolate } from "../../shared/dom.js";
import { t } from "../../shared/language.js";
import { timeElement } from "../format.js";
import { PagedTable } from "../paged-table.js";
import { icon } from "../icons.js";
import { badge } from "../source-state.js";
import { View } from "../view.js";

class Tenants extends View {
    open() {
        const add = element("a", { class: "button main", href: this.console.href({ view: "tenants", id: "+" }) }, icon("add"), t("tenants.add"));
        const pages = new PagedTable(this, {
            path: "/admin/v1/tenants", caption: t("nav.tenants"), empty: t("console.none"),
            columns: [...["tenants.code", "tenants.name", "sources.state", "tenants.created"].map((key) => t(key)), ""],
            row: (tenant) => ({ key: tenant.eCode, cells: [
                element("a", { href: this.console.href({ view: "tenants", id: tenant.eCode }) }, isolate(tenant.eCode)),
                isolate(tenant.name), tenantBadge(tenant), timeElement(tenant.createdAt),
                this.console.tenant === tenant.eCode
                    ? element("span", { class: "faint" }, t("tenants.acted-on"))
                    : element("a", { href: this.console.href({ view: "overview", tenant: tenant.eCode }) }, t("tenants.act-on")),
            ] }),
        });
        this.render(t("nav.tenants"), { actions: [add], lead: t("tenants.lead") }, pages.node);
    }
}

export function tenantBadge({ frozen }) {
    return frozen ? badge("warning", "frozen", t("tenant.frozen")) : badge("good", "ok", t("tenant.in-use"));
}

customElements.define("console-tenants", Tenants);
