import { element, fill, isolate } from "../../shared/dom.js";
import { number, t } from "../../shared/language.js";
import { explain } from "../failure.js";
import { makeField } from "../field.js";
import { handing } from "../handed-word.js";
import { table } from "../table.js";
import { View } from "../view.js";

const WEEKS = ["1", "4", "12"];

/** The lists of keywords, with their texts. */
const LISTS = { frequent: "insights.frequent", withoutResults: "insights.without-results", neverOpened: "insights.never-opened" };

class Insights extends View {
    open() {
        this.heading = t("nav.insights");
        this.loading(() => this.#load(), (insights) => this.#show(insights));
    }

    get #weeks() {
        return WEEKS.includes(this.place.step) ? this.place.step : "4";
    }

    async #load() {
        return (await this.call("GET", "/admin/v1/insights", { query: { weeks: this.#weeks } })).data;
    }

    #show(insights) {
        const { enabled } = insights;
        const toggle = element("button", { type: "button", class: enabled ? "grave" : "main", click: () => this.#toggle(!enabled) },
            t(enabled ? "insights.turn-off" : "insights.turn-on"));
        const lead = t("insights.lead");
        if (!enabled) {
            this.render(t("nav.insights"), { lead, actions: [toggle] }, element("p", { class: "empty" }, t("insights.off")));
            return;
        }
        const weeks = makeField({
            name: "weeks", kind: "choice", label: t("figures.period"), value: this.#weeks,
            options: WEEKS.map((count) => [count, t("insights.weeks", { count: Number(count) })]),
        });
        const form = element("form", { class: "filters", submit: (event) => event.preventDefault() }, weeks.node);
        const lists = element("div", {}, ...this.#lists(insights));
        form.addEventListener("change", async () => {
            this.console.recordPlace({ view: "insights", step: weeks.value() });
            this.place = this.console.place;
            try {
                fill(lists, ...this.#lists(await this.#load()));
            } catch (failure) {
                if (!this.signal.aborted) {
                    fill(lists, explain(failure));
                }
            }
        });
        this.render(t("nav.insights"), { lead, actions: [toggle] }, form, lists);
    }

    #lists(insights) {
        const columns = ["insights.keyword", "figures.searches", "insights.nothing", "insights.opened", "insights.people", ""].map((key) => key && t(key));
        return Object.entries(LISTS).map(([name, text]) => element(
            "section", {}, element("h2", {}, t(text)), table({
                caption: t(text), columns, empty: t("insights.none"), rows: insights[name].map((insight) => this.#row(insight)),
            }),
        ));
    }

    #row({ keyword, searches, withoutResults, openings, people }) {
        const link = (text, view, part) => handing(element("a", {
            href: this.console.href({ view }), "aria-label": t("insights.with", { action: t(text), keyword }),
        }, t(text)), { word: keyword, part });
        return { key: keyword, cells: [
            isolate(keyword), number(searches), number(withoutResults), number(openings), number(people),
            element("span", { class: "row-actions" }, link("insights.try", "try"), " ", link("insights.synonym", "vocabulary", "synonyms"), " ",
                link("insights.pin", "vocabulary", "pinned")),
        ] };
    }

    async #toggle(searchInsights) {
        const go = await this.ask(searchInsights
            ? { title: t("insights.turn-on"), text: t("insights.turn-on-text"), action: t("insights.turn-on") }
            : { title: t("insights.turn-off"), text: t("insights.turn-off-text"), action: t("insights.turn-off"), grave: true });
        if (!go) {
            return;
        }
        try {
            await this.call("PUT", `/admin/v1/tenants/${encodeURIComponent(this.tenant)}`, { body: { searchInsights } });
            await this.go(this.place, { said: t(searchInsights ? "insights.turned-on" : "insights.turned-off"), replace: true });
        } catch (failure) {
            this.console.showError(failure);
        }
    }
}

customElements.define("console-insights", Insights);
