// Plots of the last hour, with a table for screen readers.

import { element } from "../shared/dom.js";
import { language, number, t } from "../shared/language.js";
import { duration, share } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";

const MINUTES = 60;

/** Units of the drawing, which is stretched to the available width. */
const WIDTH = 600;
const HEIGHT = 120;
const DASH = 8;

const clock = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit" });

/**
 * The smallest of 1, 2 and 5 times a power of ten that is at least a value.
 *
 * @param {number} value
 */
export function niceTop(value) {
    if (value <= 0) {
        return 1;
    }
    const power = 10 ** Math.floor(Math.log10(value));
    return [1, 2, 5, 10].map((factor) => factor * power).find((top) => top >= value);
}

/**
 * A line through the minutes that have a value, with gaps where one is missing.
 *
 * @param {(number | null)[]} values the newest last
 * @param {number} top the value at the upper edge
 * @returns {string} the path's data
 */
export function linePath(values, top) {
    let isDown = false;
    const parts = values.map((value, place) => {
        if (value === null) {
            isDown = false;
            return "";
        }
        const x = xOf(place - values.length + MINUTES);
        const y = HEIGHT - (Math.min(value, top) / top) * HEIGHT;
        const step = `${isDown ? "L" : "M"}${round(x)} ${round(y)}`;
        const isAlone = !isDown && (values[place + 1] ?? null) === null;
        isDown = true;
        return isAlone ? `M${round(x - DASH / 2)} ${round(y)}h${DASH}` : step;
    });
    return parts.join("");
}

function xOf(minute) {
    return ((minute + 0.5) * WIDTH) / MINUTES;
}

const round = (value) => Math.round(value * 10) / 10;

/**
 * Totals of the last hour.
 *
 * @param {{ok: number, failed: number, p50: number | null, p90: number | null, p99: number | null}[]} history
 */
export function summarize(history) {
    const calls = history.reduce((sum, { ok, failed }) => sum + ok + failed, 0);
    const failed = history.reduce((sum, minute) => sum + minute.failed, 0);
    const slowest = Math.max(0, ...history.map(({ p99 }) => p99 ?? 0));
    return { calls, failed, slowest };
}

export function plots(history) {
    const { calls, failed, slowest } = summarize(history);
    if (calls === 0) {
        return [element("p", { class: "faint" }, t("plot.no-calls"))];
    }
    const top = niceTop(slowest);
    const lines = ["p99", "p90", "p50"].map((name) => draw("path", {
        class: `line ${name}`, d: linePath(history.map((minute) => minute[name]), top),
    }));
    const most = Math.max(1, ...history.map((minute) => minute.ok + minute.failed));
    const bars = history.flatMap((minute, place) => {
        const x = xOf(place - history.length + MINUTES) - WIDTH / MINUTES / 2 + 1;
        const width = WIDTH / MINUTES - 2;
        const tall = (count) => (count / most) * HEIGHT;
        const bar = (kind, count, from) => count > 0 && draw("rect", {
            class: `bar ${kind}`, x: round(x), width: round(width), y: round(HEIGHT - from - tall(count)), height: round(tall(count)),
        });
        return [bar("failed", minute.failed, 0), bar("ok", minute.ok, tall(minute.failed))].filter(Boolean);
    });
    const first = history.length < MINUTES ? null : history[0].time;
    const isTimed = history.some(({ p50 }) => p50 !== null);
    return [
        isTimed && figure(t("plot.latency"), t("plot.latency-said", { slowest: duration(slowest) }), duration(top), lines, first, [
            ["p50", t("plot.p50")], ["p90", t("plot.p90")], ["p99", t("plot.p99")],
        ]),
        figure(t("plot.calls"), t("plot.calls-said", { calls, failed, share: share(failed / calls) }), number(most), bars, first, [
            ["ok", t("plot.ok")], ["failed", `${t("plot.failed")} (${share(failed / calls)})`],
        ]),
        table(history),
    ].filter(Boolean);
}

function figure(title, said, top, drawn, first, legend) {
    const plot = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": `${title}: ${said}` });
    for (const y of [0, HEIGHT / 2, HEIGHT]) {
        plot.append(draw("path", { class: "grid", d: `M0 ${y}H${WIDTH}` }));
    }
    plot.append(...drawn);
    return element(
        "figure", { class: "plot" },
        element("figcaption", {}, element("strong", {}, title), element(
            "span", { class: "legend", "aria-hidden": "true" }, ...legend.map(([kind, text]) => element("span", { class: kind }, text)),
        )),
        element("div", { class: "area" }, element("span", { class: "most", "aria-hidden": "true" }, top), plot),
        element(
            "div", { class: "axis", "aria-hidden": "true" },
            element("span", {}, first === null ? t("plot.hour-ago") : clock.format(first)), element("span", {}, t("plot.now")),
        ),
    );
}

function table(history) {
    const called = history.filter(({ ok, failed }) => ok + failed > 0).reverse();
    const cell = (value) => element("td", {}, value === null ? "–" : duration(value));
    const heads = ["plot.minute", "plot.ok", "plot.failed", "plot.p50", "plot.p90", "plot.p99"].map((key) => element("th", { scope: "col" }, t(key)));
    return element(
        "details", {}, element("summary", {}, t("plot.as-table")),
        element("div", { class: "scrolling", tabindex: "0", role: "region", "aria-label": t("plot.as-table") }, element(
            "table", { class: "figures" }, element("thead", {}, element("tr", {}, ...heads)),
            element("tbody", {}, ...called.map(({ time, ok, failed, p50, p90, p99 }) => element(
                "tr", { "data-key": time }, element("th", { scope: "row" }, clock.format(time)), element("td", {}, number(ok)),
                element("td", {}, number(failed)), cell(p50), cell(p90), cell(p99),
            ))),
        )),
    );
}

function draw(name, attributes) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) {
        made.setAttribute(key, value);
    }
    return made;
}
