// The conformance check of a source; clauses appear as they are decided.

import { events, serverNow } from "../shared/api.js";
import { element, fill, isolate } from "../shared/dom.js";
import { number, t } from "../shared/language.js";
import { duration } from "./format.js";
import { authorText, ownWords } from "./check-text.js";
import { copyButton } from "./dialog.js";
import { explain } from "./failure.js";
import { personField, personInput } from "./source-fields.js";
import { badge } from "./source-state.js";

/** Verdicts in display order, with icon and tone. */
const VERDICTS = { fail: ["fail", "alarm"], unknown: ["unknown", "warning"], pass: ["ok", "good"] };

export class Check {
    #view;
    #source;
    #done;
    #counts;
    #said = element("p", { role: "status", class: "sum" });
    #progress = element("progress", { max: 1, value: 0, "aria-label": t("check.progress"), hidden: true });
    #lists = new Map(Object.keys(VERDICTS).map((verdict) => [verdict, new Clauses(verdict)]));
    #copy = element("div", { class: "actions", hidden: true });
    #latency = element("p", { hidden: true, class: "faint" });
    #keyword = element("input", { id: "check-keyword", name: "keyword", dir: "auto", autocomplete: "off" });
    #person = personInput("check-person");
    #button = element("button", { type: "submit", class: "main" }, t("check.run"));
    #failed = element("div");

