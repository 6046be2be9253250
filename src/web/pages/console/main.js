// The console: who may see it, where one is in it, and the view of that place.

import { call, Failure } from "../shared/api.js";
import { element, fill, foreign } from "../shared/dom.js";
import { speak, t } from "../shared/language.js";
import { tellTabs, whoAmI } from "../shared/session.js";
import { watchSession } from "../shared/watch.js";
import common from "../texts/console.js";
import { readPlace, sectionOf, writePlace } from "./address.js";
import { ask } from "./dialog.js";
import { forgetDrafts } from "./drafts.js";
import { explain } from "./failure.js";
import { Frame } from "./frame.js";
import { showArrived, showSignIn, signInAgain } from "./signing-in.js";

speak(common);

/** Which element shows a view, and the module that defines it. */
const ELEMENTS = {
    "overview": ["console-overview", () => import("./views/overview.js")],
    "sources": ["console-sources", () => import("./views/sources.js")],
    "source": ["console-source", () => import("./views/source.js")],
    "add-source": ["console-add-source", () => import("./views/add-source.js")],
    "modules": ["console-modules", () => import("./views/modules.js")],
    "module": ["console-module", () => import("./views/module.js")],
    "searches": ["console-searches", () => import("./views/searches.js")],
    "applications": ["console-applications", () => import("./views/applications.js")],
    "application": ["console-application", () => import("./views/application.js")],
    "tenants": ["console-tenants", () => import("./views/tenants.js")],
    "tenant": ["console-tenant", () => import("./views/tenant.js")],
    "keys": ["console-keys", () => import("./views/keys.js")],
    "audit": ["console-audit", () => import("./views/audit.js")],
};

/** Views of one thing stand at the address of the list with an id. */
const OF_ONE = { sources: "source", modules: "module", applications: "application", tenants: "tenant" };

/** The console. Views know it as the way to the server and to each other. */
export class Console extends HTMLElement {
    /** Who is signed in. */
    session = null;
    place = readPlace(location.search);
    #frame = null;
    #view = null;
    #opened = 0;
    #isArriving = false;
    /** How many steps into the history of this tab one is. */
    #step = history.state?.step ?? 0;
    /** Called once the browser is back where it was. */
    #returned = null;
    #question = new AbortController();
    #isGone = false;

