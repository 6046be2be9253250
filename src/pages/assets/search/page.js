// The search page: session, place, and the view that shows it.
//
// The address is the place: typing replaces it, opening a module or an item adds to the history. A search aborts the previous one,
// on the server too. Lost focus moves to the module's heading, back to its section, or to the results.

import { call } from "../shared/api.js";
import { element, fill, isFocusLost } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { Recent } from "../shared/recent.js";
import { signInAddress, signOut, notifyTabs, fetchSession } from "../shared/session.js";
import { isSamePerson, watchSession } from "../shared/session-watch.js";
import { filtersOf, readAddress, writeAddress } from "./address.js";
import { SearchBox } from "./search-box.js";
import { Chips } from "./chips.js";
import { Decision } from "./decision.js";
import { Filters } from "./filters.js";
import { Modules, Announcer, head } from "./frame.js";
import { helpDialog } from "./help.js";
import { listen } from "./keyboard.js";
import { ModuleList } from "./module-list.js";
import { Notice } from "./notice.js";
import { Overview } from "./overview.js";
import { QuickLook } from "./quick-look.js";
import { personMenu } from "./person-menu.js";
import { updateTimes } from "./row.js";
import { currentPath, signInSection, takeSignInError } from "./sign-in.js";
import { Start } from "./start.js";
import { Suggestions } from "./suggestions.js";
import { describeFailure } from "./failure.js";

/** Milliseconds between updates of relative times. */
const MINUTE = 60_000;

export class SearchPage extends HTMLElement {
    #place = readAddress(location.search);
    #session = null;
    #modules = null;
    #tries = 0;
    /** Timer of the next attempt to load the modules. */
    #modulesTimer = 0;
    #isSignedOut = false;
    #isLeaving = false;
    #wasRetried = false;
    #scroll = 0;
    /** Whether the results of the place are shown. */
    #isShown = false;
    /** Until the history has taken back the step of an item. */
    #isGoingBack = false;
    #box;
    #notice;
    #announcer;

