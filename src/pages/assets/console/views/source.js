import { element, isolate } from "../../shared/dom.js";
import { number, t } from "../../shared/language.js";
import { duration, share, timeElement } from "../format.js";
import { Check } from "../check.js";
import { factList } from "../facts.js";
import { cancelLink, makeForm } from "../form.js";
import { poll } from "../polling.js";
import { morph } from "../morph.js";
import { plots } from "../plot.js";
import { addToModuleForm } from "../add-to-module.js";
import { accessGroups, accessText, addressFields, changedSource, formOf, limitFields } from "../source-fields.js";
import { explainState, lastCheck, stateBadge } from "../source-state.js";
import { Trial } from "../trial.js";
import { View } from "../view.js";

/** The action of each `step` in the address. */
const STEPS = { edit: "#edit", check: "#check", module: "#put" };

class Source extends View {
    get #path() {
        return `/admin/v1/sources/${encodeURIComponent(this.place.id)}`;
    }

    open() {
        this.heading = t("nav.sources");
        const step = STEPS[this.place.step];
        this.loading(() => this.call("GET", this.#path), (loaded) => {
            if (step === "#edit") {
                return this.#edit(loaded);
            } else if (step === "#check") {
                return this.#check(loaded.data);
            } else if (step === "#put") {
                return this.#put(loaded.data);
            }
            return this.#show(loaded);
        });
    }

    #href(step = null) {
        return this.console.href({ view: "sources", id: this.place.id, step });
    }

    #back() {
        return this.linkBack({ view: "sources", id: this.place.id }, t("source.back"));
    }

    #show(loaded) {
        const source = loaded.data;
        const failed = element("div");
        const state = element("div", { class: "panels of-source" });
        const deeds = element("div", { class: "actions" });
        const above = this.linkBack({ view: "sources" }, t("nav.sources"));
        this.render(isolate(source.name), { above, actions: [deeds] }, failed, state);
        const remove = element("button", {
            type: "button", class: "grave", "aria-describedby": "shown-in", click: () => this.#remove(known),
        }, t("console.remove"));
        let known = loaded;
        const live = poll({
            signal: this.signal,
            load: async (options) => {
                const [now, health, modules] = await Promise.all([
                    this.call("GET", this.#path, options), this.call("GET", `${this.#path}/health`, options), this.call("GET", "/admin/v1/modules", options),
                ]);
                return { now, source: now.data, health: health.data, modules: modules.data };
            },
            show: (data) => {
                known = data.now;
                toggle.textContent = t(known.data.enabled ? "sources.disable" : "sources.enable");
                this.#showRemovable(remove, data);
                morph(state, this.#state(data), this.#hour(data.health), this.#settings(data));
            },
            failed,
        });
        const toggle = element("button", { type: "button", click: async () => {
            await this.#toggle(known);
            live.refresh();
        } }, t(source.enabled ? "sources.disable" : "sources.enable"));
        deeds.append(
            element("a", { class: "button", href: this.#href("check") }, t("sources.check")),
            element("a", { class: "button", href: this.#href("edit") }, t("sources.edit")),
            element("a", { class: "button", href: this.#href("module") }, t("sources.put")), toggle,
            remove,
        );
    }

    /** A source that modules show is not removed, as the server refuses that. */
    #showRemovable(remove, { source, modules }) {
        const isShown = modules.some((module) => module.sources.includes(source.id));
        remove.disabled = isShown;
    }

    #state({ source, health }) {
        const calls = Object.entries(health.calls).filter(([status, count]) => count > 0 || status === "ok");
        const all = calls.reduce((sum, [, count]) => sum + count, 0);
        const { hits, misses, stale } = health.cache;
        const asked = hits + misses + stale;
        const facts = [
            [t("source.last-success"), timeElement(health.lastSuccessTime)], [t("source.last-failure"), timeElement(health.lastFailureTime)],
            [t("source.latency"), health.latencyMs
                ? t("check.latency", { p50: duration(health.latencyMs.p50), p90: duration(health.latencyMs.p90), p99: duration(health.latencyMs.p99) })
                : "–"],
            [t("source.calls"), element("span", {}, ...calls.flatMap(([status, count], place) => [
                place > 0 && ", ", element("span", { class: status !== "ok" && "alarm-text" }, `${t(`status.${status}`)}: ${number(count)}`),
            ]), all > 0 && ` (${t("source.failed-share", { share: share(1 - health.calls.ok / all) })})`)],
            [t("source.cache"), asked === 0 ? "–" : t("source.cache-said", { hits, misses, stale, share: share((hits + stale) / asked) })],
            [t("source.hedges"), t("source.hedges-said", { sent: health.hedges.sent, won: health.hedges.won })],
            [t("source.since"), timeElement(health.since)],
            [t("source.last-check"), lastCheck(source.lastCheck) ?? t("console.never")],
        ];
        return element(
            "section", { class: "panel", "data-key": "state", "aria-labelledby": "source-state" },
            element("h2", { id: "source-state" }, t("sources.state")),
            element("p", { class: "sum" }, stateBadge(source)),
            element("div", { class: "why" }, ...explainState(source)),
            factList(facts),
        );
    }

    #hour(health) {
        return element(
            "section", { class: "panel", "data-key": "hour", "aria-labelledby": "source-hour" },
            element("h2", { id: "source-hour" }, t("source.hour")), ...plots(health.history),
        );
    }

    #settings({ source, modules }) {
        const shown = modules.filter((module) => module.sources.includes(source.id));
        const facts = [
            [t("source.id"), element("code", {}, source.id)],
            [t("source.kind"), t(`source.kind-${source.kind}`)],
            [t("source.url"), element("span", { class: "address" }, `${source.method} `, isolate(source.url))],
            [t("source.auth"), accessText(source)],
            [t("source.order"), t(`order.${source.order}`)],
            [t("source.timeout"), duration(source.timeoutMs)], [t("source.page-size"), number(source.pageSize)],
            [t("source.concurrency"), number(source.maxConcurrency)], [t("source.weight"), number(source.weight)],
            source.site && [t("source.site"), element("span", { class: "address" }, isolate(source.site))],
            source.requestsPerMinute && [t("source.requests-per-minute"), number(source.requestsPerMinute)],
            [t("source.while-typing"), t(source.whileTyping ? "console.yes" : "console.no")],
            [t("source.hedging"), t(source.hedging ? "console.yes" : "console.no")],
            [t("sources.modules"), shown.length === 0 ? t("sources.in-no-module") : element("span", {}, ...shown.flatMap(({ id, name }, place) => [
                place > 0 && ", ", element("a", { href: this.console.href({ view: "modules", id }) }, isolate(name)),
            ]), element("p", { class: "hint", id: "shown-in" }, t("sources.shown")))],
        ];
        return element(
            "section", { class: "panel wide", "data-key": "settings", "aria-labelledby": "source-settings" },
            element("h2", { id: "source-settings" }, t("source.settings")), factList(facts.filter(Boolean)),
        );
    }

    async #toggle(loaded) {
        const source = loaded.data;
        const enabled = !source.enabled;
        const go = enabled || await this.ask({
            title: t("sources.disable-title", { name: source.name }), text: t("sources.disable-text"), action: t("sources.disable"),
        });
        if (!go) {
            return;
        }
        try {
            await this.save(this.#path, loaded, (now) => ({ ...formOf(now), enabled }));
            this.console.showNotice(t(enabled ? "sources.enabled-said" : "sources.disabled-said", { name: source.name }));
        } catch (failure) {
            this.console.showError(failure);
        }
    }

    async #remove({ data: source, etag }) {
        const go = await this.ask({
            title: t("sources.remove-title", { name: source.name }), text: t("sources.remove-text"), action: t("console.remove"), grave: true,
        });
        if (!go) {
            return;
        }
        try {
            await this.call("DELETE", this.#path, { match: etag });
            await this.go({ view: "sources" }, { said: t("console.removed", { name: source.name }) });
        } catch (failure) {
            this.console.showError(failure);
        }
    }

    #edit(loaded) {
        const source = loaded.data;
        const form = makeForm({
            groups: [
                { legend: t("source.what"), fields: addressFields(source) }, ...accessGroups(source),
                { legend: t("source.limits"), fields: limitFields(source) },
            ],
            action: t("console.save"), beside: [cancelLink(this.#href())],
            reload: () => this.open(), lastChange: () => this.lastChange("source", source.id),
            send: async (_, changed, isOver) => {
                const alter = (now) => changedSource(now, changed);
                await (isOver ? this.change(this.#path, alter) : this.save(this.#path, loaded, alter));
                await this.go({ view: "sources", id: source.id }, { said: t("console.saved") });
            },
        });
        this.render(t("source.edit-title", { name: source.name }), { above: this.#back() }, form.node);
    }

    #check(source) {
        const check = new Check(this, source, () => {});
        const trial = source.kind === "mapping" && new Trial(this, source).node;
        this.render(t("source.check-title", { name: source.name }), { above: this.#back(), lead: t("check.text") }, trial, check.node);
    }

    async #put(source) {
        const node = await addToModuleForm(this, source, async (said) => {
            await this.go({ view: "sources", id: source.id }, { said });
        });
        if (!this.signal.aborted) {
            this.render(t("source.put-title", { name: source.name }), { above: this.#back() }, node);
        }
    }
}

customElements.define("console-source", Source);
