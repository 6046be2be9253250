// The account page: the person's second factor and sessions.

import { element, fill, isolate } from "../shared/dom.js";
import { addTexts, t } from "../shared/language.js";
import { fetchSession } from "../shared/session.js";
import { watchSession } from "../shared/session-watch.js";
import { signInError, signInLinks } from "../shared/sign-in-links.js";
import texts from "../texts/account.js";
import { explain } from "./failure.js";
import { OwnSessions } from "./sessions.js";
import { SecondFactor } from "./second-factor.js";

addTexts(texts);

class Account extends HTMLElement {
    async connectedCallback() {
        document.title = t("common.account");
        // The back/forward cache is outdated.
        addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
        try {
            this.#show(await fetchSession());
        } catch (failure) {
            fill(this, element("main", {}, element("h1", {}, t("common.account")), element("p", { class: "alarm", role: "alert" }, explain(failure))));
        }
    }

    #show(session) {
        const reload = () => location.reload();
        watchSession(session, { signedOut: reload, otherPerson: reload, expired: reload, samePerson: () => {} });
        if (!session.signedIn) {
            const error = signInError(location.search);
            fill(this, element("main", {}, element("h1", {}, t("common.account")),
                error && element("p", { class: "alarm", role: "alert" }, error),
                element("p", {}, t("account.sign-in")), element("div", { class: "ways" }, ...signInLinks(session, "/account"))));
            return;
        }
        const { person, operator, needsSecondFactor } = session;
        const sessions = new OwnSessions();
        const factor = Object.assign(new SecondFactor(), { login: person.loginId });
        const needed = element("p", { class: "alarm", hidden: !needsSecondFactor }, t("account.needed"));
        factor.addEventListener("change", () => {
            sessions.load();
            fetchSession().then((now) => (needed.hidden = !now.needsSecondFactor), () => {});
        });
        fill(this,
            element("header", {},
                element("p", {}, t("account.signed-in"), " ", element("strong", {}, isolate(person.name || person.loginId))),
                element("nav", { "aria-label": t("account.pages") }, element("a", { href: "./" }, t("account.search")),
                    (operator || needsSecondFactor) && element("a", { href: "console" }, t("account.console")))),
            element("main", {}, element("h1", {}, t("common.account")),
                needed, factor, sessions));
    }
}

customElements.define("account-second-factor", SecondFactor);
customElements.define("account-sessions", OwnSessions);
customElements.define("trawl-account", Account);
