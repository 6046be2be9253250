import { serverNow } from "../../shared/api.js";
import { element, isolate } from "../../shared/dom.js";
import { number, t } from "../../shared/language.js";
import { duration } from "../format.js";
import { poll } from "../polling.js";
import { morph } from "../morph.js";
import { icon } from "../icons.js";
import { byUrgency, stateBadge, stateOf, explainState } from "../source-state.js";
import { table } from "../table.js";
import { View } from "../view.js";

class Sources extends View {
    open() {
        const failed = element("div");
        const list = element("div", { "aria-busy": "true" });
        const add = element("a", { class: "button main", href: this.console.href({ view: "add-source" }) }, icon("add"), t("sources.add"));
        this.render(t("nav.sources"), { actions: [add], lead: t("sources.lead") }, failed, list);
        poll({
            signal: this.signal,
            load: async (options) => {
                const [sources, modules] = await Promise.all([this.call("GET", "/admin/v1/sources", options), this.call("GET", "/admin/v1/modules", options)]);
                return { sources: sources.data, modules: modules.data };
            },
            show: (data) => {
                list.removeAttribute("aria-busy");
                morph(list, this.#table(data));
            },
            failed,
        });
    }

    #table({ sources, modules }) {
        const now = serverNow();
        const rows = byUrgency(sources, now).map((source) => {
            const shown = modules.filter((module) => module.sources.includes(source.id));
            return { key: source.id, cells: [
                [
                    element("a", { href: this.console.href({ view: "sources", id: source.id }) }, isolate(source.name)),
                    element("div", { class: "faint address" }, isolate(source.url)),
                ],
                [stateBadge(source, now), element("div", { class: "why" }, ...explainState(source, now)), this.#goOn(source, now)],
                source.health.latencyMs ? t("sources.latency-said", { half: duration(source.health.latencyMs.p50), most: duration(source.health.latencyMs.p99) }) : "–",
                shown.length === 0
                    ? element("span", { class: "faint" }, t("sources.in-no-module"))
                    : element("ul", { class: "names" }, ...shown.map((module) => element(
                        "li", {}, element("a", { href: this.console.href({ view: "modules", id: module.id }) }, isolate(module.name)),
                    ))),
            ] };
        });
        return element(
            "div", {},
            table({ caption: t("nav.sources"), columns: ["sources.name", "sources.state", "sources.latency", "sources.modules"].map((key) => t(key)), rows,
                empty: t("overview.no-sources") }),
            rows.length > 0 && element("p", { class: "faint" }, t("sources.count", { count: rows.length, said: number(rows.length) })),
        );
    }

    /** A link that continues an interrupted registration. */
    #goOn(source, now) {
        return stateOf(source, now) === "disabled" && element(
            "a", { href: this.console.href({ view: "add-source", id: source.id, step: "check" }) }, t("sources.go-on"),
        );
    }
}

customElements.define("console-sources", Sources);
