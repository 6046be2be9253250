import { serverNow } from "../../shared/api.js";
import { element, isolate } from "../../shared/dom.js";
import { number, t } from "../../shared/language.js";
import { factList } from "../facts.js";
import { cancelLink, makeForm } from "../form.js";
import { duration, timeElement } from "../format.js";
import { morph } from "../morph.js";
import { poll } from "../polling.js";
import { bodyOf, formOf, formGroups } from "../subscription-form.js";
import { addressOf, explainRun, nextRun, stateBadge } from "../subscription-state.js";
import { table } from "../table.js";
import { View } from "../view.js";
import { viewers } from "../viewers.js";

const NEW = "+";
const MINUTE = 60_000;

class Subscription extends View {
    get #path() {
        return `/admin/v1/subscriptions/${encodeURIComponent(this.place.id)}`;
    }

    get #isNew() {
        return this.place.id === NEW;
    }

    open() {
        this.heading = t("nav.subscriptions");
        const isForm = this.#isNew || this.place.step === "edit";
        this.loading(async () => {
            const [loaded, modules] = await Promise.all([
                this.#isNew ? null : this.call("GET", this.#path), isForm ? this.call("GET", "/admin/v1/modules") : null,
            ]);
            return { loaded, modules: modules?.data };
        }, ({ loaded, modules }) => (isForm ? this.#edit(loaded, modules) : this.#show(loaded)));
    }

    #show(loaded) {
        let known = loaded;
        const failed = element("div");
        const state = element("div", { class: "panels" });
        const live = poll({
            signal: this.signal,
            load: (options) => this.call("GET", this.#path, options),
            show: (now) => {
                known = now;
                morph(state, ...[this.#lastRun(now.data), this.#problems(now.data), this.#settings(now.data)].filter(Boolean));
            },
            failed,
        });
        const run = element("button", { type: "button", click: () => this.doing(true, async () => {
            await this.call("POST", `${this.#path}/run`);
            this.console.showNotice(t("subscription.run-said", { name: known.data.name }));
            await live.refresh();
        }) }, t("subscription.run"));
        const edit = element("a", { class: "button", href: this.console.href({ view: "subscriptions", id: this.place.id, step: "edit" }) }, t("subscription.edit"));
        const remove = element("button", { type: "button", class: "grave", click: () => this.#remove(known) }, t("console.remove"));
        const above = this.linkBack({ view: "subscriptions" }, t("nav.subscriptions"));
        this.render(isolate(loaded.data.name), { above, actions: [run, edit, remove] }, failed, state);
    }

    #lastRun(subscription) {
        const { kind, lastRun, items, runs, failures } = subscription;
        const counts = lastRun && ["received", "added", "changed", "removed", "refused", ...kind === "folder" ? ["leftOut", "incomplete"] : []]
            .map((name) => [t(`subscription.${name}`), number(lastRun[name])]);
        const facts = [
            [t("subscriptions.last-run"), timeElement(lastRun?.finishedAt)],
            [t("subscription.took"), lastRun ? duration(lastRun.finishedAt - lastRun.startedAt) : "–"],
            [t("subscriptions.next-run"), nextRun(subscription, serverNow())],
            ...counts ?? [],
            [t("subscriptions.items"), number(items)], [t("subscription.runs"), number(runs)], [t("subscription.failures"), number(failures)],
        ];
        return element(
            "section", { class: "panel", "data-key": "run", "aria-labelledby": "last-run" },
            element("h2", { id: "last-run" }, t("subscriptions.state")),
            element("p", { class: "sum" }, stateBadge(subscription)), element("div", { class: "why" }, ...explainRun(subscription)), factList(facts),
        );
    }

    #problems({ lastRun }) {
        const rows = (lastRun?.problems ?? []).map(({ id, reason }, place) => ({ key: String(place), cells: [
            id === null ? t("subscription.no-id") : element("code", {}, isolate(id)), element("span", { lang: "en", dir: "auto" }, isolate(reason)),
        ] }));
        return rows.length > 0 && element(
            "section", { class: "panel wide", "data-key": "problems", "aria-labelledby": "problems" },
            element("h2", { id: "problems" }, t("subscription.problems")),
            table({ caption: t("subscription.problems"), columns: [t("subscription.entry"), t("subscription.reason")], rows }),
        );
    }

    #settings(subscription) {
        const { id, kind, module, intervalMinutes, keepDays, enabled, visibility } = subscription;
        const facts = [
            [t("subscription.id"), element("code", {}, id)],
            [t("subscription.kind"), t(`subscription.kind-${kind}`)],
            [t("subscription.address"), element("span", { class: "address" }, isolate(addressOf(subscription)))],
            [t("subscription.module"), element("a", { href: this.console.href({ view: "contents", kind: module }) }, isolate(module))],
            [t("subscription.interval"), duration(intervalMinutes * MINUTE)],
            [t("subscription.keep"), keepDays === null ? t("subscription.for-ever") : t("subscription.days", { count: keepDays, said: number(keepDays) })],
            [t("subscription.enabled"), t(enabled ? "console.yes" : "console.no")],
            [t("content.visibility"), viewers(visibility)],
        ];
        return element(
            "section", { class: "panel wide", "data-key": "settings", "aria-labelledby": "settings" },
            element("h2", { id: "settings" }, t("subscription.settings")), factList(facts),
        );
    }

    async #remove({ data: { name }, etag }) {
        const go = await this.ask({ title: t("subscription.remove-title", { name }), text: t("subscription.remove-text"), action: t("console.remove"), grave: true });
        await this.doing(go, async () => {
            await this.call("DELETE", this.#path, { match: etag });
            await this.go({ view: "subscriptions" }, { said: t("console.removed", { name }) });
        });
    }

    #edit(loaded, modules) {
        const subscription = loaded?.data;
        const back = this.#isNew ? { view: "subscriptions" } : { view: "subscriptions", id: this.place.id };
        const form = makeForm({
            groups: formGroups(modules, subscription),
            action: t(this.#isNew ? "subscription.create" : "console.save"), beside: [cancelLink(this.console.href(back))],
            reload: () => this.open(), lastChange: () => this.lastChange("subscription", this.place.id),
            send: async (values, changed, isOver) => {
                let { id } = this.place;
                if (this.#isNew) {
                    ({ id } = (await this.call("POST", "/admin/v1/subscriptions", { body: bodyOf(values) })).data);
                } else {
                    const alter = (now) => bodyOf(changed, formOf(now));
                    await (isOver ? this.change(this.#path, alter) : this.save(this.#path, loaded, alter));
                }
                await this.go({ view: "subscriptions", id }, { said: t("console.saved") });
            },
        });
        const title = this.#isNew ? t("subscriptions.add") : t("subscription.edit-title", { name: subscription.name });
        const above = this.linkBack(back, this.#isNew ? t("nav.subscriptions") : t("subscription.back"));
        this.render(title, { above }, form.node);
    }
}

customElements.define("console-subscription", Subscription);
