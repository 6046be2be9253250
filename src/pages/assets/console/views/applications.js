import { element, fill, isolate } from "../../shared/dom.js";
import { t } from "../../shared/language.js";
import { timeElement } from "../format.js";
import { icon } from "../icons.js";
import { badge } from "../source-state.js";
import { table } from "../table.js";
import { View } from "../view.js";

const PAGE = 100;

class Applications extends View {
    open() {
        this.heading = t("nav.applications");
        this.loading(async () => (await this.call("GET", "/admin/v1/applications")).data, (applications) => {
            const add = element("a", { class: "button main", href: this.console.href({ view: "applications", id: "+" }) }, icon("add"), t("applications.add"));
            const list = element("div");
            this.render(t("nav.applications"), { actions: [add], lead: t("applications.lead") }, list);
            this.#show(list, applications, PAGE);
        });
    }

    #show(list, applications, most) {
        const rows = applications.slice(0, most).map((application) => ({ key: application.clientId, cells: [
            [
                element("a", { href: this.console.href({ view: "applications", id: application.clientId }) }, isolate(application.name || t("applications.unnamed"))),
                element("div", { class: "faint" }, element("code", {}, application.clientId)),
            ],
            [t(`kind.${application.kind}`), application.public && element("div", { class: "faint" }, t("applications.public"))],
            application.scopes.length === 0 ? "–" : element("span", { class: "scopes" }, ...application.scopes.map((scope) => element("code", {}, scope))),
            application.disabled ? badge("faint", "off", t("state.disabled")) : badge("good", "ok", t("applications.in-use")),
            timeElement(application.lastUsedAt),
        ] }));
        const columns = ["applications.name", "applications.kind", "applications.scopes", "sources.state", "applications.last-used"].map((key) => t(key));
        fill(
            list, table({ caption: t("nav.applications"), columns, rows, empty: t("applications.none") }),
            applications.length > most && element("p", { class: "actions" }, element("button", {
                type: "button", click: () => {
                    this.#show(list, applications, most + PAGE);
                    list.querySelectorAll("tbody tr")[most]?.querySelector("a")?.focus();
                },
            }, t("console.more"))),
        );
    }
}

customElements.define("console-applications", Applications);
