import { element, isolate } from "../../shared/dom.js";
import { number, t } from "../../shared/language.js";
import { timeElement } from "../format.js";
import { PagedTable } from "../paged-table.js";
import { badge } from "../source-state.js";
import { View } from "../view.js";

const ACTIVE = 1;

class People extends View {
    #keyword = element("input", { id: "people-keyword", name: "keyword", type: "search", autocomplete: "off", spellcheck: "false", dir: "auto" });
    #signedIn = element("input", { id: "people-signed-in", name: "signedIn", type: "checkbox" });
    #pages;

    /** The filters are a part of the address. */
    goTo(place) {
        this.#show(place);
        this.#pages.filter(this.#query());
        return true;
    }

    open() {
        this.#show(this.place);
        this.#pages = new PagedTable(this, {
            path: "/admin/v1/people", caption: t("nav.people"), empty: t("people.none"), query: this.#query(),
            columns: ["people.name", "people.login", "people.department", "sources.state", "people.sessions", "people.last-seen"].map((key) => t(key)),
            row: (person) => ({ key: person.userId, cells: [
                [
                    element("a", { href: this.console.href({ view: "people", id: person.userId }) }, isolate(person.name || person.loginId || person.userId)),
                    element("div", { class: "faint address" }, isolate(person.userId)),
                ],
                isolate(person.loginId), departmentOf(person), personState(person), number(person.sessions), timeElement(person.lastSeenAt),
            ] }),
        });
        this.render(t("nav.people"), { lead: t("people.lead") }, this.#form(), this.#pages.node);
    }

    #form() {
        return element(
            "form", { class: "filters", role: "search", "aria-label": t("people.filters"), change: () => this.#apply(), submit: (event) => {
                event.preventDefault();
                this.#apply();
            } },
            element("div", { class: "field" }, element("label", { for: "people-keyword" }, t("people.keyword")), this.#keyword),
            element("div", { class: "check" }, this.#signedIn, element("label", { for: "people-signed-in" }, t("people.signed-in"))),
            element("div", { class: "actions" }, element("button", { type: "submit", class: "main" }, t("audit.filter")),
                element("a", { class: "button", href: this.console.href({ view: "people" }) }, t("audit.clear"))),
        );
    }

    #show({ keyword, signedIn }) {
        this.#keyword.value = keyword ?? "";
        this.#signedIn.checked = signedIn === "true";
    }

    #query() {
        return { keyword: this.#keyword.value.trim(), signedIn: this.#signedIn.checked || null };
    }

    /** Filters anew if the form has changed, and records its filters in the address. */
    #apply() {
        const before = location.search;
        this.console.recordPlace({ view: "people", ...this.#query() });
        this.place = this.console.place;
        if (location.search !== before) {
            this.#pages.filter(this.#query());
        }
    }
}

/** The name of a person's department, else its id. */
export function departmentOf({ orgId, orgName }) {
    return orgName || orgId ? isolate(orgName || orgId) : "–";
}

export function personState({ status, isHidden, isDeleted }) {
    return [stateOf(status, isDeleted), isHidden && element("div", { class: "faint" }, t("person.hidden"))];
}

function stateOf(status, isDeleted) {
    if (isDeleted) {
        return badge("faint", "remove", t("person.deleted"));
    }
    return status === ACTIVE ? badge("good", "ok", t("person.active")) : badge("faint", "off", t("state.disabled"));
}

/** Whether a person may sign in. */
export function isActive({ status, isDeleted }) {
    return status === ACTIVE && !isDeleted;
}

customElements.define("console-people", People);
