// The page as a whole: who is there, where one is, and which view shows it.

import { call } from "../shared/api.js";
import { element, fill, isFocusLost } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { Recent } from "../shared/recent.js";
import { signInAddress, signOut, tellTabs, whoAmI } from "../shared/session.js";
import { isSame, watchSession } from "../shared/watch.js";
import { filtersOf, readAddress, writeAddress } from "./address.js";
import { SearchBox } from "./box.js";
import { Filters } from "./filters.js";
import { Modules, Voice, head } from "./frame.js";
import { listen } from "./keys.js";
import { ModuleList } from "./list.js";
import { Notice } from "./notice.js";
import { Overview } from "./overview.js";
import { personMenu } from "./person.js";
import { tell } from "./row.js";
import { here, signIn, takeFailure } from "./signin.js";
import { Start } from "./start.js";
import { describe } from "./trouble.js";

/** How often relative times are said anew, milliseconds. */
const MINUTE = 60_000;

/** The element of the page. */
export class SearchPage extends HTMLElement {
    #place = readAddress(location.search);
    #session = null;
    #modules = null;
    #tries = 0;
    /** Asks for the modules again by itself. */
    #learning = 0;
    #isOut = false;
    #isLeaving = false;
    #wasRefused = false;
    #scroll = 0;
    #box;
    #notice;
    #voice;

