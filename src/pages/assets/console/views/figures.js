import { serverNow } from "../../shared/api.js";
import { element, isolate } from "../../shared/dom.js";
import { language, number, t } from "../../shared/language.js";
import { makeField } from "../field.js";
import { duration, share } from "../format.js";
import { morph } from "../morph.js";
import { plots, summarize } from "../plot.js";
import { poll } from "../polling.js";
import { table } from "../table.js";
import { View } from "../view.js";

const HOUR = 3_600_000;

const hours = new Intl.DateTimeFormat(language, { weekday: "short", hour: "2-digit", minute: "2-digit" });
/** Days are those of UTC. */
const days = new Intl.DateTimeFormat(language, { day: "numeric", month: "short", timeZone: "UTC" });

/** By the `step` of the address. */
const PERIODS = {
    "last-day": { step: "hour", length: HOUR, slots: 24, time: (at) => hours.format(at), unit: "plot.hour" },
    "last-week": { step: "hour", length: HOUR, slots: 7 * 24, time: (at) => hours.format(at), unit: "plot.hour" },
    "last-weeks": { step: "day", length: 24 * HOUR, slots: 8 * 7, time: (at) => days.format(at), unit: "plot.day" },
};

const TEXTS = { none: "figures.none", latency: "figures.latency", calls: "figures.searches", said: "figures.searches-said" };

class Figures extends View {
    #body = element("div", { class: "figures-of", "aria-busy": "true" });
    #live;

    open() {
        const failed = element("div");
        const period = makeField({
            name: "period", kind: "choice", label: t("figures.period"), value: this.#period,
            options: Object.keys(PERIODS).map((name) => [name, t(`figures.${name}`)]),
        });
        const form = element("form", { class: "filters", submit: (event) => event.preventDefault() }, period.node);
        form.addEventListener("change", () => {
            this.console.recordPlace({ view: "figures", id: this.place.id, step: period.value() });
            this.place = this.console.place;
            this.#live.refresh();
        });
        this.render(t("nav.figures"), { lead: t("figures.lead") }, form, failed, this.#body);
        this.#live = poll({
            signal: this.signal, every: 60_000, failed,
            load: (options) => this.#load(options),
            show: (data) => this.#show(data),
        });
    }

    /** Another module or source of the same figures. */
    goTo(place) {
        this.place = place;
        this.querySelector("[name=period]").value = this.#period;
        this.#live.refresh();
        return true;
    }

    get #period() {
        return Object.hasOwn(PERIODS, this.place.step ?? "") ? this.place.step : "last-day";
    }

    async #load(options) {
        const { step, length, slots } = PERIODS[this.#period];
        const to = Math.round(serverNow());
        const query = { step, from: to - (slots - 1) * length, to };
        const [figures, modules, sources] = await Promise.all([
            this.call("GET", "/admin/v1/figures", { ...options, query }),
            this.call("GET", "/admin/v1/modules", options), this.call("GET", "/admin/v1/sources", options),
        ]);
        return { figures: figures.data, modules: modules.data, sources: sources.data, period: this.#period };
    }

    #show({ figures, modules, sources, period }) {
        const scale = { ...PERIODS[period], ...TEXTS };
        const subjects = (kind, series, registered) => series.map(({ id, points }) => ({
            key: `${kind}:${id}`, name: registered.find((one) => one.id === id)?.name ?? id, history: historyOf(figures.from, points, scale), errors: errorsOf(points),
        })).sort((one, other) => summarize(other.history).calls - summarize(one.history).calls);
        const ofModules = subjects("module", figures.modules, modules);
        const ofSources = subjects("source", figures.sources, sources);
        const all = [...ofModules, ...ofSources];
        const shown = all.find(({ key }) => key === this.place.id) ?? all[0];
        this.#body.removeAttribute("aria-busy");
        morph(
            this.#body,
            element(
                "section", { class: "panel wide", "data-key": "plots", "aria-labelledby": "figures-shown" },
                element("h2", { id: "figures-shown", tabindex: "-1" }, shown ? isolate(shown.name) : t("figures.searches")),
                ...plots(shown?.history ?? [], scale),
            ),
            this.#table(t("nav.modules"), ofModules, shown),
            this.#table(t("nav.sources"), ofSources, shown),
        );
    }

    #table(title, subjects, shown) {
        const rows = subjects.map(({ key, name, history, errors }) => {
            const { calls, failed, slowest } = summarize(history);
            const link = element("a", {
                href: this.console.href({ view: "figures", id: key, step: this.place.step }), "aria-current": key === shown.key ? "true" : null,
            }, isolate(name));
            return { key, cells: [
                link, number(calls), failed === 0 ? "0" : [element("span", { class: "alarm-text" }, `${number(failed)} (${share(failed / calls)})`), errors],
                history.some(({ p99 }) => p99 !== null) ? duration(slowest) : "–",
            ] };
        });
        const columns = ["figures.subject", "figures.searches", "figures.failed", "figures.slowest"].map((key) => t(key));
        return element(
            "section", { "data-key": title }, element("h2", {}, title), table({ caption: title, columns, rows, empty: t("figures.none") }),
        );
    }
}

/** Failures by status. */
function errorsOf(points) {
    const counts = new Map();
    for (const [status, count] of points.flatMap(({ errors }) => Object.entries(errors))) {
        counts.set(status, (counts.get(status) ?? 0) + count);
    }
    const said = [...counts].filter(([, count]) => count > 0).map(([status, count]) => `${t(`status.${status}`)}: ${number(count)}`);
    return element("div", { class: "faint" }, said.join(", "));
}

/** A point for each slot, as plots take them. */
function historyOf(from, points, { slots, length }) {
    const known = new Map(points.map((point) => [point.at, point]));
    return Array.from({ length: slots }, (_, slot) => {
        const time = from + slot * length;
        const { searches = 0, errors = {}, p50 = null, p90 = null, p99 = null } = known.get(time) ?? {};
        const failed = Object.values(errors).reduce((sum, count) => sum + count, 0);
        return { time, ok: searches - failed, failed, p50, p90, p99 };
    });
}

customElements.define("console-figures", Figures);
