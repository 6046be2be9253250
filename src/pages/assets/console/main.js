// The console: checks the session and shows the view of the address.
//
// The address holds the tenant that is acted on; calls carry it as `indicated-e-code`. After a 401 the person signs in
// again in another tab and the call is repeated: no input is lost.

import { call, Failure } from "../shared/api.js";
import { element, fill, isolate } from "../shared/dom.js";
import { addTexts, t } from "../shared/language.js";
import { notifyTabs, fetchSession } from "../shared/session.js";
import { watchSession } from "../shared/session-watch.js";
import common from "../texts/console.js";
import { isView, readPlace, sectionOf, writePlace } from "./address.js";
import { ask } from "./dialog.js";
import { clearDrafts } from "./drafts.js";
import { explain } from "./failure.js";
import { Frame } from "./frame.js";
import { showSecondFactorNeeded, showSignedIn, showSignInPage, signInAgain } from "./sign-in.js";

addTexts(common);

const ELEMENTS = {
    "overview": ["console-overview", () => import("./views/overview.js")],
    "sources": ["console-sources", () => import("./views/sources.js")],
    "source": ["console-source", () => import("./views/source.js")],
    "add-source": ["console-add-source", () => import("./views/add-source.js")],
    "subscriptions": ["console-subscriptions", () => import("./views/subscriptions.js")],
    "subscription": ["console-subscription", () => import("./views/subscription.js")],
    "modules": ["console-modules", () => import("./views/modules.js")],
    "module": ["console-module", () => import("./views/module.js")],
    "contents": ["console-contents", () => import("./views/contents.js")],
    "content": ["console-content", () => import("./views/content.js")],
    "insights": ["console-insights", () => import("./views/insights.js")],
    "vocabulary": ["console-vocabulary", () => import("./views/vocabulary.js")],
    "try": ["console-try", () => import("./views/try.js")],
    "figures": ["console-figures", () => import("./views/figures.js")],
    "searches": ["console-searches", () => import("./views/searches.js")],
    "people": ["console-people", () => import("./views/people.js")],
    "person": ["console-person", () => import("./views/person.js")],
    "applications": ["console-applications", () => import("./views/applications.js")],
    "application": ["console-application", () => import("./views/application.js")],
    "tenants": ["console-tenants", () => import("./views/tenants.js")],
    "tenant": ["console-tenant", () => import("./views/tenant.js")],
    "keys": ["console-keys", () => import("./views/keys.js")],
    "audit": ["console-audit", () => import("./views/audit.js")],
    "settings": ["console-settings", () => import("./views/settings.js")],
};

const UNKNOWN = ["console-unknown", () => import("./views/unknown.js")];

/** Views of one object have the address of their list with an id. */
const OF_ONE = {
    sources: "source", subscriptions: "subscription", modules: "module", contents: "content", people: "person", applications: "application", tenants: "tenant",
};

/** The console element: views reach the server and each other through it. */
export class Console extends HTMLElement {
    session = null;
    place = readPlace(location.search);
    #frame = null;
    #view = null;
    #opened = 0;
    #isArriving = false;
    /** Position in this tab's history. */
    #step = history.state?.step ?? 0;
    /** Resolves a programmatic `history.go`. */
    #returned = null;
    #question = new AbortController();
    #hasLeft = false;