    connectedCallback() {
        const failure = takeFailure();
        this.#build();
        history.scrollRestoration = "manual";
        globalThis.addEventListener("popstate", () => {
            this.filters?.take();
            this.#move(readAddress(location.search));
        });
        // A page that the browser had put aside shows what was there when it was left.
        globalThis.addEventListener("pageshow", ({ persisted }) => persisted && this.#empty(() => location.reload()));
        setInterval(() => tell(this, Date.now()), MINUTE);
        this.#identify(failure);
    }

    #build() {
        this.#box = new SearchBox();
        this.#box.text = this.#place.q;
        this.#notice = new Notice(() => this.main.focus({ preventScroll: true }));
        this.#voice = new Voice();
        this.head = head(this.#box);
        this.main = element("main", { id: "results", tabindex: "-1", "data-begin": true }, element("h1", { class: "unseen" }, t("search.title")));
        this.dataset.view = this.#place.q ? "results" : "start";
        fill(this, element("a", { class: "skip", href: "#results", click: (event) => this.#skip(event) }, t("search.skip")),
            this.head.node, this.main, this.#notice.element, this.#voice.element);
        this.#box.addEventListener("type", () => this.#type());
        this.#box.addEventListener("enter", () => this.#enter());
        this.addEventListener("trawl-say", ({ detail }) => this.#sayFailure(detail));
        listen(this, this.#box);
        this.#box.input.focus();
    }

    /** Finds out who is there. */
    async #identify(failure = null) {
        let session;
        try {
            session = await whoAmI();
        } catch (trouble) {
            this.#notice.fail(trouble, () => this.#identify(failure));
            return;
        }
        this.#notice.succeed();
        if (session.signedIn) {
            tellTabs("signed in");
        }
        this.#watch(session);
        if (session.signedIn) {
            this.#begin(session);
        } else {
            this.dataset.view = "signin";
            this.main.append(signIn(session, failure));
            this.main.querySelector("#enterprise, .button")?.focus();
        }
    }

    #watch(session) {
        watchSession(session, {
            left: () => this.#isLeaving || this.#empty(() => location.replace("./")),
            other: () => this.#empty(() => location.reload()),
            nobody: () => this.#isOut || this.#isLeaving || this.#signedOut(null),
            same: () => this.#isOut && this.#back(),
        });
    }

    /** Nothing of it is to be seen by whoever comes next. */
    #empty(goOn) {
        this.#isLeaving = true;
        this.overview?.stop();
        this.list?.stop();
        fill(this);
        document.title = t("search.title");
        goOn();
    }

    /** Signed in again in another tab. */
    #back() {
        this.#isOut = false;
        this.#show();
    }

    #begin(session) {
        this.#session = session;
        const recent = new Recent(session.tenant?.code ?? "", session.person.userId);
        this.recent = recent;
        this.start = new Start(recent);
        this.start.addEventListener("pick", ({ detail }) => this.#pick(detail));
        this.start.addEventListener("left", () => this.#box.input.focus());
        this.filters = new Filters();
        this.filters.addEventListener("change", ({ detail }) => this.#go({ ...this.#typed(), ...detail }));
        this.overview = new Overview(this.#for(() => this.overview));
        this.filters.element.append(this.overview.missing);
        this.list = new ModuleList(this.#for(() => this.list));
        this.nav = new Modules((module) => this.#open(module));
        this.results = element("div", { class: "results" }, this.filters.element, this.overview.element, this.list.element);
        this.main.append(this.start.element, this.results);
        this.main.before(this.nav.element);
        this.main.addEventListener("click", ({ target }) => target.closest(".open") && this.#remember(this.#place.q));
        fill(this.head.who, personMenu(session, {
            forget: () => this.#forget(),
            leave: () => this.#leave(),
        }));
        this.#learn().catch(() => {});
        // Something may have been typed by now.
        this.#move(this.#typed());
    }

    /** What a view does with the page: one that is not shown says nothing. */
    #for(view) {
        const ifShown = (act) => (...given) => view().element.hidden || act(...given);
        return {
            open: (module) => this.#open(module),
            address: (module, place) => this.#address(module, place ?? this.#place),
            trouble: ifShown((failure, again) => this.#trouble(failure, again)),
            done: ifShown((found) => this.#done(found)),
            went: ifShown(() => this.#went()),
            nothing: (place, lack) => this.#nothing(place, lack),
            readOn: ifShown(() => this.#readOn()),
            sources: ifShown((reports) => { this.filters.sources = reports; }),
        };
    }

    /** Keeps what was looked for, as long as it is known who looks. */
    #remember(text) {
        if (this.#session && !this.#isOut) {
            this.recent.add(text);
        }
    }

    /** Where one is, with what was typed a moment ago; letters that are being composed are not there yet. */
    #typed() {
        const q = this.#box.composing ? this.#place.q : this.#box.text;
        return { ...this.#place, ...this.filters?.take(), q, ...(q ? {} : { module: "", source: "" }) };
    }

    /** Learns of the modules; sections of all of them stand ready then. Where it failed, whoever needs them asks again. */
    #learn() {
        this.#modules ??= this.#askForModules();
        return this.#modules;
    }

    async #askForModules() {
        clearTimeout(this.#learning);
        try {
            const { data } = await call("POST", "/modules");
            this.#tries = 0;
            this.overview.modules = data;
            this.nav.modules = data;
            this.#mark(data);
            return data;
        } catch (failure) {
            this.#modules = null;
            const { wait } = describe(failure, { online: navigator.onLine, tries: this.#tries });
            this.#tries += 1;
            if (wait !== null) {
                // Whatever is said or done meanwhile.
                this.#learning = setTimeout(() => this.#learnAgain(), wait);
            }
            throw failure;
        }
    }

    /** What could not be shown without the modules is shown; who goes elsewhere meanwhile sees to it himself. */
    async #learnAgain() {
        const place = this.#place;
        try {
            await this.#learn();
        } catch {
            // That is said, and asked again.
            return;
        }
        if (place.module && place === this.#place) {
            this.#show();
        }
    }

    /** Goes somewhere: a module is a step of its own, all else is the same step said otherwise. */
    #go(place, { push = false } = {}) {
        const address = location.pathname + writeAddress(place);
        if (push) {
            history.pushState(null, "", address);
        } else {
            history.replaceState(null, "", address);
        }
        this.#move(place);
    }

    /** Is somewhere, by the address or by the box. */
    #move(place) {
        const wasOverview = this.dataset.view === "results" && !this.#place.module;
        if (wasOverview && place.module) {
            this.#scroll = scrollY;
        }
        // Who looked into a module comes back to what he left.
        const left = this.overview?.holds(place) ? this.#place.module : "";
        this.#place = place;
        this.#box.text = place.q;
        document.title = place.q ? t("search.title-of", { q: place.q }) : t("search.title");
        if (this.#session) {
            this.#show(left);
        }
    }

    /** Shows where one is; all modules as they were left for one of them, where that is so. */
    #show(left = "") {
        const place = this.#place;
        this.#notice.clear();
        this.#voice.hush();
        this.dataset.view = place.q ? "results" : "start";
        this.start.element.hidden = Boolean(place.q);
        this.results.hidden = this.nav.element.hidden = !place.q;
        this.filters.place = place;
        this.overview.element.hidden = Boolean(place.module);
        this.list.element.hidden = !place.module;
        this.#learn().then((modules) => this.#mark(modules), () => {});
        if (!place.q) {
            this.overview.stop();
            this.list.stop();
            this.start.show();
            this.#readOn(this.#box.input);
        } else if (place.module) {
            this.overview.stop();
            this.#showModule(place);
        } else if (left) {
            this.list.stop();
            scrollTo(0, this.#scroll);
            this.#readOn(this.overview.linkTo(left));
        } else {
            this.list.stop();
            scrollTo(0, 0);
            this.overview.show(place);
            this.#readOn();
        }
    }

    /** Who was at what is gone by now reads on at a place; who is elsewhere stays there. */
    #readOn(place = this.main) {
        if (isFocusLost()) {
            place.focus({ preventScroll: true });
        }
    }

    async #showModule(place) {
        scrollTo(0, 0);
        const wasLost = isFocusLost();
        let modules = [];
        try {
            modules = await this.#learn();
        } catch (failure) {
            if (place === this.#place) {
                this.#trouble(failure, () => this.#show(), false);
            }
            return;
        }
        // Another place may be wanted by now.
        if (place !== this.#place) {
            return;
        }
        const module = find(modules, place.module);
        if (module) {
            this.list.show(place, module);
            // Who went elsewhere meanwhile stays there.
            if (wasLost && (isFocusLost() || document.activeElement === document.body)) {
                this.list.heading.focus({ preventScroll: true });
            }
        } else {
            this.list.stop();
            this.list.element.hidden = true;
            this.#notice.say(t("trouble.no-module"), element("button", { type: "button", click: () => this.#open(null) }, t("empty.everywhere")));
        }
    }

    #mark(modules) {
        this.nav.mark(find(modules, this.#place.module), (module) => this.#address(module, this.#place));
    }

    #address(module, place) {
        return `./${writeAddress({ ...place, module: module?.code ?? "", source: "" })}`;
    }

    #open(module) {
        const place = this.#typed();
        this.#remember(place.q);
        // What is gone back to is what was typed.
        history.replaceState(null, "", location.pathname + writeAddress(place));
        this.#go({ ...place, module: module?.code ?? "", source: "" }, { push: true });
    }

    #type() {
        if (this.#box.text !== this.#place.q) {
            this.#go(this.#typed());
        }
    }

    #enter() {
        this.#remember(this.#box.text);
        this.#type();
        if (matchMedia("(pointer: coarse)").matches) {
            // The keyboard of a phone covers half of what was found.
            this.#box.input.blur();
        }
    }

    #pick(text) {
        this.#box.input.focus();
        this.#remember(text);
        this.#go({ ...this.#typed(), q: text });
    }

    #skip(event) {
        event.preventDefault();
        this.main.focus();
    }

    #done(found) {
        this.#went();
        this.#voice.count(found);
    }

