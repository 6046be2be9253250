import { element, isolate } from "../../shared/dom.js";
import { number, t } from "../../shared/language.js";
import { size, timeElement } from "../format.js";
import { factList } from "../facts.js";
import { cancelLink, makeForm } from "../form.js";
import { View } from "../view.js";
import { tenantBadge } from "./tenants.js";

const NEW = "+";

const PROFILE = ["enterpriseName", "shortName", "enterpriseVersion", "enterpriseIntroduction", "enterpriseAddress", "enterpriseMail", "contactName", "contactPhone"];
const LONG = ["enterpriseIntroduction", "enterpriseAddress"];

class Tenant extends View {
    get #path() {
        return `/admin/v1/tenants/${encodeURIComponent(this.place.id)}`;
    }

    open() {
        this.heading = t("nav.tenants");
        if (this.place.id === NEW) {
            this.#register();
        } else {
            this.loading(() => this.call("GET", this.#path), (loaded) => this.#show(loaded));
        }
    }

    #render(title, actions, ...children) {
        this.render(title, { above: this.linkBack({ view: "tenants" }, t("nav.tenants")), actions }, ...children);
    }

    #register() {
        const form = makeForm({
            groups: [{ fields: [
                ...PROFILE.map((name) => ({
                    name, kind: LONG.includes(name) ? "long" : "text", label: t(`profile.${name}`), required: name === "enterpriseName",
                })),
                { name: "eCode", label: t("tenants.code"), hint: t("tenants.code-hint") },
                { name: "isAllowManage", kind: "check", label: t("tenants.allow-manage"), hint: t("tenants.allow-manage-hint"), value: true },
            ] }],
            action: t("tenants.register"), beside: [cancelLink(this.console.href({ view: "tenants" }))],
            send: async (values) => {
                const { data: code } = await this.call("POST", "/v1/enterprises/register", { body: values });
                this.console.tenantsChanged();
                await this.go({ view: "tenants", id: code }, { said: t("tenants.registered", { code }) });
            },
        });
        this.#render(t("tenants.add"), [], form.node);
    }

    #show(loaded) {
        const tenant = loaded.data;
        // It would lock the operator out.
        const isOwn = tenant.eCode === this.console.session.tenant.code;
        const freeze = element("button", { type: "button", disabled: isOwn && !tenant.frozen, click: () => this.#freeze(tenant) },
            t(tenant.frozen ? "tenants.unfreeze" : "tenants.freeze"));
        const remove = element("button", { type: "button", class: "grave", disabled: isOwn, click: () => this.#delete(tenant) }, t("tenants.delete"));
        const form = makeForm({
            groups: [{ legend: t("tenants.settings"), fields: [
                { name: "loginSuffix", label: t("tenants.login-suffix"), value: tenant.loginSuffix, hint: t("tenants.login-suffix-hint") },
                { name: "allowOuterMembers", kind: "check", label: t("tenants.outer"), value: tenant.allowOuterMembers, hint: t("tenants.outer-hint") },
                { name: "searchInsights", kind: "check", label: t("tenants.insights"), value: tenant.searchInsights, hint: t("tenants.insights-hint") },
                bytesField("quotaBytes", t("tenants.quota"), tenant.quotaBytes),
                bytesField("subjectQuotaBytes", t("tenants.subject-quota"), tenant.subjectQuotaBytes),
                { name: "labelLimit", kind: "number", label: t("tenants.labels"), value: tenant.labelLimit, min: 0, max: 1000, required: true },
                { name: "administrators", kind: "lines", label: t("tenants.administrators"), value: tenant.administrators, hint: t("tenants.administrators-hint") },
            ] }],
            action: t("console.save"), beside: [cancelLink(this.console.href({ view: "tenants" }))],
            reload: () => this.open(),
            // Another tenant than the one that is acted on.
            lastChange: () => this.lastChange("tenant", tenant.eCode, { allTenants: true }),
            send: async (_, changed, isOver) => {
                // Absent fields stay; an empty text, unlike null, clears one.
                const loginSuffix = "loginSuffix" in changed ? changed.loginSuffix ?? "" : undefined;
                const base = isOver ? await this.call("GET", this.#path) : loaded;
                await this.save(this.#path, base, () => ({ ...changed, loginSuffix }));
                await this.go(this.place, { said: t("console.saved"), replace: true });
            },
        });
        const told = PROFILE.filter((name) => tenant.profile[name]);
        const facts = [
            [t("tenants.code"), element("code", {}, tenant.eCode)], [t("sources.state"), tenantBadge(tenant)],
            [t("tenants.created"), timeElement(tenant.createdAt)], [t("tenants.allow-manage"), t(tenant.isAllowManage ? "console.yes" : "console.no")],
            ...told.map((name) => [t(`profile.${name}`), isolate(String(tenant.profile[name]))]),
        ];
        this.#render(
            isolate(tenant.name), [freeze, remove],
            isOwn && element("p", { class: "faint" }, t("tenants.own")),
            element("section", { class: "panel" }, factList(facts)),
            form.node,
        );
    }

    async #freeze({ eCode, name, frozen }) {
        if (!await this.console.confirmLeave()) {
            return;
        }
        const go = frozen || await this.ask({ title: t("tenants.freeze-title", { name }), text: t("tenants.freeze-text"), action: t("tenants.freeze"), grave: true });
        await this.#decide(go, frozen ? "unfreeze" : "freeze", eCode, async () => {
            await this.go(this.place, { said: t(frozen ? "tenants.unfrozen-said" : "tenants.frozen-said", { name }), replace: true });
        });
    }

    async #delete({ eCode, name }) {
        const go = await this.ask({ title: t("tenants.delete-title", { name }), text: t("tenants.delete-text"), action: t("tenants.delete"), grave: true, typed: eCode });
        await this.#decide(go, "delete", eCode, async () => {
            const acted = this.console.place.tenant === eCode ? null : this.console.place.tenant;
            await this.go({ view: "tenants", tenant: acted }, { said: t("console.removed", { name }) });
        });
    }

    async #decide(go, fate, eCode, done) {
        if (!go) {
            return;
        }
        try {
            // The other tenant may be frozen.
            await this.call("POST", `/v1/enterprises/${fate}`, { query: { eCode }, tenant: null });
            this.console.tenantsChanged();
            await done();
        } catch (failure) {
            this.console.showError(failure);
        }
    }
}

function bytesField(name, label, value) {
    const hint = value > 0 ? `${t("tenants.quota-hint")} ${t("tenants.quota-now", { size: size(value), bytes: number(value) })}` : t("tenants.quota-hint");
    return { name, kind: "number", label, value, min: 0, step: 1, required: true, unit: t("tenants.bytes"), hint };
}

customElements.define("console-tenant", Tenant);
