// The search page: its place, and the view that shows it.
//
// The address is the place: typing replaces it, opening a module or an item adds to the history. A search aborts the previous one,
// on the server too. Lost focus moves to the module's heading, back to its section, or to the results.

import { element, fill, isFocusLost } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { Recent } from "../shared/recent.js";
import { filtersOf, isStart, readAddress, writeAddress } from "./address.js";
import { Beside } from "./beside.js";
import { emptyResult } from "./empty-result.js";
import { FinishedSearches } from "./finished-searches.js";
import { Modules, Announcer, head } from "./frame.js";
import { helpDialog } from "./help.js";
import { listen } from "./keyboard.js";
import { findModule, ModuleLoader } from "./module-loader.js";
import { nameOf } from "./module-name.js";
import { Notice } from "./notice.js";
import { PageSession } from "./page-session.js";
import { Position } from "./position.js";
import { personMenu } from "./person-menu.js";
import { Results } from "./results.js";
import { updateTimes } from "./row.js";
import { SavedSearches } from "./saved-searches.js";
import { Saving } from "./saving.js";
import { SearchBox } from "./search-box.js";
import { signInSection, takeSignInError } from "./sign-in.js";
import { Start } from "./start.js";
import { Suggestions } from "./suggestions.js";
import { Typing } from "./typing.js";

/** Milliseconds between updates of relative times. */
const MINUTE = 60_000;