    /** The server answered: nothing is in the way. */
    #went() {
        this.#isOut = this.#wasRefused = false;
        this.#notice.succeed();
    }

    /** What stands where nothing was found: that there is nothing, or what is missing. */
    #nothing(place, lack) {
        const heading = place.module ? "h3" : "h2";
        if (lack) {
            return [element(heading, {}, t("empty.incomplete")), element("p", {}, t(`empty.${lack}`))];
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

    #trouble(failure, again, byItself = true) {
        if (failure.status === 401) {
            this.#signedOut(again);
        } else {
            this.#notice.fail(failure, again, { byItself });
        }
    }

    #sayFailure({ text, failure }) {
        if (failure?.status === 401) {
            this.#signedOut();
        } else {
            this.#notice.say(text);
        }
    }

    /** In the middle of it: what was typed and found stays, and the way in leads back here. */
    async #signedOut(again) {
        const session = await whoAmI().catch(() => ({ signedIn: false, tenant: null }));
        if (session.signedIn) {
            this.#refused(session, again);
            return;
        }
        this.#isOut = true;
        const tenant = session.tenant?.code ?? session.tenant ?? this.#session.tenant?.code;
        this.#notice.hold(t("trouble.signed-out"),
            element("a", { class: "button main", href: signInAddress({ to: here(), tenant }) }, t("common.sign-in")));
    }

    /** Refused, although somebody is signed in: in another tab, meanwhile. */
    #refused(session, again) {
        if (!isSame(session, this.#session)) {
            this.#empty(() => location.reload());
        } else if (again && !this.#wasRefused) {
            this.#wasRefused = true;
            again();
        } else {
            // Without end, else.
            this.#notice.say(t("common.failed"), again && element("button", { type: "button", click: again }, t("common.retry")));
        }
    }

    #forget() {
        this.recent.clear();
        document.querySelector("#person-menu").hidePopover();
        if (!this.#place.q) {
            this.start.show();
        }
        this.#notice.say(t("menu.forgotten"));
    }

    async #leave() {
        this.#isLeaving = true;
        try {
            await signOut();
            this.#empty(() => location.replace("./"));
        } catch (failure) {
            this.#isLeaving = false;
            this.#notice.fail(failure, () => this.#leave());
        }
    }
}

/** The module of a code or an id. */
function find(modules, name) {
    return modules.find((module) => module.code === name) ?? modules.find((module) => module.id === name);
}
