import { serverNow } from "../../shared/api.js";
import { element, isolate } from "../../shared/dom.js";
import { number, t } from "../../shared/language.js";
import { factList } from "../facts.js";
import { duration, share, size } from "../format.js";
import { poll } from "../polling.js";
import { replicasTable } from "../replicas-table.js";
import { morph } from "../morph.js";
import { searchesTable } from "../searches-table.js";
import { icon } from "../icons.js";
import { badge, byUrgency, isUrgent, stateBadge, stateOf, explainState } from "../source-state.js";
import { View } from "../view.js";

const SEARCHES = 5;
const ENGINES = { tantivy: "tantivy", opensearch: "OpenSearch" };

class Overview extends View {
    open() {
        const failed = element("div");
        const body = element("div", { class: "panels", "aria-busy": "true" });
        this.render(t("nav.overview"), {}, failed, body);
        const live = poll({
            signal: this.signal,
            load: (options) => this.#load(options),
            show: (data) => {
                body.removeAttribute("aria-busy");
                const replicas = data.replicas.length > 1 ? [replicasPanel(data.replicas)] : [];
                morph(body, this.#sources(data.sources), this.#index(data.index, () => live.refresh()), ...replicas, this.#searches(data.searches));
            },
            failed,
        });
    }

    async #load(options) {
        const [sources, index, replicas, searches] = await Promise.all([
            this.call("GET", "/admin/v1/sources", options), this.call("GET", "/admin/v1/index", options),
            this.call("GET", "/admin/v1/replicas", options),
            this.call("GET", "/admin/v1/searches/slow", { ...options, query: { limit: SEARCHES } }),
        ]);
        return { sources: sources.data, index: index.data, replicas: replicas.data, searches: searches.data };
    }

    #sources(sources) {
        const now = serverNow();
        const sorted = byUrgency(sources, now);
        const urgent = sorted.filter((source) => isUrgent(stateOf(source, now)));
        const counts = new Map();
        for (const source of sources) {
            const state = stateOf(source, now);
            counts.set(state, (counts.get(state) ?? 0) + 1);
        }
        const add = element("a", { class: "button", href: this.console.href({ view: "add-source" }) }, icon("add"), t("sources.add"));
        return panel(
            "sources", t("nav.sources"),
            sources.length === 0
                ? element("p", { "data-key": "none", class: "empty" }, t("overview.no-sources"))
                : element("p", { "data-key": "sum", class: "sum" }, urgent.length === 0
                    ? badge("good", "ok", t("overview.all-well"))
                    : badge("alarm", "warning", t("overview.urgent", { count: urgent.length, all: sources.length }))),
            urgent.length > 0 && element("ul", { "data-key": "list", class: "urgent" }, ...urgent.map((source) => element(
                "li", { "data-key": source.id },
                element("a", { href: this.console.href({ view: "sources", id: source.id }) }, isolate(source.name)),
                stateBadge(source, now),
                element("div", { class: "why" }, ...explainState(source, now), stateOf(source, now) === "slow" && element(
                    "p", {}, t("state.slow-text", { took: duration(source.health.latencyMs.p90), timeout: duration(source.timeoutMs) }),
                )),
            ))),
            element("p", { "data-key": "deeds", class: "actions" }, element("a", { href: this.console.href({ view: "sources" }) }, t("overview.all-sources")), add),
        );
    }

    #index(index, refresh) {
        const { engine, moving } = index;
        const state = engine.status === "unavailable" ? badge("alarm", "fail", t("index.unavailable"))
            : engine.status === "degraded" ? badge("warning", "warning", t("index.degraded"))
            : index.rebuilding ? badge("warning", "slow", t("index.rebuilding")) : index.ready
            ? badge("good", "ok", t("index.ready"))
            : badge("warning", "slow", t("index.catching-up"));
        const facts = [
            [t("index.engine"), ENGINES[engine.kind]],
            [t("index.documents"), index.documents === null ? "–" : number(index.documents)],
            [t("index.size"), index.bytes === null ? "–" : size(index.bytes)],
            [t("index.behind"), t("index.changes", { count: index.behind })],
            [t("index.freshness"), index.freshnessMs
                ? t("index.freshness-said", { half: duration(index.freshnessMs.p50), most: duration(index.freshnessMs.p99) })
                : t("index.no-changes")],
        ];
        return panel(
            "index", t("index.title"),
            element("p", { "data-key": "sum", class: "sum" }, state),
            engine.message !== null && element("p", { "data-key": "engine", class: "faint", lang: "en" }, engine.message),
            moving !== null && progress("moving", t("index.moving", { engine: ENGINES[moving.to] }), moving),
            moving?.message && element("p", { "data-key": "target", class: "faint", lang: "en" }, moving.message),
            index.rebuildFailed && element("p", { "data-key": "failed", class: "sum" },
                badge("warning", "warning", t("index.rebuild-failed")), element("span", { class: "faint" }, t("index.rebuild-failed-why")),
            ),
            index.rebuilding && progress("progress", t("index.rebuilding"), index),
            factList(facts),
            element("p", { "data-key": "deeds", class: "actions" }, element(
                "button", {
                    type: "button", "aria-disabled": index.rebuilding ? "true" : null, "data-key": "rebuild", click: () => this.#rebuild(refresh),
                }, t("index.rebuild"),
            )),
        );
    }

    async #rebuild(refresh) {
        // A disabled button keeps its focus.
        if (this.querySelector("[data-key=rebuild]").ariaDisabled) {
            return;
        }
        const go = await this.ask({ title: t("index.rebuild-title"), text: t("index.rebuild-text"), action: t("index.rebuild") });
        if (!go) {
            return;
        }
        try {
            await this.call("POST", "/admin/v1/index/rebuild");
            this.console.showNotice(t("index.rebuild-begun"));
        } catch (failure) {
            this.console.showError(failure);
        }
        refresh();
    }

    #searches(searches) {
        return panel(
            "searches", t("overview.slow-searches"),
            searchesTable(searches, { isShort: true }),
            element("p", { class: "actions" }, element("a", { href: this.console.href({ view: "searches" }) }, t("overview.all-searches"))),
        );
    }
}

function progress(key, label, { itemsDone, itemsKnown }) {
    const done = itemsKnown > 0 ? Math.min(1, itemsDone / itemsKnown) : 0;
    return element(
        "div", { "data-key": key, class: "progress" },
        element("progress", { max: 1, value: done, "aria-label": label }),
        element("span", {}, label, " ", t("index.progress", { done: itemsDone, known: itemsKnown, share: share(done) })),
    );
}

function replicasPanel(replicas) {
    return panel("replicas", t("replicas.title"), replicasTable(replicas));
}

function panel(key, title, ...children) {
    return element(
        "section", { "data-key": key, class: `panel ${key}`, "aria-labelledby": `panel-${key}` },
        element("h2", { id: `panel-${key}` }, title), ...children,
    );
}

customElements.define("console-overview", Overview);