export class SearchPage extends HTMLElement {
    #place = readAddress(location.search);
    #scroll = 0;
    /** Whether the results of the place are shown. */
    #isShown = false;
    #box;
    #notice;
    #announcer;
    #session;
    #position;
    #typing = new Typing(() => this.results?.askSkipped());
    #modules = new ModuleLoader({
        loaded: (modules) => this.#takeModules(modules),
        waiting: () => this.#showWithModules.bind(this, this.#place),
    });

    connectedCallback() {
        const error = takeSignInError();
        this.#build();
        history.scrollRestoration = "manual";
        globalThis.addEventListener("popstate", () => {
            this.results?.filters.take();
            this.#position.expect();
            this.#move(readAddress(location.search));
        });
        // The back/forward cache is outdated.
        globalThis.addEventListener("pageshow", ({ persisted }) => persisted && this.#session.leave(() => location.reload()));
        globalThis.addEventListener("pagehide", () => this.finished?.leave());
        document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && this.finished?.leave());
        setInterval(() => updateTimes(this, Date.now()), MINUTE);
        this.#session.load(error);
    }

    #build() {
        this.#box = new SearchBox();
        this.#box.text = this.#place.q;
        this.#notice = new Notice(() => this.main.focus({ preventScroll: true }));
        this.#announcer = new Announcer();
        this.#session = new PageSession(this.#notice, {
            begin: (session) => this.#begin(session),
            askToSignIn: (session, error) => {
                this.dataset.view = "signin";
                this.main.append(signInSection(session, error));
                this.main.querySelector("#enterprise, .button")?.focus();
            },
            resume: () => this.#show(),
            clear: () => this.#clear(),
        });
        this.#position = new Position({ results: () => (isStart(this.#place) ? null : this.results?.shown), selected: () => this.#place.item });
        this.suggestions = new Suggestions();
        this.suggestions.addEventListener("pick", ({ detail }) => this.#pick(detail));
        this.head = head(this.#box, this.suggestions);
        this.main = element("main", { id: "results", tabindex: "-1", "data-begin": true }, element("h1", { class: "unseen" }, t("search.title")));
        this.beside = new Beside(this, this.main, {
            place: () => this.#place,
            go: (place, how) => this.#go(place, how),
            keepPosition: () => this.#position.keep(),
            asked: () => this.#notice.expectMore(),
            modules: () => this.#modules.load(),
            opened: (name) => {
                this.opened.add(name);
                this.finished?.open(name);
            },
            signedOut: (again) => this.#session.refuse(again),
        });
        this.dataset.view = isStart(this.#place) ? "start" : "results";
        this.help = helpDialog();
        const skip = (event) => {
            event.preventDefault();
            this.main.focus();
        };
        fill(this, element("a", { class: "skip", href: "#results", click: skip }, t("search.skip")),
            this.head.node, this.main, this.beside.look.element, this.#notice.element, this.#announcer.element, this.help);
        this.#box.addEventListener("type", () => this.#type());
        this.#box.addEventListener("enter", () => this.#enter());
        this.#box.addEventListener("leave", () => this.#place.module && this.#open(null));
        this.addEventListener("trawl-say", ({ detail }) => this.#showItemFailure(detail));
        listen(this, this.#box, this.beside, this.help);
        this.#box.input.focus();
    }

    /** Removes everything before another person can see it. */
    #clear() {
        this.finished = null;
        this.start?.stop();
        this.results?.stop();
        this.beside.look.close();
        this.#notice.clear();
        fill(this);
        document.title = t("search.title");
    }

    #begin(session) {
        const [tenant, person] = [session.tenant?.code ?? "", session.person.userId];
        this.recent = new Recent(tenant, person);
        this.opened = new Recent(tenant, person, "items");
        this.finished = session.tenant?.searchInsights ? new FinishedSearches() : null;
        this.saving = new Saving(new SavedSearches(tenant, person), {
            place: () => this.#latestPlace(),
            name: () => this.#box.text || this.results.list.heading.textContent,
            say: (text) => this.#notice.show(text),
        });
        this.start = new Start(this.recent, this.opened, this.saving, () => this.#modules.load());
        this.start.addEventListener("pick", ({ detail }) => this.#pick(detail));
        this.start.addEventListener("left", () => this.#box.input.focus());
        this.results = new Results({
            open: (module) => this.#open(module),
            address: (module, place) => this.#address(module, place),
            asked: () => this.#notice.expectMore(),
            failed: (failure, again) => this.#failed(failure, again),
            found: (found) => this.#found(found),
            answered: () => this.#session.succeed(),
            emptyResult: (place, gap) => emptyResult(place, gap, {
                withoutFilters: () => this.#go({ ...place, from: "", to: "", author: "", source: "" }),
                everywhere: () => this.#open(null),
            }),
            restoreFocus: () => this.#restoreFocus(),
            totals: (totals) => { this.nav.totals = totals; },
            isTyping: () => this.#typing.isOn,
            change: (changed) => this.#go({ ...this.#latestPlace(), ...changed }),
        });
        this.nav = new Modules((module) => this.#open(module));
        this.results.filters.element.append(this.saving.button);
        this.main.append(this.start.element, this.results.element, this.saving.dialog);
        this.main.before(this.nav.element);
        this.main.addEventListener("click", ({ target }) => {
            if (target.closest(".open")) {
                this.#remember(this.#place.q);
                this.finished?.open(target.closest("[data-item]")?.dataset.item);
            }
        });
        fill(this.head.who, personMenu(session, {
            forget: () => this.#forget(),
            leave: () => this.#session.signOut(),
        }));
        this.#modules.load().catch(() => {});
        // Input during start-up counts.
        const place = this.#latestPlace();
        const isSame = place.q === this.#place.q;
        this.#position.expect();
        // Invalid parts of the address leave it.
        this.#go({ ...place, item: isSame ? this.#place.item : "" }, { state: isSame ? history.state : null });
    }

    #remember(text) {
        if (this.#session.isActive) {
            this.recent.add(text);
        }
    }

    /** The place with the latest input, without an unfinished composition and without an item. */
    #latestPlace() {
        const q = this.#box.composing ? this.#place.q : this.#box.text;
        const exact = q === this.#place.q ? this.#place.exact : "";
        return { ...this.#place, ...this.results?.filters.take(), q, exact, item: "" };
    }

    #takeModules(modules) {
        this.results.overview.modules = modules;
        this.nav.modules = modules;
        this.#mark(modules);
    }

    /** Shows what waited for the modules, unless the person moved on. */
    #showWithModules(place) {
        if (place === this.#place && place.module) {
            this.#show();
        } else if (place === this.#place && isStart(place)) {
            this.start.load();
        }
    }

    /** Opens a place, replacing the history entry unless `push`. */
    #go(place, { push = false, state = null } = {}) {
        const address = location.pathname + writeAddress(place);
        if (!state?.position) {
            this.#position.forget();
        }
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
            this.#position.forget();
            this.beside.show();
            return;
        }
        const wasOverview = this.dataset.view === "results" && !this.#place.module;
        if (wasOverview && place.module) {
            this.#scroll = scrollY;
        }
        // The overview can be shown as it was left.
        const left = this.results?.overview.isShowing(place) ? this.#place.module : "";
        this.#place = place;
        this.#box.text = place.q;
        document.title = place.q ? t("search.title-of", { q: place.q }) : t("search.title");
        if (this.results) {
            this.#show(left);
        }
    }

    /** Shows the place; with `left`, the overview as it was left for that module. */
    #show(left = "") {
        const place = this.#place;
        const { overview, list } = this.results;
        this.#isShown = true;
        this.finished?.search(place.q);
        this.beside.show();
        this.#announcer.clear();
        const isAtStart = isStart(place);
        this.dataset.view = isAtStart ? "start" : "results";
        this.results.element.hidden = this.nav.element.hidden = isAtStart;
        this.results.place = place;
        this.suggestions.show(place.q, { recent: this.recent.list(), saved: this.saving.saved.list(), modules: () => this.#modules.load() });
        this.#modules.load().then((modules) => this.#mark(modules), () => {});
        if (isAtStart) {
            this.#notice.clear();
            this.results.stop();
            this.start.show();
            this.#restoreFocus(this.#box.input);
            return;
        }
        this.start.stop();
        this.#notice.expect();
        if (place.module) {
            if (!overview.isShowing(place)) {
                this.nav.totals = new Map();
            }
            overview.stop();
            this.#showModule(place);
        } else if (left) {
            this.#notice.clear();
            list.stop();
            overview.resume();
            scrollTo(0, this.#scroll);
            this.#position.restore();
            this.#restoreFocus(overview.linkTo(left));
        } else {
            list.stop();
            scrollTo(0, 0);
            overview.show(place);
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
        const { list } = this.results;
        const wasLost = isFocusLost();
        let modules = [];
        try {
            modules = await this.#modules.load();
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
        const module = findModule(modules, place.module);
        if (!module) {
            this.#notice.clear();
            this.results.hasControls = false;
            list.showUnknown(element("button", { type: "button", click: () => this.#open(null) }, t("empty.everywhere")));
            this.#restoreFocus();
            return;
        }
        if (!place.q) {
            document.title = t("search.title-of", { q: nameOf(module) });
        }
        const shown = list.show(place, module, this.#position.rows);
        // Only where the person did not move focus.
        if (wasLost && (isFocusLost() || document.activeElement === document.body)) {
            list.heading.focus({ preventScroll: true });
        }
        await shown;
        if (place === this.#place) {
            this.#position.restore();
        }
    }

    #mark(modules) {
        const { module: name } = this.#place;
        this.nav.mark(name ? findModule(modules, name) : null, (module) => this.#address(module, this.#place));
    }

    #address(module, place) {
        return `./${writeAddress({ ...place, module: module?.code ?? "", source: "" })}`;
    }

    #open(module) {
        const place = this.#latestPlace();
        this.#remember(place.q);
        this.#isShown = false;
        this.#position.keep();
        // Back leads to the latest input.
        history.replaceState({ position: history.state?.position }, "", location.pathname + writeAddress(place));
        this.#go({ ...place, module: module?.code ?? "", source: "" }, { push: true });
    }

    #type() {
        if (this.#box.text !== this.#place.q) {
            this.#typing.begin();
            this.#go(this.#latestPlace());
        }
    }

    #enter() {
        this.#remember(this.#box.text);
        this.#type();
        this.#typing.end();
        this.finished?.enter();
        if (matchMedia("(pointer: coarse)").matches) {
            // A phone's keyboard covers the results.
            this.#box.input.blur();
        }
    }

    /** @param {Partial<import("./address.js").Place>} changed */
    #pick(changed) {
        this.#box.input.focus();
        const place = { ...this.#latestPlace(), ...changed };
        this.#remember(place.q);
        this.#go(place);
        this.finished?.enter();
    }

    #found(found) {
        this.#session.succeed();
        this.#announcer.count(found);
        const { module, exact } = this.#place;
        // Fewer sources or words may find nothing by themselves.
        if (found.count > 0 || !(found.gap || module || exact || filtersOf(this.#place))) {
            this.finished?.answer(found.count > 0);
        }
        if (!this.#place.module) {
            this.#position.restore();
        }
    }

    #failed(failure, again, byItself = true) {
        if (failure.status === 401) {
            this.#session.refuse(again);
        } else {
            this.#notice.showFailure(failure, again, { byItself });
        }
    }

    #showItemFailure({ text, failure }) {
        if (failure?.status === 401) {
            this.#session.refuse();
        } else {
            this.#notice.show(text);
        }
    }

    #forget() {
        this.recent.clear();
        this.opened.clear();
        document.querySelector("#person-menu").hidePopover();
        if (isStart(this.#place)) {
            this.start.show();
        }
        this.#notice.show(t("menu.forgotten"));
    }
}

function isSameSearch(left, right) {
    return writeAddress({ ...left, item: "" }) === writeAddress({ ...right, item: "" });
}
