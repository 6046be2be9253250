import { element, isolate } from "../../shared/dom.js";
import { t } from "../../shared/language.js";
import { timeElement } from "../format.js";
import { PagedTable } from "../paged-table.js";
import { View } from "../view.js";

class Audit extends View {
    open() {
        const pages = new PagedTable(this, {
            path: "/admin/v1/audit", caption: t("nav.audit"), empty: t("audit.none"),
            columns: ["audit.at", "audit.who", "audit.action", "audit.object", "audit.details"].map((key) => t(key)),
            row: (deed) => ({ key: String(deed.id), cells: [
                timeElement(deed.at), actor(deed), element("code", { class: "whole" }, isolate(deed.action)),
                [element("span", {}, deed.objectKind), " ", element("code", { class: "address" }, isolate(deed.objectId)), deed.tenant && element("div", { class: "faint" }, isolate(deed.tenant))],
                details(deed.details),
            ] }),
        });
        const all = element("input", { type: "checkbox", id: "all-tenants", change: () => pages.filter(all.checked ? { allTenants: true } : {}) });
        this.render(
            t("nav.audit"), { lead: t("audit.lead") },
            element("div", { class: "check filter" }, all, element("label", { for: "all-tenants" }, t("audit.all-tenants"))), pages.node,
        );
    }
}

function actor({ clientId, userId }) {
    if (!clientId && !userId) {
        return t("audit.command-line");
    }
    return [userId && element("div", {}, isolate(userId)), clientId && element("code", { class: "faint address" }, isolate(clientId))];
}

function details(values) {
    const pairs = Object.entries(values ?? {});
    if (pairs.length === 0) {
        return "–";
    }
    return element("ul", { class: "names" }, ...pairs.map(([name, value]) => element(
        "li", {}, element("span", { class: "faint" }, `${name}: `), isolate(typeof value === "string" ? value : JSON.stringify(value)),
    )));
}

customElements.define("console-audit", Audit);
