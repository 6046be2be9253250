// Who did what, the newest first.

import { element, foreign } from "../../shared/dom.js";
import { t } from "../../shared/language.js";
import { when } from "../amounts.js";
import { Pages } from "../pages.js";
import { View } from "../view.js";

class Audit extends View {
    open() {
        const pages = new Pages(this, {
            path: "/admin/v1/audit", caption: t("nav.audit"), empty: t("audit.none"),
            columns: ["audit.at", "audit.who", "audit.action", "audit.object", "audit.details"].map((key) => t(key)),
            row: (deed) => ({ key: String(deed.id), cells: [
                when(deed.at), actor(deed), element("code", { class: "whole" }, foreign(deed.action)),
                [element("span", {}, deed.objectKind), " ", element("code", { class: "address" }, foreign(deed.objectId)), deed.tenant && element("div", { class: "faint" }, foreign(deed.tenant))],
                details(deed.details),
            ] }),
        });
        const all = element("input", { type: "checkbox", id: "all-tenants", change: () => pages.filter(all.checked ? { allTenants: true } : {}) });
        this.lay(
            t("nav.audit"), { lead: t("audit.lead") },
            element("div", { class: "check filter" }, all, element("label", { for: "all-tenants" }, t("audit.all-tenants"))), pages.node,
        );
    }
}

function actor({ clientId, userId }) {
    if (!clientId && !userId) {
        return t("audit.command-line");
    }
    return [userId && element("div", {}, foreign(userId)), clientId && element("code", { class: "faint address" }, foreign(clientId))];
}

function details(values) {
    const pairs = Object.entries(values ?? {});
    if (pairs.length === 0) {
        return "–";
    }
    return element("ul", { class: "names" }, ...pairs.map(([name, value]) => element(
        "li", {}, element("span", { class: "faint" }, `${name}: `), foreign(typeof value === "string" ? value : JSON.stringify(value)),
    )));
}

customElements.define("console-audit", Audit);
