import { element, isolate } from "../../shared/dom.js";
import { t } from "../../shared/language.js";
import { timeElement } from "../format.js";
import { showSecrets } from "../dialog.js";
import { factList } from "../facts.js";
import { cancelLink, makeForm } from "../form.js";
import { badge } from "../source-state.js";
import { View } from "../view.js";

const NEW = "+";

/** For answers with secrets: they are shown even if the view ends meanwhile. */
const LASTING = { signal: undefined };

const KINDS = ["application", "domain", "admin"];

/** Every scope, with the kinds that may have it. */
const SCOPES = {
    "directory:read": KINDS, "directory:write": KINDS, "tenants": ["domain", "admin"], "tasks": KINDS, "contents:read": KINDS,
    "contents:write": KINDS, "collab": KINDS, "files": KINDS, "act-as-user": KINDS, "admin": ["admin"],
};

class Application extends View {
    get #path() {
        return `/admin/v1/applications/${encodeURIComponent(this.place.id)}`;
    }

    open() {
        this.heading = t("nav.applications");
        if (this.place.id === NEW) {
            this.#create();
        } else {
            this.loading(() => this.call("GET", this.#path), (loaded) => this.#show(loaded));
        }
    }

    #render(title, actions, ...children) {
        this.render(title, { above: this.linkBack({ view: "applications" }, t("nav.applications")), actions }, ...children);
    }

    #create() {
        const scopes = scopesField(["contents:read"], null);
        const form = makeForm({
            groups: [
                { fields: [
                    { name: "name", label: t("applications.name"), required: true },
                    {
                        name: "kind", kind: "choice", label: t("applications.kind"), value: "application", hint: t("applications.kind-hint"),
                        options: KINDS.map((kind) => [kind, t(`kind.${kind}`)]),
                    },
                ] },
                { when: ({ kind }) => kind === "domain", fields: [boundField([])] },
                { fields: [scopes] },
                { when: ({ kind }) => kind === "application", fields: [{ name: "public", kind: "check", label: t("applications.public"), hint: t("applications.public-hint") }] },
                { fields: [redirectsField([])] },
            ],
            action: t("applications.create"), beside: [cancelLink(this.console.href({ view: "applications" }))],
            send: async (values) => {
                const { data } = await this.call("POST", "/admin/v1/applications", { body: values, ...LASTING });
                await showSecrets(t("secret.title"), t("secret.text"), [
                    [t("applications.client-id"), data.clientId],
                    ...(data.clientSecret ? [[t("applications.client-secret"), data.clientSecret]] : []),
                    [t("applications.callback-key"), data.callbackKey],
                ]);
                await this.go({ view: "applications", id: data.clientId });
            },
        });
        followKind(form);
        this.#render(t("applications.add"), [], form.node);
    }

    #show(loaded) {
        const application = loaded.data;
        const form = makeForm({
            groups: [
                { fields: [{ name: "name", label: t("applications.name"), value: application.name }] },
                ...(application.kind === "domain" ? [{ fields: [boundField(application.bound)] }] : []),
                { fields: [scopesField(application.scopes, application.kind), redirectsField(application.redirectUris)] },
            ],
            action: t("console.save"),
            reload: () => this.open(), lastChange: () => this.lastChange("application", application.clientId),
            send: async (_, changed, isOver) => {
                // Absent fields stay; an empty text, unlike null, clears one.
                const body = { ...changed, name: "name" in changed ? changed.name ?? "" : undefined };
                await this.#change(body, isOver ? await this.call("GET", this.#path) : loaded);
            },
        });
        const toggle = element("button", { type: "button", click: () => this.#toggle(loaded) }, t(application.disabled ? "sources.enable" : "sources.disable"));
        const rotate = element("button", { type: "button", click: () => this.#rotate(application) }, t("applications.rotate"));
        const remove = element("button", { type: "button", class: "grave", click: () => this.#remove(loaded) }, t("console.remove"));
        const facts = [
            [t("applications.client-id"), element("code", {}, application.clientId)],
            [t("applications.kind"), [t(`kind.${application.kind}`), application.public && `, ${t("applications.public")}`]],
            [t("sources.state"), application.disabled ? badge("faint", "off", t("state.disabled")) : badge("good", "ok", t("applications.in-use"))],
            [t("applications.created"), timeElement(application.createdAt)], [t("applications.last-used"), timeElement(application.lastUsedAt)],
            application.previousSecretUntil && [t("applications.previous-until"), timeElement(application.previousSecretUntil)],
        ].filter(Boolean);
        this.#render(
            isolate(application.name || t("applications.unnamed")), [toggle, !application.public && rotate, remove].filter(Boolean),
            element("section", { class: "panel" }, factList(facts)),
            form.node,
        );
    }

    async #change(body, loaded) {
        await this.save(this.#path, loaded, () => body);
        await this.go(this.place, { said: t("console.saved"), replace: true });
    }

    async #toggle(loaded) {
        const { name, disabled } = loaded.data;
        if (!await this.console.confirmLeave()) {
            return;
        }
        const go = disabled || await this.ask({
            title: t("sources.disable-title", { name }), text: t("applications.disable-text"), action: t("sources.disable"), grave: true,
        });
        await this.doing(go, () => this.#change({ disabled: !disabled }, loaded));
    }

    async #rotate({ name }) {
        if (!await this.console.confirmLeave()) {
            return;
        }
        const go = await this.ask({ title: t("applications.rotate-title", { name }), text: t("applications.rotate-text"), action: t("applications.rotate") });
        await this.doing(go, async () => {
            const { data } = await this.call("POST", `${this.#path}/secret`, LASTING);
            await showSecrets(t("secret.title"), t("secret.text"), [[t("applications.client-secret"), data.clientSecret]]);
            await this.go(this.place, { replace: true });
        });
    }

    async #remove({ data: { name }, etag }) {
        const go = await this.ask({ title: t("sources.remove-title", { name }), text: t("applications.remove-text"), action: t("console.remove"), grave: true });
        await this.doing(go, async () => {
            await this.call("DELETE", this.#path, { match: etag });
            await this.go({ view: "applications" }, { said: t("console.removed", { name }) });
        });
    }
}

function scopesField(scopes, kind) {
    const options = Object.keys(SCOPES).filter((scope) => kind === null || SCOPES[scope].includes(kind));
    return {
        name: "scopes", kind: "checks", label: t("applications.scopes"), value: scopes,
        options: options.map((scope) => [scope, scope, t(`scope.${scope}`)]),
    };
}

function boundField(bound) {
    return { name: "bound", kind: "lines", label: t("applications.bound"), value: bound, hint: t("applications.bound-hint") };
}

function redirectsField(addresses) {
    return { name: "redirectUris", kind: "lines", label: t("applications.redirects"), value: addresses, hint: t("applications.redirects-hint") };
}

/** Hides scopes that the chosen kind cannot have. */
function followKind(form) {
    const settle = () => {
        const { kind } = form.values();
        for (const row of form.node.querySelectorAll(".checks > [data-value]")) {
            row.hidden = !SCOPES[row.dataset.value].includes(kind);
        }
    };
    form.node.addEventListener("input", settle);
    settle();
}

customElements.define("console-application", Application);