    async connectedCallback() {
        history.replaceState({ step: this.#step }, "");
        addEventListener("popstate", () => this.#onHistory());
        addEventListener("click", (event) => this.#onClick(event));
        // The back/forward cache is outdated.
        addEventListener("pageshow", ({ persisted }) => persisted && this.#reload());
        addEventListener("beforeunload", (event) => {
            if (!this.#hasLeft && (this.#isDirty() || document.querySelector("dialog[data-lasting]"))) {
                event.preventDefault();
            }
        });
        await this.#start();
    }

    async #start() {
        fill(this, element("p", { class: "waiting", role: "status" }, t("console.loading")));
        try {
            this.session = await fetchSession();
        } catch (failure) {
            fill(this, element("main", { class: "gate" }, explain(failure, () => this.#start())));
            return;
        }
        if (this.place.view === "signed-in" && this.session.signedIn) {
            notifyTabs("signed in");
            fill(this, showSignedIn());
        } else if (!this.session.signedIn) {
            fill(this, showSignInPage(this.session, `/console${writePlace(this.place)}`));
            document.title = t("console.title");
        } else if (this.session.needsSecondFactor) {
            fill(this, showSecondFactorNeeded());
            document.title = t("console.title");
        } else if (!this.session.operator) {
            fill(this, this.#showForbidden());
            document.title = t("console.title");
        } else {
            this.#frame = new Frame(this);
            fill(this, ...this.#frame.nodes);
            this.#watch();
            await this.#open(this.place, false);
        }
    }

    /** Reloads, showing nothing of the old content meanwhile. */
    #reload() {
        this.#hasLeft = true;
        fill(this);
        location.reload();
    }

    /** Reloads after a change of session in another tab. */
    #watch() {
        const reload = () => {
            if (!this.#hasLeft) {
                clearDrafts();
                this.#reload();
            }
        };
        // The next call reports an expired session; input stays until then.
        watchSession(this.session, { signedOut: reload, otherPerson: reload, expired: () => {}, samePerson: () => {} });
    }

    #showForbidden() {
        const { person, tenant } = this.session;
        return element(
            "main", { class: "gate" },
            element("h1", {}, t("gate.not-operator")),
            element("p", {}, t("gate.signed-in-as"), " ", element("strong", {}, isolate(person.name || person.loginId)), "."),
            element("p", {}, t("gate.how")),
            element("pre", {}, element("code", {}, `[console]\noperators = ["${person.loginId}@${tenant.code}"]`)),
            element("p", { class: "actions" }, element("a", { class: "button", href: "./" }, t("gate.search"))),
        );
    }

    get tenant() {
        return this.place.tenant ?? this.session.tenant.code;
    }

    /** The address of a place on the current tenant. */
    href(place) {
        const { tenant } = this.place;
        return writePlace({ ...place, tenant: "tenant" in place ? place.tenant : tenant });
    }

    /** Opens a place, with a notice `said`. */
    go(place, { said = null, replace = false } = {}) {
        this.#pushAddress(this.href(place), replace);
        return this.#open(readPlace(location.search), true, said);
    }

    #pushAddress(address, replace) {
        this.#step += replace ? 0 : 1;
        history[replace ? "replaceState" : "pushState"]({ step: this.#step }, "", address);
    }

    #isDirty() {
        return Boolean(this.#view) && [...this.#view.querySelectorAll("form.form")].some((form) => form.isDirty());
    }

    async confirmLeave() {
        if (!this.#isDirty()) {
            return true;
        }
        this.#question.abort();
        this.#question = new AbortController();
        return ask({
            title: t("leave.title"), text: t("leave.text"), action: t("leave.action"), grave: true, signal: this.#question.signal,
        });
    }

    leaveFor(address) {
        this.#hasLeft = true;
        fill(this);
        location.assign(address);
    }

    /** Handles back and forward: unsaved input needs confirmation. */
    async #onHistory() {
        if (this.#returned) {
            this.#returned();
            return;
        }
        const step = history.state?.step ?? 0;
        const by = step - this.#step;
        if (by !== 0 && this.#isDirty()) {
            await this.#goBy(-by);
            if (!(await this.confirmLeave())) {
                return;
            }
            await this.#goBy(by);
        }
        this.#step = step;
        this.#open(readPlace(location.search), false);
    }

    #goBy(by) {
        return new Promise((resolve) => {
            this.#returned = () => {
                this.#returned = null;
                resolve();
            };
            history.go(by);
        });
    }

    /** Records the place of a view that already shows it. */
    recordPlace(place) {
        this.#pushAddress(this.href(place), true);
        this.place = readPlace(location.search);
    }

    showNotice(text) {
        this.#frame.showNotice(text);
    }

    showError(failure) {
        if (failure.name !== "AbortError") {
            this.#frame.showError(failure);
        }
    }

    /** Called with a view's heading: it titles the page and takes focus after navigation. */
    setHeading(heading) {
        document.title = [heading.textContent, t("console.title")].filter(Boolean).join(" · ");
        if (this.#isArriving) {
            this.#isArriving = false;
            heading.focus({ preventScroll: true });
        }
    }

    tenantsChanged() {
        return this.#frame.tenantsChanged();
    }

    /** Calls an operation on the current tenant, repeated once after a renewed sign-in. */
    async call(method, path, options = {}) {
        const tenant = options.tenant === undefined ? this.tenant : options.tenant;
        // A header cannot carry it, so no tenant has this code.
        if (tenant && !/^[\x21-\x7e]+$/.test(tenant)) {
            throw Object.assign(new Failure(404, t("console.no-tenant")), { isOwn: true });
        }
        return this.withSignIn(() => call(method, path, { ...options, tenant }), options.signal);
    }

    /** Runs an attempt, and once more after a renewed sign-in. */
    async withSignIn(attempt, signal) {
        try {
            return await attempt();
        } catch (failure) {
            if (failure.status !== 401 || signal?.aborted || !(await signInAgain(this.session))) {
                throw failure;
            }
            signal?.throwIfAborted();
        }
        // Only once: it could repeat without end.
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
        const [name, load] = isView(place.view) ? ELEMENTS[place.id && OF_ONE[place.view] || place.view] ?? ELEMENTS.overview : UNKNOWN;
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
                // An old version's file, or the server is away.
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

    /** Opens an address after `confirmLeave`; returns whether it did. */
    async visit(address) {
        if (!(await this.confirmLeave())) {
            return false;
        }
        this.#pushAddress(address, address === location.search);
        this.#open(readPlace(address), true);
        return true;
    }

    #onClick(event) {
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
