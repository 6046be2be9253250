// One search of a mapped source: the request, the answer, the rows, and what rows lack.

import { element, fill, isolate } from "../shared/dom.js";
import { number, t } from "../shared/language.js";
import { copyButton } from "./dialog.js";
import { explain } from "./failure.js";
import { duration, timeElement } from "./format.js";
import { icon } from "./icons.js";
import { formOf, personField, personInput } from "./source-fields.js";
import { table } from "./table.js";

export class Trial {
    #view;
    #source;
    #keyword = element("input", { id: "trial-keyword", name: "trialKeyword", dir: "auto", required: true, autocomplete: "off" });
    #person = personInput("trial-person");
    #button = element("button", { type: "submit" }, t("trial.run"));
    #result = element("div", { class: "trial-result" });

    /**
     * @param {import("./view.js").View} view
     * @param {object} source as registered; its stored secret is sent
     */
    constructor(view, source) {
        this.#view = view;
        this.#source = source;
        const form = element(
            "form", { class: "check-form", submit: (event) => {
                event.preventDefault();
                this.#run();
            } },
            element("div", { class: "field" }, element("label", { for: "trial-keyword" }, t("check.keyword")), this.#keyword),
            personField(this.#person, source),
            element("div", { class: "actions" }, this.#button),
        );
        this.node = element(
            "section", { class: "trial", "aria-labelledby": "trial-title" }, element("h2", { id: "trial-title" }, t("trial.title")),
            element("p", {}, t("trial.text")), form, element("div", { role: "status" }, this.#result),
        );
    }

    async #run() {
        const keyword = this.#keyword.value.trim();
        if (!keyword || this.#button.getAttribute("aria-disabled")) {
            return;
        }
        this.#button.setAttribute("aria-disabled", "true");
        fill(this.#result, t("check.running"));
        try {
            const body = { source: { ...formOf(this.#source), id: this.#source.id }, keyword, person: this.#person.value.trim() || undefined };
            const { data } = await this.#view.call("POST", "/admin/v1/sources/try", { body });
            fill(this.#result, ...this.#show(data));
        } catch (failure) {
            fill(this.#result, explain(failure));
        } finally {
            this.#button.removeAttribute("aria-disabled");
        }
    }

    #show({ curl, status, contentType, body, tookMs, rows, total, missing, problems, failure }) {
        const said = (text, ...more) => element("li", { lang: "en" }, isolate(text), ...more);
        const lacks = missing.map(({ field, rows: count, message }) => said(`${field}: ${message ?? t("trial.nothing")}`, ` (${t("trial.rows", { count })})`));
        return [
            failure && element("p", { class: "notice alarm" }, icon("fail"), element("span", { lang: "en" }, isolate(failure))),
            (problems.length > 0 || lacks.length > 0) && element(
                "div", { class: "notice warning" }, icon("warning"), element("ul", {}, ...problems.map((problem) => said(problem)), ...lacks),
            ),
            !failure && element("p", {}, total === null ? t("trial.rows", { count: rows.length }) : t("trial.of", { count: number(rows.length), total: number(total) })),
            rows.length > 0 && table({
                caption: t("trial.title"), columns: [t("trial.row-title"), t("trial.row-author"), t("trial.row-time")],
                rows: rows.map((row) => ({ key: row.id, cells: [isolate(row.title), isolate(row.author ?? "–"), timeElement(row.displayTime)] })),
            }),
            curl && element(
                "details", { class: "fold" }, element("summary", {}, t("trial.request")),
                element("div", { class: "command" }, element("pre", { tabindex: "0" }, element("code", {}, curl)), copyButton(curl, t("trial.request"))),
            ),
            body !== null && element(
                "details", { class: "fold" },
                element("summary", {}, `${t("trial.answer")}: HTTP ${status}, ${contentType ?? "–"}, ${duration(tookMs)}`),
                element("pre", { tabindex: "0" }, element("code", {}, body)),
            ),
        ];
    }
}
