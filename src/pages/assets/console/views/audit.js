import { file } from "../../shared/api.js";
import { element, isolate } from "../../shared/dom.js";
import { t } from "../../shared/language.js";
import { actorName } from "../actor.js";
import { endOfDay, startOfDay } from "../days.js";
import { timeElement } from "../format.js";
import { PagedTable } from "../paged-table.js";
import { View } from "../view.js";

const PATH = "/admin/v1/audit";

/** Filters of the address, in the order of the form; days are `YYYY-MM-DD`. */
const FILTERS = ["userId", "clientId", "action", "objectKind", "objectId", "fromDay", "toDay"];

/** The common values of two filters; others can be typed. */
const ACTIONS = ["bind", "change", "create", "delete", "disable", "enable", "end", "freeze", "import", "register", "reset", "revoke", "rotate", "sign-out", "sign-out-elsewhere", "unbind", "unfreeze"];
const KINDS = [
    "application", "content", "department", "device", "module", "second-factor", "secret", "signing-key", "source", "tenant", "token", "user", "vocabulary",
];

class Audit extends View {
    #inputs = new Map();
    #all = element("input", { type: "checkbox", id: "all-tenants" });
    #pages;

    /** The filters are a part of the address. */
    goTo(place) {
        this.#show(place);
        this.#pages.filter(this.#query());
        return true;
    }

    open() {
        const form = this.#form();
        this.#show(this.place);
        this.#pages = new PagedTable(this, {
            path: PATH, caption: t("nav.audit"), empty: t("audit.none"), query: this.#query(),
            columns: ["audit.at", "audit.who", "audit.action", "audit.object", "audit.details"].map((key) => t(key)),
            row: (deed) => ({ key: String(deed.id), cells: [
                timeElement(deed.at), this.#actor(deed), element("code", { class: "whole" }, isolate(deed.action)), this.#object(deed), details(deed.details),
            ] }),
        });
        const actions = ["csv", "ndjson"].map((format) => {
            const button = element("button", { type: "button", click: () => this.#export(format, button) }, t(`audit.export-${format}`));
            return button;
        });
        this.render(t("nav.audit"), { lead: t("audit.lead"), actions }, form, this.#pages.node);
    }

    #form() {
        const field = (name, attributes, known = []) => {
            const id = `audit-${name}`;
            const list = known.length > 0 && element("datalist", { id: `${id}-known` }, ...known.map((value) => element("option", { value })));
            const input = element("input", { id, name, type: "text", autocomplete: "off", spellcheck: "false", list: list && list.id, ...attributes });
            this.#inputs.set(name, input);
            return element("div", { class: "field" }, element("label", { for: id }, t(`audit.by-${name}`)), input, list);
        };
        return element(
            "form", { class: "filters", role: "search", "aria-label": t("audit.filters"), change: () => this.#apply(), submit: (event) => {
                event.preventDefault();
                this.#apply();
            } },
            field("userId", { dir: "auto" }), field("clientId", {}), field("action", {}, ACTIONS), field("objectKind", {}, KINDS),
            field("objectId", { dir: "auto" }), field("fromDay", { type: "date" }), field("toDay", { type: "date" }),
            element("div", { class: "check" }, this.#all, element("label", { for: "all-tenants" }, t("audit.all-tenants"))),
            element("div", { class: "actions" }, element("button", { type: "submit", class: "main" }, t("audit.filter")),
                element("a", { class: "button", href: this.console.href({ view: "audit" }) }, t("audit.clear"))),
        );
    }

    #show(place) {
        for (const name of FILTERS) {
            this.#inputs.get(name).value = place[name] ?? "";
        }
        this.#all.checked = place.all === "1";
    }

    #values() {
        return Object.fromEntries(FILTERS.map((name) => [name, this.#inputs.get(name).value.trim()]));
    }

    #query() {
        const { fromDay, toDay, ...equal } = this.#values();
        return { ...equal, from: startOfDay(fromDay), to: endOfDay(toDay), allTenants: this.#all.checked || null };
    }

    /** Filters anew if the form has changed, and records its filters in the address. */
    #apply() {
        const before = location.search;
        this.console.recordPlace({ view: "audit", ...this.#values(), all: this.#all.checked ? "1" : null });
        this.place = this.console.place;
        if (location.search !== before) {
            this.#pages.filter(this.#query());
        }
    }

    async #export(format, button) {
        if (button.getAttribute("aria-disabled")) {
            return;
        }
        button.setAttribute("aria-disabled", "true");
        try {
            const made = await this.console.withSignIn(
                () => file(PATH, { query: { ...this.#query(), format }, tenant: this.tenant, signal: this.signal }), this.signal,
            );
            const address = URL.createObjectURL(made);
            element("a", { href: address, download: `audit.${format}` }).click();
            URL.revokeObjectURL(address);
        } catch (failure) {
            this.console.showError(failure);
        } finally {
            button.removeAttribute("aria-disabled");
        }
    }

    /** A link that filters by one value beside the present filters. */
    #by(values, ...children) {
        const place = { view: "audit", ...this.#values(), ...values, all: this.#all.checked ? "1" : null };
        return element("a", { href: this.console.href(place), title: t("audit.filter-by") }, ...children);
    }

    #actor(deed) {
        const { clientId, userId, application, person } = deed;
        if (!clientId && !userId) {
            return actorName(deed);
        }
        return [
            userId && element("div", {}, this.#by({ userId }, isolate(actorName(deed))), person && element("span", { class: "faint" }, " ", isolate(userId))),
            clientId && element("div", { class: "faint" }, application && [isolate(application), " "], this.#by({ clientId }, element("code", { class: "address" }, isolate(clientId)))),
        ];
    }

    #object({ objectKind, objectId, tenant }) {
        return [
            element("span", {}, objectKind), " ", this.#by({ objectKind, objectId }, element("code", { class: "address" }, isolate(objectId))),
            tenant && element("div", { class: "faint" }, isolate(tenant)),
        ];
    }
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