    connectedCallback() {
        const error = takeSignInError();
        this.#build();
        history.scrollRestoration = "manual";
        globalThis.addEventListener("popstate", () => {
            this.#isGoingBack = false;
            this.filters?.take();
            this.#move(readAddress(location.search));
        });
        // The back/forward cache is outdated.
        globalThis.addEventListener("pageshow", ({ persisted }) => persisted && this.#clear(() => location.reload()));
        setInterval(() => updateTimes(this, Date.now()), MINUTE);
        this.#loadSession(error);
    }

    #build() {
        this.#box = new SearchBox();
        this.#box.text = this.#place.q;
        this.#notice = new Notice(() => this.main.focus({ preventScroll: true }));
        this.#announcer = new Announcer();
        this.suggestions = new Suggestions();
        this.suggestions.addEventListener("pick", ({ detail }) => this.#pick(detail));
        this.head = head(this.#box, this.suggestions);
        this.look = new QuickLook({
            close: () => this.#lookAt(""),
            modules: () => this.#loadModules(),
            opened: (name) => this.opened.add(name),
            signedOut: (again) => this.#signedOut(again),
        });
        this.main = element("main", { id: "results", tabindex: "-1", "data-begin": true }, element("h1", { class: "unseen" }, t("search.title")));
        this.dataset.view = this.#place.q ? "results" : "start";
        this.help = helpDialog();
        fill(this, element("a", { class: "skip", href: "#results", click: (event) => this.#skip(event) }, t("search.skip")),
            this.head.node, this.main, this.look.element, this.#notice.element, this.#announcer.element, this.help);
        this.#box.addEventListener("type", () => this.#type());
        this.#box.addEventListener("enter", () => this.#enter());
        this.addEventListener("trawl-say", ({ detail }) => this.#showItemFailure(detail));
        listen(this, this.#box, this.look, this.help, (name) => this.#lookAt(name));
        this.addEventListener("click", (event) => this.#follow(event));
        this.addEventListener("focusin", ({ target }) => this.#lookOn(target));
        this.#box.input.focus();
    }

    async #loadSession(error = null) {
        let session;
        try {
            session = await fetchSession();
        } catch (failure) {
            this.#notice.showFailure(failure, () => this.#loadSession(error));
            return;
        }
        this.#notice.succeed();
        if (session.signedIn) {
            notifyTabs("signed in");
        }
        this.#watch(session);
        if (session.signedIn) {
            this.#begin(session);
        } else {
            this.dataset.view = "signin";
            this.main.append(signInSection(session, error));
            this.main.querySelector("#enterprise, .button")?.focus();
        }
    }

    #watch(session) {
        watchSession(session, {
            signedOut: () => this.#isLeaving || this.#clear(() => location.replace("./")),
            otherPerson: () => this.#clear(() => location.reload()),
            expired: () => this.#isSignedOut || this.#isLeaving || this.#signedOut(null),
            samePerson: () => this.#isSignedOut && this.#resume(),
        });
    }

    /** Removes everything before another person can see it. */
    #clear(goOn) {
        this.#isLeaving = true;
        this.start?.stop();
        this.overview?.stop();
        this.list?.stop();
        this.look.close();
        this.#notice.clear();
        fill(this);
        document.title = t("search.title");
        goOn();
    }

    #resume() {
        this.#isSignedOut = this.#isShown = false;
        this.#show();
    }

    #begin(session) {
        this.#session = session;
        const recent = new Recent(session.tenant?.code ?? "", session.person.userId);
        this.recent = recent;
        this.opened = new Recent(session.tenant?.code ?? "", session.person.userId, "items");
        this.start = new Start(recent, this.opened, () => this.#loadModules());
        this.start.addEventListener("pick", ({ detail }) => this.#pick(detail));
        this.start.addEventListener("left", () => this.#box.input.focus());
        this.filters = new Filters();
        this.filters.addEventListener("change", ({ detail }) => this.#go({ ...this.#latestPlace(), ...detail }));
        this.chips = new Chips();
        this.chips.addEventListener("change", ({ detail }) => this.#go({ ...this.#latestPlace(), ...detail }));
        this.decision = new Decision((exact) => this.#go({ ...this.#latestPlace(), exact: exact ? "true" : "" }));
        this.overview = new Overview(this.#callbacksOf(() => this.overview));
        this.filters.element.append(this.overview.missing);
        this.list = new ModuleList(this.#callbacksOf(() => this.list));
        this.nav = new Modules((module) => this.#open(module));
        this.results = element("div", { class: "results" }, this.filters.element, this.chips.element, this.decision.element,
            this.overview.element, this.list.element);
        this.main.append(this.start.element, this.results);
        this.main.before(this.nav.element);
        this.main.addEventListener("click", ({ target }) => target.closest(".open") && this.#remember(this.#place.q));
        fill(this.head.who, personMenu(session, {
            forget: () => this.#forget(),
            leave: () => this.#signOut(),
        }));
        this.#loadModules().catch(() => {});
        // Input during start-up counts.
        const { q, item } = this.#place;
        const place = this.#latestPlace();
        // Invalid parts of the address leave it.
        this.#go({ ...place, item: place.q === q ? item : "" });
    }

    /** The callbacks of a view; ignored while it is hidden. */
    #callbacksOf(view) {
        const ifShown = (act) => (...given) => view().element.hidden || act(...given);
        return {
            open: (module) => this.#open(module),
            address: (module, place) => this.#address(module, place ?? this.#place),
            failed: ifShown((failure, again) => this.#failed(failure, again)),
            done: ifShown((found) => this.#done(found)),
            answered: ifShown(() => this.#answered()),
            emptyResult: (place, gap) => this.#emptyResult(place, gap),
            restoreFocus: ifShown(() => this.#restoreFocus()),
            sources: ifShown((reports) => { this.filters.sources = reports; }),
            decided: ifShown((answer) => this.decision.show(this.#place, answer)),
            counted: ifShown((facets, sources) => this.chips.take(facets, sources)),
            totals: ifShown((totals) => { this.nav.totals = totals; }),
        };
    }

    #remember(text) {
        if (this.#session && !this.#isSignedOut) {
            this.recent.add(text);
        }
    }

    /** The place with the latest input, without an unfinished composition and without an item. */
    #latestPlace() {
        const q = this.#box.composing ? this.#place.q : this.#box.text;
        const exact = q === this.#place.q ? this.#place.exact : "";
        return { ...this.#place, ...this.filters?.take(), q, exact, item: "", ...(q ? {} : { module: "", source: "" }) };
    }

    /** Loads the modules once; a failure lets the next caller retry. */
    #loadModules() {
        this.#modules ??= this.#fetchModules();
        return this.#modules;
    }

    async #fetchModules() {
        clearTimeout(this.#modulesTimer);
        try {
            const { data } = await call("POST", "/modules");
            this.#tries = 0;
            this.overview.modules = data;
            this.nav.modules = data;
            this.#mark(data);
            return data;
        } catch (failure) {
            this.#modules = null;
            const { wait } = describeFailure(failure, { online: navigator.onLine, tries: this.#tries });
            this.#tries += 1;
            if (wait !== null) {
                this.#modulesTimer = setTimeout(() => this.#retryModules(), wait);
            }
            throw failure;
        }
    }

    /** Shows the place once the modules are there, unless the person moved on. */
    async #retryModules() {
        const place = this.#place;
        try {
            await this.#loadModules();
        } catch {
            // It scheduled the next attempt.
            return;
        }
        if (place.module && place === this.#place) {
            this.#show();
        }
    }

    /** Opens a place, replacing the history entry unless `push`. */
    #go(place, { push = false, isItem = false } = {}) {
        const address = location.pathname + writeAddress(place);
        const state = isItem ? { isItem } : null;
        try {
            if (push) {
                history.pushState(state, "", address);
            } else {
                history.replaceState(state, "", address);
            }
        } catch {
            // Safari refuses more than 100 changes in 30 seconds; the search goes on.
        }
        this.#move(place);
    }

    /** Shows a place, given by the address or the box. */
    #move(place) {
        if (this.#isShown && isSameSearch(place, this.#place)) {
            this.#place = place;
            this.#showItem();
            return;
        }
        const wasOverview = this.dataset.view === "results" && !this.#place.module;
        if (wasOverview && place.module) {
            this.#scroll = scrollY;
        }
        // The overview can be shown as it was left.
        const left = this.overview?.isShowing(place) ? this.#place.module : "";
        this.#place = place;
        this.#box.text = place.q;
        document.title = place.q ? t("search.title-of", { q: place.q }) : t("search.title");
        if (this.#session) {
            this.#show(left);
        }
    }

    /** Shows the place; with `left`, the overview as it was left for that module. */
    #show(left = "") {
        const place = this.#place;
        this.#isShown = true;
        this.#showItem();
        this.#notice.clear();
        if (place.q) {
            this.#notice.expect();
        }
        this.#announcer.clear();
        this.dataset.view = place.q ? "results" : "start";
        this.suggestions.show(place.q, this.recent.list());
        if (place.q) {
            this.start.stop();
        }
        this.results.hidden = this.nav.element.hidden = !place.q;
        this.filters.place = this.chips.place = place;
        this.overview.element.hidden = Boolean(place.module);
        this.list.element.hidden = !place.module;
        this.#loadModules().then((modules) => this.#mark(modules), () => {});
        if (!place.q) {
            this.overview.stop();
            this.list.stop();
            this.start.show();
            this.#restoreFocus(this.#box.input);
        } else if (place.module) {
            if (!this.overview.isShowing(place)) {
                this.nav.totals = new Map();
            }
            this.overview.stop();
            this.#showModule(place);
        } else if (left) {
            this.#notice.clear();
            this.list.stop();
            this.overview.resume();
            scrollTo(0, this.#scroll);
            this.#restoreFocus(this.overview.linkTo(left));
        } else {
            this.list.stop();
            scrollTo(0, 0);
            this.overview.show(place);
            this.#restoreFocus();
        }
    }

    #restoreFocus(place = this.main) {
        if (isFocusLost()) {
            place.focus({ preventScroll: true });
        }
    }

    async #showModule(place) {
        scrollTo(0, 0);
        const wasLost = isFocusLost();
        let modules = [];
        try {
            modules = await this.#loadModules();
        } catch (failure) {
            if (place === this.#place) {
                this.#failed(failure, () => this.#show(), false);
            }
            return;
        }
        // The place may have changed.
        if (place !== this.#place) {
            return;
        }
        const module = find(modules, place.module);
        if (module) {
            this.list.show(place, module);
            // Only where the person did not move focus.
            if (wasLost && (isFocusLost() || document.activeElement === document.body)) {
                this.list.heading.focus({ preventScroll: true });
            }
        } else {
            this.list.stop();
            this.list.element.hidden = true;
            this.#notice.show(t("trouble.no-module"), element("button", { type: "button", click: () => this.#open(null) }, t("empty.everywhere")));
        }
    }

    /** Opens an item beside the list, or closes it. The first is a step of the history, which closing takes back. */
    #lookAt(name) {
        if (name === this.#place.item || this.#isGoingBack) {
            return;
        }
        if (!name && history.state?.isItem) {
            this.#isGoingBack = true;
            history.back();
            return;
        }
        this.#go({ ...this.#place, item: name }, { push: Boolean(name) && !this.#place.item, isItem: Boolean(name) && (!this.#place.item || history.state?.isItem) });
    }

    #showItem() {
        const { item, q } = this.#place;
        this.toggleAttribute("data-aside", Boolean(item));
        if (item) {
            // The best results are in their modules, too.
            const rows = [...this.main.querySelectorAll(`[data-item="${CSS.escape(item)}"]`)];
            const row = rows.find((one) => one.contains(document.activeElement)) ?? rows[0] ?? null;
            this.look.show(item, q, row);
        } else {
            this.look.close();
        }
    }

    /** Opens the item of a link beside the list. */
    #follow(event) {
        const link = event.target.closest("a[data-look]");
        if (link && !event.button && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey) {
            event.preventDefault();
            this.#lookAt(link.dataset.look);
        }
    }

    /** An open item follows the row that has focus. */
    #lookOn(target) {
        const row = this.look.isOpen && target.closest("[data-item]");
        if (row && this.main.contains(row)) {
            this.#lookAt(row.dataset.item);
        }
    }

    #mark(modules) {
        this.nav.mark(find(modules, this.#place.module), (module) => this.#address(module, this.#place));
    }

    #address(module, place) {
        return `./${writeAddress({ ...place, module: module?.code ?? "", source: "" })}`;
    }

    #open(module) {
        const place = this.#latestPlace();
        this.#remember(place.q);
        this.#isShown = false;
        // Back leads to the latest input.
        history.replaceState(null, "", location.pathname + writeAddress(place));
        this.#go({ ...place, module: module?.code ?? "", source: "" }, { push: true });
    }

    #type() {
        if (this.#box.text !== this.#place.q) {
            this.#go(this.#latestPlace());
        }
    }

    #enter() {
        this.#remember(this.#box.text);
        this.#type();
        if (matchMedia("(pointer: coarse)").matches) {
            // A phone's keyboard covers the results.
            this.#box.input.blur();
        }
    }

    #pick(text) {
        this.#box.input.focus();
        this.#remember(text);
        this.#go({ ...this.#latestPlace(), q: text });
    }

    #skip(event) {
        event.preventDefault();
        this.main.focus();
    }

    #done(found) {
        this.#answered();
        this.#announcer.count(found);
    }

    #answered() {
        this.#isSignedOut = this.#wasRetried = false;
        this.#notice.succeed();
    }

    /** The text for an empty result: nothing found, or sources missing. */
    #emptyResult(place, gap) {
        const heading = place.module ? "h3" : "h2";
        if (gap) {
            return [element(heading, {}, t("empty.incomplete")), element("p", {}, t(`empty.${gap}`))];
        }
        const plain = { ...place, from: "", to: "", author: "", source: "" };
        return [
            element(heading, {}, t("empty.title"), " ", element("bdi", {}, place.q)),
            element("p", {}, t("empty.why")),
            element("p", { class: "ways" },
                filtersOf(place) ? element("button", { type: "button", click: () => this.#go(plain) }, t("empty.without-filters")) : null,
                place.module ? element("button", { type: "button", click: () => this.#open(null) }, t("empty.everywhere")) : null),
        ];
    }

    #failed(failure, again, byItself = true) {
        if (failure.status === 401) {
            this.#signedOut(again);
        } else {
            this.#notice.showFailure(failure, again, { byItself });
        }
    }

    #showItemFailure({ text, failure }) {
        if (failure?.status === 401) {
            this.#signedOut();
        } else {
            this.#notice.show(text);
        }
    }

    /** The session ended: results stay, and the sign-in leads back here. */
    async #signedOut(again) {
        const session = await fetchSession().catch(() => ({ signedIn: false, tenant: null }));
        if (session.signedIn) {
            this.#refused(session, again);
            return;
        }
        this.#isSignedOut = true;
        const tenant = session.tenant?.code ?? session.tenant ?? this.#session.tenant?.code;
        this.#notice.showLasting(t("trouble.signed-out"),
            element("a", { class: "button main", href: signInAddress({ to: currentPath(), tenant }) }, t("common.sign-in")));
    }

    /** A 401 with a session: another person's, or a renewed one. */
    #refused(session, again) {
        if (!isSamePerson(session, this.#session)) {
            this.#clear(() => location.reload());
        } else if (again && !this.#wasRetried) {
            this.#wasRetried = true;
            again();
        } else {
            // It could repeat without end.
            this.#notice.show(t("common.failed"), again && element("button", { type: "button", click: again }, t("common.retry")));
        }
    }

    #forget() {
        this.recent.clear();
        this.opened.clear();
        document.querySelector("#person-menu").hidePopover();
        if (!this.#place.q) {
            this.start.show();
        }
        this.#notice.show(t("menu.forgotten"));
    }

    async #signOut() {
        this.#isLeaving = true;
        try {
            await signOut();
            this.#clear(() => location.replace("./"));
        } catch (failure) {
            this.#isLeaving = false;
            this.#notice.showFailure(failure, () => this.#signOut());
        }
    }
}

function isSameSearch(left, right) {
    return writeAddress({ ...left, item: "" }) === writeAddress({ ...right, item: "" });
}

function find(modules, name) {
    return modules.find((module) => module.code === name) ?? modules.find((module) => module.id === name);
}