    /**
     * @param {import("./view.js").View} view
     * @param {object} source as registered
     * @param {(report: object | null) => void} done receives the report, or null when a run begins
     * @param {Node[]} after nodes between the summary and the clauses
     */
    constructor(view, source, done, ...after) {
        this.#view = view;
        this.#source = source;
        this.#done = done;
        const form = element(
            "form", { class: "check-form", submit: (event) => {
                event.preventDefault();
                this.#run();
            } },
            element("div", { class: "field" }, element("label", { for: "check-keyword" }, t("check.keyword")),
                element("p", { class: "hint", id: "check-keyword-hint" }, t("check.keyword-hint")), this.#keyword),
            personField(this.#person, source),
            element("div", { class: "actions" }, this.#button),
        );
        this.#keyword.setAttribute("aria-describedby", "check-keyword-hint");
        this.node = element(
            "section", { class: "check-run" }, form, this.#failed, this.#said, this.#progress,
            this.#latency, this.#copy, ...after, ...[...this.#lists.values()].map(({ node }) => node),
        );
    }

    /** Runs the check with a keyword that was given elsewhere. */
    start(keyword) {
        this.#keyword.value = keyword;
        return this.#run();
    }

    async #run() {
        if (this.#button.getAttribute("aria-disabled")) {
            return;
        }
        this.#begin();
        this.#done(null);
        try {
            await this.#view.console.withSignIn(async () => {
                for await (const { event, data } of this.#events()) {
                    if (event === "clause") {
                        this.#add(data);
                    } else if (event === "done") {
                        this.#end(data);
                        this.#done(data);
                    }
                }
            }, this.#view.signal);
            if (this.#counts.isOver === false) {
                fill(this.#failed, explain({ status: 0 }));
                fill(this.#said);
            }
        } catch (failure) {
            if (failure.name !== "AbortError") {
                fill(this.#failed, explain(failure));
                fill(this.#said);
            }
        } finally {
            this.#progress.hidden = true;
            this.#button.removeAttribute("aria-disabled");
            fill(this.#button, t("check.again"));
        }
    }

    #events() {
        return events("POST", `/admin/v1/sources/${encodeURIComponent(this.#source.id)}/check`, {
            tenant: this.#view.tenant, signal: this.#view.signal, query: { keyword: this.#keyword.value.trim(), person: this.#person.value.trim() },
        });
    }

    #begin() {
        this.#counts = { fail: 0, unknown: 0, pass: 0, isOver: false };
        for (const list of this.#lists.values()) {
            list.fill([]);
        }
        this.#copy.hidden = true;
        fill(this.#failed);
        fill(this.#said, t("check.running"));
        this.#latency.hidden = true;
        this.#progress.hidden = false;
        this.#progress.removeAttribute("value");
        this.#button.setAttribute("aria-disabled", "true");
    }

    #add(clause) {
        this.#counts[clause.verdict] += 1;
        const { fail, unknown, pass } = this.#counts;
        if (clause.count) {
            this.#progress.max = clause.count;
            this.#progress.value = fail + unknown + pass;
        }
        (this.#lists.get(clause.verdict) ?? this.#lists.get("unknown")).add(clause);
    }

    #end(report) {
        this.#counts.isOver = true;
        // It overrides the events before it.
        const counts = { fail: 0, unknown: 0, pass: 0 };
        const sorted = { fail: [], unknown: [], pass: [] };
        report.clauses.forEach((clause, index) => {
            counts[clause.verdict] += 1;
            sorted[clause.verdict].push({ ...clause, index });
        });
        for (const [verdict, list] of this.#lists) {
            list.fill(sorted[verdict]);
        }
        const words = t("check.counts", { pass: number(counts.pass), fail: number(counts.fail), unknown: number(counts.unknown) });
        fill(this.#said, report.passed ? badge("good", "ok", t("check.passed")) : badge("alarm", "fail", t("check.failed")), ` ${words}`);
        const label = t("check.copy");
        fill(this.#copy, copyButton(authorText(this.#source.name, report, serverNow()), label, label));
        this.#copy.hidden = false;
        const { p50, p90, p99 } = report.latencyMs;
        this.#latency.hidden = p50 === null;
        fill(this.#latency, p50 !== null && t("check.latency", { p50: duration(p50), p90: duration(p90), p99: duration(p99) }));
    }
}

/** The clauses of one verdict in their order; only failed ones are unfolded. */
class Clauses {
    #verdict;
    #list;
    #summary = element("summary", {});

    constructor(verdict) {
        this.#verdict = verdict;
        this.#list = element("ol", { class: `clauses ${verdict}` });
        this.node = verdict === "fail" ? this.#list : element("details", { class: "fold", hidden: true }, this.#summary, this.#list);
    }

    add(clause) {
        const made = item(clause);
        const after = [...this.#list.children].find((other) => Number(other.dataset.index) > Number(made.dataset.index));
        this.#list.insertBefore(made, after ?? null);
        this.#count();
    }

    /** Shows exactly these clauses; those that are there already stay as they are. */
    fill(clauses) {
        const known = (id) => this.#list.querySelector(`[data-clause="${CSS.escape(id)}"]`);
        fill(this.#list, ...clauses.map((clause) => known(clause.id) ?? item(clause)));
        this.#count();
    }

    #count() {
        const count = this.#list.children.length;
        if (this.#verdict !== "fail") {
            this.node.hidden = count === 0;
            fill(this.#summary, t(`check.folded-${this.#verdict}`, { count }));
        }
    }
}

/** One clause; a failed one is expanded. */
function item({ id, title, verdict, seen, expected, curl, index = 0 }) {
    const [name, tone] = VERDICTS[verdict] ?? VERDICTS.unknown;
    const own = ownWords(id);
    return element(
        "li", { "data-clause": id, "data-index": index, "data-verdict": verdict },
        element(
            "details", { open: verdict === "fail" },
            element("summary", {}, badge(tone, name, t(`verdict.${verdict}`)), element("span", { class: "title", lang: own ? null : "en" }, own?.[0] ?? title),
                element("code", { class: "faint" }, id)),
            element(
                "dl", {},
                element("dt", {}, t("check.seen")), element("dd", { lang: "en" }, isolate(seen)),
                element("dt", {}, t("check.expected")), element("dd", { lang: own ? null : "en" }, own?.[1] ?? expected),
                curl && element("dt", {}, t("check.curl")),
                curl && element("dd", { class: "command" }, element("pre", { tabindex: "0" }, element("code", {}, curl)), copyButton(curl, id)),
            ),
        ),
    );
}
