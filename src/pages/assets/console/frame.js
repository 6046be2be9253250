// The frame around each view: navigation, tenant, person.

import { element, fill, isolate } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { signOut } from "../shared/session.js";
import { VIEWS } from "./address.js";
import { clearDrafts } from "./drafts.js";
import { explain } from "./failure.js";
import { icon } from "./icons.js";

/** Beyond this number the code is typed. */
const MOST_CHOICES = 100;
const ALL = "*";

export class Frame {
    #console;
    #links = new Map();
    #nav;
    #menu;
    #tenants = element("select", { id: "acting-on" });
    #switch = element("button", { type: "submit", class: "small", hidden: true }, t("nav.go"));
    #tenantForm;
    #body = element("main", { id: "main" });
    #notice = element("div", { class: "said", role: "status" });

    /** @param {import("./main.js").Console} owner */
    constructor(owner) {
        this.#console = owner;
        for (const view of VIEWS) {
            this.#links.set(view, element("a", { href: "" }, icon(view), element("span", {}, t(`nav.${view}`))));
        }
        this.#nav = element("nav", { id: "navigation", "aria-label": t("nav.label") }, ...this.#links.values());
        this.#menu = element("button", {
            type: "button", class: "menu", "aria-controls": "navigation", "aria-expanded": "false", click: () => this.#toggle(),
        }, icon("menu"), element("span", {}, t("nav.menu")));
        // Arrow keys pass over other choices, so a button confirms one.
        this.#tenantForm = element("form", {
            class: "acting", input: () => this.#showSwitch(), change: () => this.#showSwitch(), submit: (event) => {
                event.preventDefault();
                this.#switchTenant();
            },
        }, element("label", { for: "acting-on" }, t("nav.tenant")), this.#tenants, this.#switch);
        const { person } = owner.session;
        this.nodes = [
            element("a", { class: "skip", href: "#main", click: (event) => {
                event.preventDefault();
                this.focus();
            } }, t("console.skip")),
            element(
                "header", { class: "top" },
                this.#menu,
                element("a", { class: "brand", href: owner.href({ view: "overview" }) }, "trawl", element("span", {}, t("console.title"))),
                this.#tenantForm,
                element(
                    "div", { class: "person" },
                    element("span", { class: "name" }, icon("people"), isolate(person.name || person.loginId)),
                    element("a", { href: "./" }, t("gate.search")),
                    element("a", { href: "account" }, t("common.account")),
                    element("button", { type: "button", class: "link", click: () => this.#signOut() }, t("common.sign-out")),
                ),
            ),
            element("div", { class: "below" }, this.#nav, element("div", { class: "body" }, this.#notice, this.#body)),
        ];
        this.#loadTenants();
    }

    /** Marks the current section and replaces the previous notice. */
    show(section, said) {
        for (const [view, link] of this.#links) {
            link.setAttribute("href", this.#console.href({ view }));
            if (view === section) {
                link.setAttribute("aria-current", "page");
            } else {
                link.removeAttribute("aria-current");
            }
        }
        this.#toggle(false);
        this.showNotice(said);
        this.#select();
    }

    showNotice(text) {
        fill(this.#notice, text && element("div", { class: "notice good" }, icon("ok"), element("p", {}, text)));
    }

    showError(failure) {
        fill(this.#notice, explain(failure));
    }

    put(view) {
        fill(this.#body, view);
    }

    focus() {
        this.#body.querySelector("h1")?.focus({ preventScroll: true });
    }

    async #loadTenants() {
        try {
            const answer = await this.#console.call("GET", "/admin/v1/tenants", { tenant: null, query: { limit: MOST_CHOICES } });
            if (answer.cursor) {
                this.#askForCode(answer.data);
                return;
            }
            fill(
                this.#tenants,
                ...answer.data.map(({ eCode, name, frozen }) => element(
                    "option", { value: eCode }, name === eCode ? eCode : `${eCode} · ${name}`, frozen && ` (${t("tenant.frozen")})`,
                )),
                element("option", { value: ALL }, t("nav.all-tenants")),
            );
        } catch {
            fill(this.#tenants);
        }
        this.#select();
    }

    tenantsChanged() {
        return this.#loadTenants();
    }

    /** Replaces the list by an input that suggests some tenants. */
    #askForCode(some) {
        const known = element("datalist", { id: "some-tenants" }, ...some.map(({ eCode, name }) => element("option", { value: eCode }, name)));
        const input = element("input", {
            id: "acting-on", list: known.id, required: true, pattern: "[\\x21-\\x7e]+", autocomplete: "off", autocapitalize: "none", spellcheck: "false",
        });
        this.#tenantForm.querySelector("datalist")?.remove();
        this.#tenants.replaceWith(input);
        this.#tenantForm.append(known);
        this.#tenants = input;
        this.#select();
    }

    #showSwitch() {
        this.#switch.hidden = [this.#console.tenant, ""].includes(this.#tenants.value.trim());
    }

    #select() {
        const code = this.#console.tenant;
        if (this.#tenants.options && ![...this.#tenants.options].some((option) => option.value === code)) {
            this.#tenants.prepend(element("option", { value: code }, code));
        }
        this.#tenants.value = code;
        this.#showSwitch();
    }

    async #switchTenant() {
        const code = this.#tenants.value.trim();
        if (code === this.#console.tenant) {
            return;
        }
        // An id belongs to the previous tenant.
        const own = code === this.#console.session.tenant.code;
        const { view } = this.#console.place;
        const place = code === ALL ? { view: "tenants" } : { view: view === "add-source" ? "sources" : view, tenant: own ? null : code };
        if (!(await this.#console.visit(this.#console.href(place)))) {
            this.#select();
        }
    }

    #toggle(open = this.#menu.getAttribute("aria-expanded") === "false") {
        this.#menu.setAttribute("aria-expanded", String(open));
        this.#nav.classList.toggle("open", open);
    }

    async #signOut() {
        if (!(await this.#console.confirmLeave())) {
            return;
        }
        try {
            await signOut();
        } catch (failure) {
            // The person must not believe that the session has ended.
            this.showError(failure);
            return;
        }
        clearDrafts();
        this.#console.leaveFor("console");
    }
}
