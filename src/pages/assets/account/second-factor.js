// The second factor: off or on, and the steps between.

import { call } from "../shared/api.js";
import { element, fill } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { exactTime } from "../shared/time.js";
import { explain } from "./failure.js";
import { stepForm } from "./step-form.js";

const PATH = "/session/second_factor";

/** Dispatches `change` after one was set up or turned off. */
export class SecondFactor extends HTMLElement {
    #heading = element("h2", { tabindex: "-1", id: "factor-title" }, t("factor.title"));
    #said = element("p", { class: "said", role: "status" });
    #step = element("div");
    /** The person's login. */
    login = "";

    connectedCallback() {
        fill(this, element("section", { "aria-labelledby": "factor-title" }, this.#heading, this.#said, this.#step));
        this.#load();
    }

    async #load() {
        try {
            const { data } = await call("GET", PATH);
            this.#overview(data);
        } catch (failure) {
            fill(this.#step, element("p", { class: "alarm", role: "alert" }, explain(failure)));
        }
    }

    #overview(factor) {
        const { enabled, confirmedAt, recoveryCodes, hasPassword } = factor;
        if (!enabled && !hasPassword) {
            fill(this.#step, element("p", {}, t("factor.issuer")));
            return;
        }
        const button = (text, click, name = "") => element("button", { type: "button", class: name, click }, text);
        fill(this.#step,
            element("p", {}, t(!hasPassword ? "factor.no-password" : enabled ? "factor.on" : "factor.off")),
            enabled && element("p", { class: "faint" }, t("factor.since", { time: exactTime(confirmedAt) }), " ", t("factor.left", { count: recoveryCodes })),
            hasPassword && element("div", { class: "actions" }, ...enabled
                ? [button(t("factor.renew"), () => this.#prove(factor)), button(t("factor.turn-off"), () => this.#turnOff(factor))]
                : [button(t("factor.turn-on"), () => this.#prove(factor), "main")]));
    }

    /** Asks for what proves the person before a new secret is shown. */
    #prove(factor) {
        this.#ask(factor, t("factor.go-on"), async (proof) => {
            const { data } = await call("POST", PATH, { body: proof });
            this.#showSecret(factor, data);
        });
    }

    #turnOff(factor) {
        this.#ask(factor, t("factor.turn-off"), async (proof) => {
            await call("POST", `${PATH}/remove`, { body: proof });
            this.dispatchEvent(new Event("change"));
            this.#end(t("factor.turned-off"));
        });
    }

    #ask(factor, submit, send) {
        const fields = [
            { name: "password", label: t("factor.password"), type: "password", autocomplete: "current-password" },
            factor.enabled && { name: "code", label: t("factor.code-or-recovery"), autocomplete: "one-time-code" },
        ].filter(Boolean);
        this.#go(stepForm({ fields, submit, send, cancel: () => this.#end(), login: this.login }));
    }

    #showSecret(factor, { uri, secret, qr }) {
        const form = stepForm({
            fields: [{ name: "code", label: t("factor.code"), autocomplete: "one-time-code", inputmode: "numeric" }],
            submit: t("factor.confirm"), cancel: () => this.#end(),
            send: async (sent) => {
                const { data } = await call("POST", `${PATH}/confirm`, { body: sent });
                this.dispatchEvent(new Event("change"));
                this.#showCodes(data.recoveryCodes);
            },
        });
        this.#go(
            element("p", {}, t("factor.scan")),
            element("img", { class: "qr", alt: t("factor.qr"), src: `data:image/svg+xml,${encodeURIComponent(qr)}` }),
            element("p", {}, t("factor.type"), " ", element("code", { class: "secret" }, secret)),
            element("p", {}, element("a", { href: uri }, t("factor.open"))), form);
    }

    #showCodes(codes) {
        this.#go(
            element("p", {}, t("factor.codes")),
            element("ul", { class: "codes" }, ...codes.map((code) => element("li", {}, element("code", {}, code)))),
            element("div", { class: "actions" },
                element("button", { type: "button", class: "main", click: () => this.#end(t("factor.turned-on")) }, t("factor.kept"))));
    }

    #go(...content) {
        this.#said.textContent = "";
        fill(this.#step, ...content);
        (this.#step.querySelector("input") ?? this.#heading).focus();
    }

    /** Shows the state again, with what was done. */
    async #end(said = "") {
        await this.#load();
        this.#said.textContent = said;
        this.#heading.focus();
    }
}
