// Adds a source in steps. It is registered, disabled, before its check: the list can continue it.

import { element, isolate } from "../../shared/dom.js";
import { t } from "../../shared/language.js";
import { Check } from "../check.js";
import { saveDraft, readDraft } from "../drafts.js";
import { cancelLink, makeForm } from "../form.js";
import { addToModuleForm } from "../add-to-module.js";
import { accessGroups, addressFields, draftOf, formOf, limitFields, toSource, withoutSecrets } from "../source-fields.js";
import { Trial } from "../trial.js";
import { icon } from "../icons.js";
import { stateBadge } from "../source-state.js";
import { View } from "../view.js";

const STEPS = ["address", "access", "check", "module"];

/** Keywords of the checks to run at once, by the ids of the sources that were just registered. */
const checksToRun = new Map();

class AddSource extends View {
    /** Steps without an id share one view. */
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
        saveDraft(this.console.session, this.tenant, draft);
    }

    #render(step, ...children) {
        const place = STEPS.indexOf(step);
        const steps = element("ol", { class: "steps", "aria-label": t("add.steps") }, ...STEPS.map((name, other) => element(
            "li", { class: other < place ? "done" : null, "aria-current": other === place ? "step" : null },
            other < place ? icon("ok") : element("span", { class: "number", "aria-hidden": "true" }, other + 1),
            element("span", {}, t(`add.step-${name}`)),
        )));
        this.render(t("add.title"), {}, steps, ...children);
    }

    /** Systems whose own search is mapped to the contract. */
    #showGallery() {
        this.heading = t("gallery.title");
        const above = this.linkBack({ view: "add-source" }, t("add.title"));
        this.loading(() => this.call("GET", "/admin/v1/gallery"), ({ data }) => {
            const choose = (entry) => async () => {
                this.#keep(draftOf(entry));
                await this.go({ view: "add-source", step: "address" });
            };
            this.render(t("gallery.title"), { above, lead: t("gallery.text") }, element("ul", { class: "gallery" }, ...data.map((entry) => element(
                "li", {},
                element("h2", {}, element("button", { type: "button", class: "link", click: choose(entry) }, isolate(entry.name))),
                element("p", { lang: "en" }, entry.about),
                element("p", { class: "faint", lang: "en" }, t("gallery.tested"), " ", entry.tested, ". ",
                    element("a", { href: entry.documentation, rel: "noopener noreferrer", target: "_blank" }, t("gallery.documentation"))),
            ))));
        });
    }

    /** Where a draft comes from, and another choice. */
    #origin(draft) {
        const gallery = (label) => element("a", { href: this.console.href({ view: "add-source", step: "gallery" }) }, label);
        if (!draft.mapping) {
            return element("p", { class: "lead" }, t("gallery.none"), " ", gallery(t("gallery.choose")));
        }
        const contract = element("button", { type: "button", class: "link", click: () => {
            this.#keep(null);
            this.#showForm("address", null);
        } }, t("gallery.contract"));
        return element("p", { class: "lead" }, t("gallery.chosen"), " ", gallery(t("gallery.other")), " · ", contract);
    }

    /** The first two steps: forms, nothing is registered yet. */
    #showForm(step, refused) {
        if (step === "gallery") {
            this.#showGallery();
            return;
        }
        const { from, ...draft } = this.#draft;
        if (step !== "access" || !draft.url) {
            const form = makeForm({
                groups: [{ fields: addressFields(draft) }], action: t("add.next"), beside: [cancelLink(this.console.href({ view: "sources" }))],
                send: async (values) => {
                    this.#keep({ ...this.#draft, ...values });
                    const { kind, mapping } = draft;
                    await this.call("POST", "/admin/v1/sources", { query: { dryRun: true }, body: { kind, mapping, ...values } });
                    await this.go({ view: "add-source", step: "access" });
                },
            });
            this.#render("address", this.#origin(draft), form.node);
            if (refused) {
                form.refuse(refused);
            }
            return;
        }
        const back = element("a", { class: "button", href: this.console.href({ view: "add-source", step: "address" }) }, icon("back"), t("add.back"));
        const form = makeForm({
            groups: [
                ...accessGroups(draft), { legend: t("source.limits"), fields: limitFields(draft) },
                { legend: t("add.step-check"), fields: [
                    { name: "keyword", label: t("check.keyword"), hint: t("check.keyword-hint") },
                ] },
            ],
            action: t("add.register"), beside: [back],
            send: async ({ keyword, ...values }) => {
                const { auth: _, from: __, ...first } = this.#draft;
                const wanted = { ...first, ...toSource(values), enabled: false };
                this.#keep({ ...withoutSecrets(wanted), from });
                const { data } = await this.call("POST", "/admin/v1/sources", { body: wanted });
                this.#keep(null);
                checksToRun.set(data.id, keyword ?? "");
                // Going back would register it twice.
                await this.go({ view: "add-source", id: data.id, step: "check" }, { said: t("add.registered"), replace: true });
            },
            elsewhere: (name, message) => {
                const isHere = addressFields().some((field) => field.name === name);
                if (isHere) {
                    this.console.recordPlace({ view: "add-source", step: "address" });
                    this.place = this.console.place;
                    this.#showForm("address", { status: 400, message: `${name}: ${message}` });
                }
                return isHere;
            },
        });
        const origin = from && element("p", { class: "hint" }, t("gallery.from"), " ", element("span", { lang: "en" }, from));
        this.#render("access", element("p", { class: "lead" }, isolate(draft.name), " · ", isolate(draft.url)), origin, form.node);
    }

    #showCheck(source) {
        const after = element("div", { class: "after-check" });
        const check = new Check(this, source, (report) => this.#offer(after, source, report), after);
        this.#render(
            "check",
            element("p", { class: "lead" }, isolate(source.name), " · ", isolate(source.url), " ", stateBadge(source)),
            source.kind === "mapping" && new Trial(this, source).node,
            element("p", {}, t("add.check-text")),
            check.node,
        );
        this.#offer(after, source, null);
        const keyword = checksToRun.get(source.id);
        if (checksToRun.delete(source.id)) {
            check.start(keyword);
        }
    }

    /** Actions after a check; enabling after a failure is marked as grave. */
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
                    this.console.showError(failure);
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
                element("p", { class: "notice warning" }, icon("warning"), element("span", {}, t("add.failed-text"))),
                element("div", { class: "actions" }, edit, later, enable(t("add.enable-all-the-same"))),
            );
        }
    }

    async #showModule(source) {
        const node = await addToModuleForm(this, source, async (said) => {
            await this.go({ view: "sources", id: source.id }, { said });
        });
        if (!this.signal.aborted) {
            this.#render("module", element("p", { class: "lead" }, isolate(source.name), " ", stateBadge(source)), node);
        }
    }
}

customElements.define("console-add-source", AddSource);
