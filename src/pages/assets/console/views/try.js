import { element, fill, isolate } from "../../shared/dom.js";
import { language, number, t } from "../../shared/language.js";
import { explain } from "../failure.js";
import { makeField } from "../field.js";
import { takeHanded } from "../handed-word.js";
import { duration } from "../format.js";
import { moduleLabel } from "../module-forms.js";
import { rawJson } from "../raw-json.js";
import { table } from "../table.js";
import { View } from "../view.js";

/** Items of a trial. */
const LIMIT = 20;

const scores = new Intl.NumberFormat(language, { maximumFractionDigits: 3 });

class Try extends View {
    #fields;
    #modules;
    #sources;
    #said = element("p", { role: "status" });
    #result = element("div", { class: "trial" });
    #running = null;

    open() {
        this.heading = t("nav.try");
        this.loading(async () => {
            const [modules, sources] = await Promise.all([this.call("GET", "/admin/v1/modules"), this.call("GET", "/admin/v1/sources")]);
            return { modules: modules.data, sources: sources.data };
        }, ({ modules, sources }) => this.#show(modules, sources));
    }

    #show(modules, sources) {
        this.#modules = modules;
        this.#sources = new Map(sources.map(({ id, name }) => [id, name]));
        const handed = takeHanded();
        const described = [
            { name: "keyword", label: t("try.keyword"), required: true, value: handed?.word },
            { name: "module", kind: "choice", label: t("try.module"), options: modules.map((module) => [module.id, moduleLabel(module)]) },
            { name: "source", kind: "choice", label: t("try.source"), options: [["", t("try.all-sources")]] },
            { name: "order", kind: "choice", label: t("try.order"), value: "relevance", options: ["relevance", "time"].map((name) => [name, t(`order.${name}`)]) },
            { name: "userId", label: t("try.person"), hint: t("try.person-hint"), value: this.place.userId },
        ];
        this.#fields = new Map(described.map((field) => [field.name, makeField(field)]));
        const form = element("form", { class: "filters", novalidate: true, submit: (event) => {
            event.preventDefault();
            this.#run();
        } }, ...[...this.#fields.values()].map(({ node }) => node), element("div", { class: "actions" }, element("button", { type: "submit", class: "main" }, t("try.run"))));
        form.querySelector("[name=module]").addEventListener("change", () => this.#offerSources());
        this.render(t("nav.try"), { lead: t("try.lead") }, form, this.#said, this.#result);
        this.#offerSources();
        if (handed) {
            this.#run();
        }
    }

    /** Offers the sources of the chosen module. */
    #offerSources() {
        const chosen = this.#modules.find(({ id }) => id === this.#fields.get("module").value());
        const select = this.querySelector("[name=source]");
        fill(select, element("option", { value: "" }, t("try.all-sources")), ...(chosen?.sources ?? []).map((id) => element(
            "option", { value: id }, this.#sources.get(id) ?? id,
        )));
    }

    async #run() {
        const wrong = [...this.#fields.values()].filter((field) => {
            const message = field.check();
            field.refuse(message);
            return message;
        });
        if (wrong.length > 0) {
            wrong[0].focus();
            return;
        }
        const values = Object.fromEntries([...this.#fields].map(([name, field]) => [name, field.value()]));
        this.#running?.abort();
        const running = this.#running = new AbortController();
        this.#result.setAttribute("aria-busy", "true");
        // Keywords stay out of addresses, which are kept in histories.
        const body = {
            keyword: values.keyword, moduleId: values.module, source: values.source ?? undefined, sort: values.order, userId: values.userId ?? undefined,
            limit: LIMIT, explain: true,
        };
        try {
            const answer = await this.call("POST", "/admin/v1/search", { body, signal: AbortSignal.any([this.signal, running.signal]) });
            fill(this.#said, t("try.found", { count: answer.total, shown: answer.data.length }));
            fill(this.#result, ...this.#answer(answer));
        } catch (failure) {
            if (failure.name !== "AbortError") {
                const reports = failure.body?.sources;
                fill(this.#said);
                fill(this.#result, explain(failure), reports && reportTable(reports), failure.body && rawJson(failure.body, t("try.raw")));
            }
        } finally {
            if (running === this.#running) {
                this.#result.removeAttribute("aria-busy");
            }
        }
    }

    #answer(answer) {
        const { data, partial, corrected, relaxed, sources } = answer;
        const rows = data.map((item, place) => ({ key: `${place}`, cells: [
            [
                element("div", {}, isolate(item.title || item.brief || item.id)),
                element("div", { class: "faint address" }, isolate(item.id), item.explain?.pinned && ` · ${t("try.pinned")}`),
            ],
            item.explain?.score === null || item.explain?.score === undefined ? "–" : scores.format(item.explain.score),
            words(item.explain?.words ?? []),
            factors(item.explain?.factors),
        ] }));
        return [
            element("h2", {}, t("try.results")),
            partial && element("p", {}, t("try.partial")),
            corrected && element("p", {}, t("try.corrected", { keyword: corrected })),
            relaxed && element("p", {}, t("try.relaxed", { words: relaxed.leftOut.join(", ") })),
            table({ caption: t("try.results"), columns: ["try.item", "try.score", "try.words", "try.factors"].map((key) => t(key)), rows, empty: t("try.nothing") }),
            reportTable(sources),
            rawJson(answer, t("try.raw")),
        ].filter(Boolean);
    }
}

function words(found) {
    return element("ul", { class: "names" }, ...found.map(({ word, field, as }) => element(
        "li", {}, isolate(word), element("span", { class: "faint" }, ` ${t(`field.${field}`)}, ${t(`as.${as}`)}`),
    )));
}

function factors(parts) {
    return parts ? element("ul", { class: "names" }, ...Object.entries(parts).map(([name, value]) => element(
        "li", {}, element("span", { class: "faint" }, t(`factor.${name}`)), ` ${scores.format(value)}`,
    ))) : "–";
}

function reportTable(reports) {
    const rows = reports.map(({ id, name, status, tookMs, total, message }) => ({ key: id, cells: [
        [isolate(name), element("div", { class: "faint address" }, isolate(id))], t(`status.${status}`), duration(tookMs), total === null ? "–" : number(total),
        message ? element("span", { lang: "en" }, isolate(message)) : "–",
    ] }));
    return element(
        "section", {}, element("h2", {}, t("nav.sources")),
        table({ caption: t("nav.sources"), columns: ["try.source", "try.status", "try.took", "try.total", "try.message"].map((key) => t(key)), rows }),
    );
}

customElements.define("console-try", Try);
