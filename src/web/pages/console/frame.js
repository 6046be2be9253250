// What stands around each view: where one can go, which tenant one acts on, and who one is.

import { element, fill, foreign } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { signOut } from "../shared/session.js";
import { VIEWS } from "./address.js";
import { forgetDrafts } from "./drafts.js";
import { explain } from "./failure.js";
import { sign } from "./signs.js";

/** Tenants that can be chosen at the top; of more, all stand in a view of their own. */
const MOST_CHOICES = 100;
const ALL = "*";

/** The frame of the console. */
export class Frame {
    #console;
    #links = new Map();
    #nav;
    #menu;
    #tenants = element("select", { id: "acting-on" });
    #switch = element("button", { type: "submit", class: "small", hidden: true }, t("nav.go"));
    #acting;
    #body = element("main", { id: "main" });
    #said = element("div", { class: "said", role: "status" });

    /** @param {import("./main.js").Console} owner */
    constructor(owner) {
        this.#console = owner;
        for (const view of VIEWS) {
            this.#links.set(view, element("a", { href: "" }, sign(view), element("span", {}, t(`nav.${view}`))));
        }
        this.#nav = element("nav", { id: "navigation", "aria-label": t("nav.label") }, ...this.#links.values());
        this.#menu = element("button", {
            type: "button", class: "menu", "aria-controls": "navigation", "aria-expanded": "false", click: () => this.#toggle(),
        }, sign("menu"), element("span", {}, t("nav.menu")));
        // Chosen by the keys it passes others on the way: one goes on by the button or Enter.
        this.#acting = element("form", {
            class: "acting", input: () => this.#offer(), change: () => this.#offer(), submit: (event) => {
                event.preventDefault();
                this.#choose();
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
                this.#acting,
                element(
                    "div", { class: "person" },
                    element("span", { class: "name" }, sign("people"), foreign(person.name || person.loginId)),
                    element("a", { href: "./" }, t("gate.search")),
                    element("button", { type: "button", class: "link", click: () => this.#leave() }, t("common.sign-out")),
                ),
            ),
            element("div", { class: "below" }, this.#nav, element("div", { class: "body" }, this.#said, this.#body)),
        ];
        this.#loadTenants();
    }

    /** Marks the section that one is in; what was said before is gone. */
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
        this.say(said);
        this.#select();
    }

    /** Says what was done. */
    say(text) {
        fill(this.#said, text && element("div", { class: "notice good" }, sign("ok"), element("p", {}, text)));
    }

    /** Says what failed. */
    complain(failure) {
        fill(this.#said, explain(failure));
    }

    /** Puts a view in the place of the one before. */
    put(view) {
        fill(this.#body, view);
    }

    /** Has one read on at the heading of the view. */
    focus() {
        this.#body.querySelector("h1")?.focus({ preventScroll: true });
    }

    /** Reads the tenants that can be chosen anew. */
    async #loadTenants() {
        try {
            const answer = await this.#console.call("GET", "/admin/v1/tenants", { tenant: null, query: { limit: MOST_CHOICES } });
            if (answer.cursor) {
                this.#takeCodes(answer.data);
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

    /** The tenants changed: others can be chosen. */
    tenantsChanged() {
        return this.#loadTenants();
    }

    /** Of more than can be chosen from, the code is typed; the first of them are offered. */
    #takeCodes(some) {
        const known = element("datalist", { id: "some-tenants" }, ...some.map(({ eCode, name }) => element("option", { value: eCode }, name)));
        const input = element("input", {
            id: "acting-on", list: known.id, required: true, pattern: "[\\x21-\\x7e]+", autocomplete: "off", autocapitalize: "none", spellcheck: "false",
        });
        this.#acting.querySelector("datalist")?.remove();
        this.#tenants.replaceWith(input);
        this.#acting.append(known);
        this.#tenants = input;
        this.#select();
    }

    #offer() {
        this.#switch.hidden = [this.#console.tenant, ""].includes(this.#tenants.value.trim());
    }

    #select() {
        const code = this.#console.tenant;
        if (this.#tenants.options && ![...this.#tenants.options].some((option) => option.value === code)) {
            this.#tenants.prepend(element("option", { value: code }, code));
        }
        this.#tenants.value = code;
        this.#offer();
    }

    async #choose() {
        const code = this.#tenants.value.trim();
        if (code === this.#console.tenant) {
            return;
        }
        // What has an id is of the tenant before.
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

    async #leave() {
        if (!(await this.#console.mayLeave())) {
            return;
        }
        try {
            await signOut();
        } catch (failure) {
            // Who thinks that he is out leaves his session to the next one here.
            this.complain(failure);
            return;
        }
        forgetDrafts();
        this.#console.leaveFor("console");
    }
}
