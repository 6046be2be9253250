// Adding a source, step by step: what it is, how it is reached, the check, and where it is searched.
//
// From the check on it is registered, and disabled: whoever goes away in the middle finds it in the list and can go on.

import { element, foreign } from "../../shared/dom.js";
import { t } from "../../shared/language.js";
import { Check } from "../check.js";
import { keepDraft, readDraft } from "../drafts.js";
import { cancelLink, makeForm } from "../form.js";
import { putInto } from "../put-into.js";
import { accessGroups, addressFields, formOf, limitFields, toSource } from "../source-fields.js";
import { sign } from "../signs.js";
import { stateBadge } from "../states.js";
import { View } from "../view.js";

const STEPS = ["address", "access", "check", "module"];

class AddSource extends View {
    /** Goes from step to step without being made anew while nothing is registered. */
    goTo(place) {
        if (place.id || this.place.id) {
            return false;
        }
        this.#showForm(place.step, null);
        return true;
    }

    open() {
        const { id, step } = this.place;
        if (!id) {
            this.#showForm(step, null);
            return;
        }
        this.heading = t("add.title");
        this.loading(
            async () => (await this.call("GET", `/admin/v1/sources/${encodeURIComponent(id)}`)).data,
            (source) => (step === "module" ? this.#showModule(source) : this.#showCheck(source)),
        );
    }

    get #draft() {
        return readDraft(this.console.session, this.tenant);
    }

    #keep(draft) {
        keepDraft(this.console.session, this.tenant, draft);
    }

    #lay(step, ...children) {
        const place = STEPS.indexOf(step);
        const steps = element("ol", { class: "steps", "aria-label": t("add.steps") }, ...STEPS.map((name, other) => element(
            "li", { class: other < place ? "done" : null, "aria-current": other === place ? "step" : null },
            other < place ? sign("ok") : element("span", { class: "number", "aria-hidden": "true" }, other + 1),
            element("span", {}, t(`add.step-${name}`)),
        )));
        this.lay(t("add.title"), {}, steps, ...children);
    }

    /** The first two steps: each a form of its own, and nothing registered yet. */
    #showForm(step, refused) {
        const draft = this.#draft;
        // Who opens the second step without the first has to begin.
        if (step !== "access" || !draft.url) {
            const form = makeForm({
                groups: [{ fields: addressFields(draft) }], action: t("add.next"), beside: [cancelLink(this.console.href({ view: "sources" }))],
                send: async (values) => {
                    this.#keep({ ...this.#draft, ...values });
                    await this.go({ view: "add-source", step: "access" });
                },
            });
            this.#lay("address", form.node);
            if (refused) {
                form.refuse(refused);
            }
            return;
        }
        const back = element("a", { class: "button", href: this.console.href({ view: "add-source", step: "address" }) }, sign("back"), t("add.back"));
        const form = makeForm({
            groups: [...accessGroups(draft), { legend: t("source.limits"), fields: limitFields(draft) }],
            action: t("add.register"), beside: [back],
            send: async (values) => {
                const { auth: _, ...first } = this.#draft;
                const wanted = { ...first, ...toSource(values), enabled: false };
                this.#keep({ ...wanted, auth: { ...wanted.auth, clientSecret: undefined } });
                const { data } = await this.call("POST", "/admin/v1/sources", { body: wanted });
                this.#keep(null);
                // What is registered is gone on with; the forms before it would register it twice.
                await this.go({ view: "add-source", id: data.id, step: "check" }, { said: t("add.registered"), replace: true });
            },
            elsewhere: (name, message) => {
                const isHere = addressFields().some((field) => field.name === name);
                if (isHere) {
                    this.console.note({ view: "add-source", step: "address" });
                    this.place = this.console.place;
                    this.#showForm("address", { status: 400, message: `${name}: ${message}` });
                }
                return isHere;
            },
        });
        this.#lay("access", element("p", { class: "lead" }, foreign(draft.name), " · ", foreign(draft.url)), form.node);
    }

    #showCheck(source) {
        const after = element("div", { class: "after-check" });
        const check = new Check(this, source.id, (report) => this.#offer(after, source, report), after);
        this.#lay(
            "check",
            element("p", { class: "lead" }, foreign(source.name), " · ", foreign(source.url), " ", stateBadge(source)),
            element("p", {}, t("add.check-text")),
            check.node,
        );
        this.#offer(after, source, null);
    }

    /** What can be done after a check: after a failure, enabling takes a word more. */
    #offer(after, source, report) {
        const edit = element("a", { class: "button", href: this.console.href({ view: "sources", id: source.id, step: "edit" }) }, t("sources.edit"));
        const later = element("a", { href: this.console.href({ view: "sources" }) }, t("add.later"));
        const enable = (label) => {
            const button = element("button", { type: "button", class: report?.passed ? "main" : "grave" }, label);
            button.addEventListener("click", async () => {
                button.disabled = true;
                try {
                    await this.change(`/admin/v1/sources/${encodeURIComponent(source.id)}`, (now) => ({ ...formOf(now), enabled: true }));
                    await this.go({ view: "add-source", id: source.id, step: "module" }, { said: t("sources.enabled-said", { name: source.name }) });
                } catch (failure) {
                    this.console.complain(failure);
                    button.disabled = false;
                }
            });
            return button;
        };
        const next = element("a", { class: "button main", href: this.console.href({ view: "add-source", id: source.id, step: "module" }) }, t("add.to-module"));
        if (source.enabled) {
            after.replaceChildren(element("div", { class: "actions" }, next, edit));
        } else if (!report) {
            after.replaceChildren(element("div", { class: "actions" }, edit, later));
        } else if (report.passed) {
            after.replaceChildren(element("div", { class: "actions" }, enable(t("add.enable")), edit, later));
        } else {
            after.replaceChildren(
                element("p", { class: "notice warning" }, sign("warning"), element("span", {}, t("add.failed-text"))),
                element("div", { class: "actions" }, edit, later, enable(t("add.enable-all-the-same"))),
            );
        }
    }

    async #showModule(source) {
        const node = await putInto(this, source, async (said) => {
            await this.go({ view: "sources", id: source.id }, { said });
        });
        if (!this.signal.aborted) {
            this.#lay("module", element("p", { class: "lead" }, foreign(source.name), " ", stateBadge(source)), node);
        }
    }
}

customElements.define("console-add-source", AddSource);
