// The person's sessions, of which they end one or all others.

import { call } from "../shared/api.js";
import { browserName } from "../shared/browser-name.js";
import { element, fill, isolate } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { exactTime } from "../shared/time.js";
import { explain } from "./failure.js";

const PATH = "/v1/sessions";

export class OwnSessions extends HTMLElement {
    #heading = element("h2", { tabindex: "-1", id: "sessions-title" }, t("sessions.title"));
    #said = element("p", { class: "said", role: "status" });
    #failed = element("p", { class: "alarm", role: "alert" });
    #list = element("ul", { class: "sessions" });
    #others = element("button", { type: "button", click: () => this.#end("", t("sessions.others-ended")) }, t("sessions.end-others"));

    connectedCallback() {
        fill(this, element("section", { "aria-labelledby": "sessions-title" }, this.#heading,
            element("p", { class: "faint" }, t("sessions.lead")), this.#said, this.#failed, this.#list, element("div", { class: "actions" }, this.#others)));
        this.load();
    }

    async load() {
        try {
            const { data } = await call("GET", PATH);
            this.#failed.textContent = "";
            this.#others.hidden = data.length < 2;
            fill(this.#list, ...data.map((session) => this.#row(session)));
        } catch (failure) {
            this.#failed.textContent = explain(failure);
        }
    }

    #row({ id, userAgent, address, issuer, application, createdAt, usedAt, isCurrent }) {
        const name = browserName(userAgent) || t("sessions.unknown");
        const facts = [address, issuer, application].filter(Boolean);
        return element("li", { "data-session": id }, element("div", {},
            element("strong", {}, isolate(name)), isCurrent && [" · ", t("sessions.current")],
            element("div", { class: "faint" }, ...facts.flatMap((fact, place) => [place > 0 && " · ", isolate(fact)])),
            element("div", { class: "faint" }, t("sessions.times", { began: exactTime(createdAt), used: exactTime(usedAt) }))),
        !isCurrent && element("div", { class: "end" }, element("button", {
            type: "button", "aria-label": t("sessions.end-it", { name, began: exactTime(createdAt) }),
            click: () => this.#end(`/${id}`, t("sessions.ended")),
        }, t("sessions.end"))));
    }

    async #end(path, said) {
        try {
            await call("DELETE", `${PATH}${path}`);
        } catch (failure) {
            // Another page may have ended it.
            if (failure.status !== 404) {
                this.#failed.textContent = explain(failure);
                return;
            }
        }
        await this.load();
        this.#said.textContent = said;
        this.#heading.focus();
    }
}