    async connectedCallback() {
        history.replaceState({ step: this.#step }, "");
        addEventListener("popstate", () => this.#travel());
        addEventListener("click", (event) => this.#follow(event));
        // A page that the browser had put aside shows what was there when it was left.
        addEventListener("pageshow", ({ persisted }) => persisted && this.#anew());
        addEventListener("beforeunload", (event) => {
            if (!this.#isGone && (this.#isDirty() || document.querySelector("dialog[data-lasting]"))) {
                event.preventDefault();
            }
        });
        await this.#enter();
    }

    async #enter() {
        fill(this, element("p", { class: "waiting", role: "status" }, t("console.loading")));
        try {
            this.session = await whoAmI();
        } catch (failure) {
            fill(this, element("main", { class: "gate" }, explain(failure, () => this.#enter())));
            return;
        }
        if (this.place.view === "signed-in" && this.session.signedIn) {
            tellTabs("signed in");
            fill(this, showArrived());
        } else if (!this.session.signedIn) {
            fill(this, showSignIn(this.session, `/console${writePlace(this.place)}`));
            document.title = t("console.title");
        } else if (!this.session.operator) {
            fill(this, this.#turnAway());
            document.title = t("console.title");
        } else {
            this.#frame = new Frame(this);
            fill(this, ...this.#frame.nodes);
            this.#watch();
            await this.#open(this.place, false);
        }
    }

    /** Begins anew, with nothing of what was there to be seen meanwhile. */
    #anew() {
        this.#isGone = true;
        fill(this);
        location.reload();
    }

    /** Whoever comes next, in another tab, sees nothing of who was here, and does nothing in a view that was made for him. */
    #watch() {
        const anew = () => {
            if (!this.#isGone) {
                forgetDrafts();
                this.#anew();
            }
        };
        // A session that ended by itself is told of when something needs it: what is typed stays until then.
        watchSession(this.session, { left: anew, other: anew, nobody: () => {}, same: () => {} });
    }

    #turnAway() {
        const { person, tenant } = this.session;
        return element(
            "main", { class: "gate" },
            element("h1", {}, t("gate.not-operator")),
            element("p", {}, t("gate.signed-in-as"), " ", element("strong", {}, foreign(person.name || person.loginId)), "."),
            element("p", {}, t("gate.how")),
            element("pre", {}, element("code", {}, `[console]\noperators = ["${person.loginId}@${tenant.code}"]`)),
            element("p", { class: "actions" }, element("a", { class: "button", href: "./" }, t("gate.search"))),
        );
    }

    /** The tenant that views act on. */
    get tenant() {
        return this.place.tenant ?? this.session.tenant.code;
    }

    /** The address of a place, on the tenant that is being acted on. */
    href(place) {
        const { tenant } = this.place;
        return writePlace({ ...place, tenant: "tenant" in place ? place.tenant : tenant });
    }

    /** Goes to a place; `said` is said there. */
    go(place, { said = null, replace = false } = {}) {
        this.#keep(this.href(place), replace);
        return this.#open(readPlace(location.search), true, said);
    }

    #keep(address, replace) {
        this.#step += replace ? 0 : 1;
        history[replace ? "replaceState" : "pushState"]({ step: this.#step }, "", address);
    }

    #isDirty() {
        return Boolean(this.#view) && [...this.#view.querySelectorAll("form.form")].some((form) => form.isDirty());
    }

    /** Asks whether what was typed may be lost, where something was. */
    async mayLeave() {
        if (!this.#isDirty()) {
            return true;
        }
        this.#question.abort();
        this.#question = new AbortController();
        return ask({
            title: t("leave.title"), text: t("leave.text"), action: t("leave.action"), grave: true, signal: this.#question.signal,
        });
    }

    /** Leaves the console for good: who comes back finds nothing of it. */
    leaveFor(address) {
        this.#isGone = true;
        fill(this);
        location.assign(address);
    }

    /** The browser went back or forth. Where something would be lost, it stays until one has said so. */
    async #travel() {
        if (this.#returned) {
            this.#returned();
            return;
        }
        const step = history.state?.step ?? 0;
        const by = step - this.#step;
        if (by !== 0 && this.#isDirty()) {
            await this.#move(-by);
            if (!(await this.mayLeave())) {
                return;
            }
            await this.#move(by);
        }
        this.#step = step;
        this.#open(readPlace(location.search), false);
    }

    #move(by) {
        return new Promise((resolve) => {
            this.#returned = () => {
                this.#returned = null;
                resolve();
            };
            history.go(by);
        });
    }

    /** Notes where one is, when the view shows it already. */
    note(place) {
        this.#keep(this.href(place), true);
        this.place = readPlace(location.search);
    }

    /** Says that something was done. */
    say(text) {
        this.#frame.say(text);
    }

    /** Says what failed that was to be done. */
    complain(failure) {
        if (failure.name !== "AbortError") {
            this.#frame.complain(failure);
        }
    }

    /** A view shows its heading: it names the page, and who just came there reads on at it. */
    arrive(heading) {
        document.title = [heading.textContent, t("console.title")].filter(Boolean).join(" · ");
        if (this.#isArriving) {
            this.#isArriving = false;
            heading.focus({ preventScroll: true });
        }
    }

    /** Tenants were added or changed. */
    tenantsChanged() {
        return this.#frame.tenantsChanged();
    }

    /**
     * Calls an operation on the tenant that is being acted on. Where the session has ended meanwhile, one signs in again and it goes
     * on: what was typed stays.
     */
    async call(method, path, options = {}) {
        const tenant = options.tenant === undefined ? this.tenant : options.tenant;
        // What no header can hold is no code of an enterprise.
        if (tenant && !/^[\x21-\x7e]+$/.test(tenant)) {
            throw Object.assign(new Failure(404, t("console.no-tenant")), { isOwn: true });
        }
        return this.again(() => call(method, path, { ...options, tenant }), options.signal);
    }

    /** Does this, and once more after one has signed in again. */
    async again(attempt, signal) {
        try {
            return await attempt();
        } catch (failure) {
            if (failure.status !== 401 || signal?.aborted || !(await signInAgain(this.session))) {
                throw failure;
            }
            signal?.throwIfAborted();
        }
        // Who is refused although he is signed in would be without end.
        return attempt();
    }

    async #open(place, isMove, said = null) {
        const number = ++this.#opened;
        this.place = place;
        this.#isArriving = isMove;
        this.#frame?.show(sectionOf(place.view), said);
        if (!this.#frame) {
            return;
        }
        const [name, load] = ELEMENTS[place.id && OF_ONE[place.view] || place.view] ?? ELEMENTS.overview;
        if (this.#view?.localName === name && this.#view.tenant === this.tenant && this.#view.goTo(place)) {
            this.#view.place = place;
        } else {
            this.#view?.leave?.();
            this.#view = null;
            let view;
            try {
                await load();
                view = document.createElement(name);
            } catch {
                // The file is of a version that the server no longer has, or the server is away.
                view = explain({ status: 0 }, () => location.reload());
            }
            if (number !== this.#opened) {
                return;
            }
            Object.assign(view, { console: this, place, tenant: this.tenant });
            this.#view = view;
            this.#frame.put(view);
        }
        if (isMove) {
            scrollTo(0, 0);
        }
    }

    /** Goes where somebody wants to, unless something would be lost. Answers whether he went. */
    async visit(address) {
        if (!(await this.mayLeave())) {
            return false;
        }
        this.#keep(address, address === location.search);
        this.#open(readPlace(address), true);
        return true;
    }

    #follow(event) {
        const link = event.target.closest?.("a[href]");
        const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
        if (!this.#frame || !link || !isPlain || event.defaultPrevented || link.target || !link.getAttribute("href").startsWith("?")) {
            return;
        }
        event.preventDefault();
        this.visit(link.getAttribute("href"));
    }
}

customElements.define("trawl-console", Console);
