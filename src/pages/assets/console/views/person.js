import { serverNow } from "../../shared/api.js";
import { browserName } from "../../shared/browser-name.js";
import { element, isolate } from "../../shared/dom.js";
import { t } from "../../shared/language.js";
import { clearAllRecent } from "../../shared/recent.js";
import { notifyTabs } from "../../shared/session.js";
import { clearDrafts } from "../drafts.js";
import { factList } from "../facts.js";
import { timeElement } from "../format.js";
import { icon } from "../icons.js";
import { badge } from "../source-state.js";
import { table } from "../table.js";
import { View } from "../view.js";
import { departmentOf, isActive, personState } from "./people.js";

class Person extends View {
    get #path() {
        return `/admin/v1/people/${encodeURIComponent(this.place.id)}`;
    }

    open() {
        this.heading = t("nav.people");
        this.loading(async () => (await this.call("GET", this.#path)).data, (person) => this.#show(person));
    }

    #show(person) {
        const { userId } = person;
        const link = (place, text) => element("a", { class: "button", href: this.console.href(place) }, text);
        const actions = [
            isActive(person) && link({ view: "try", userId }, t("person.search-as")), link({ view: "audit", userId }, t("person.deeds")),
            person.secondFactorSince !== null && element("button", { type: "button", click: () => this.#resetFactor(person) }, t("person.reset-factor")),
            element("button", { type: "button", class: "grave", click: () => this.#signOut(person) }, t("person.sign-out")),
        ];
        const facts = [
            [t("people.login"), isolate(person.loginId)], [t("person.user-id"), element("code", {}, isolate(userId))],
            [t("people.department"), departmentOf(person)], [t("sources.state"), personState(person)],
            [t("person.mail"), person.email ? isolate(person.email) : "–"], [t("person.mobile"), person.mobile ? isolate(person.mobile) : "–"],
            [t("person.password"), t(person.hasPassword ? "console.yes" : "person.no-password")],
            [t("person.second-factor"), person.secondFactorSince === null ? t("person.no-second-factor") : timeElement(person.secondFactorSince)],
            person.isOperator && [t("person.operator"), t("console.yes")],
            [t("person.changed"), timeElement(person.updatedAt)],
        ].filter(Boolean);
        this.render(
            isolate(person.name || person.loginId || userId), { above: this.linkBack({ view: "people" }, t("nav.people")), actions },
            person.throttledForMs > 0 && throttled(person.throttledForMs),
            element("section", { class: "panel" }, factList(facts)),
            element("section", {}, element("h2", {}, t("people.sessions")), this.#sessions(person.sessions)),
        );
    }

    #sessions(sessions) {
        const columns = ["application", "by", "from", "began", "used", "ends"].map((key) => t(`session.${key}`));
        return table({ caption: t("people.sessions"), columns: [...columns, ""], empty: t("person.no-sessions"), rows: sessions.map((session) => {
            const { id, clientId, application, issuer, address, userAgent, createdAt, usedAt, expiresAt, isCurrent } = session;
            const name = application || clientId;
            return { key: id, cells: [
                [
                    isolate(name), application && element("div", { class: "faint" }, element("code", { class: "address" }, isolate(clientId))),
                    isCurrent && element("div", {}, badge("good", "ok", t("session.current"))),
                ],
                issuer === null ? t("session.login-page") : isolate(issuer), origin(address, userAgent), timeElement(createdAt), timeElement(usedAt), timeElement(expiresAt),
                element("button", { type: "button", class: "small", "aria-label": t("session.end-it", { name }), click: () => this.#end(session) }, t("session.end")),
            ] };
        }) });
    }

    async #end({ id, isCurrent }) {
        const go = !isCurrent || await this.ask({
            title: t("session.end-own-title"), text: t("session.end-own-text"), action: t("session.end"), grave: true,
        });
        await this.doing(go, async () => {
            await this.call("DELETE", `${this.#path}/sessions/${encodeURIComponent(id)}`);
            await this.#ended(isCurrent, t("session.ended"));
        });
    }

    async #resetFactor({ userId, name, loginId }) {
        const go = await this.ask({
            title: t("person.reset-factor-title", { name: name || loginId || userId }), text: t("person.reset-factor-text"), action: t("person.reset-factor"), grave: true,
        });
        await this.doing(go, async () => {
            await this.call("DELETE", `${this.#path}/second_factor`);
            await this.go(this.place, { said: t("person.factor-reset"), replace: true });
        });
    }

    async #signOut({ userId, name, loginId, sessions }) {
        const isOwn = sessions.some(({ isCurrent }) => isCurrent);
        const text = [t("person.sign-out-text"), isOwn && t("person.sign-out-own")].filter(Boolean).join(" ");
        const go = await this.ask({ title: t("person.sign-out-title", { name: name || loginId || userId }), text, action: t("person.sign-out"), grave: true });
        await this.doing(go, async () => {
            const { data } = await this.call("POST", `${this.#path}/sign_out`);
            await this.#ended(isOwn, t("person.signed-out", { count: data.sessions }));
        });
    }

    /** Shows what is left, or the sign-in page where the operator's own session has ended. */
    async #ended(isOwn, said) {
        if (isOwn) {
            clearAllRecent();
            clearDrafts();
            notifyTabs("signed out");
            this.console.leaveFor("console");
        } else {
            await this.go(this.place, { said, replace: true });
        }
    }
}

function origin(address, userAgent) {
    return [isolate(browserName(userAgent) || "–"), address && element("div", { class: "faint" }, isolate(address))];
}

function throttled(milliseconds) {
    return element(
        "div", { class: "notice warning" }, icon("warning"),
        element("p", {}, t("person.throttled"), " ", element("count-down", { until: serverNow() + milliseconds })),
    );
}

customElements.define("console-person", Person);
