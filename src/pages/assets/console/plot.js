// Plots of calls or searches over time, with a table for screen readers.

import { element } from "../shared/dom.js";
import { language, number, t } from "../shared/language.js";
import { duration, share } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";

/** Units of the drawing, which is stretched to the available width. */
const WIDTH = 600;
const HEIGHT = 120;
const DASH = 8;

const clock = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit" });

/**
 * @typedef {object} Scale
 * @property {number} slots the most points of a plot
 * @property {(at: number) => string} time the label of a point
 * @property {string} unit the text's key of a point, as others
 * @property {string} none
 * @property {string} latency
 * @property {string} calls
 * @property {string} said
 */

/** @type {Scale} the last hour by minute */
const LAST_HOUR = {
    slots: 60, time: (at) => clock.format(at), unit: "plot.minute", none: "plot.no-calls", latency: "plot.latency", calls: "plot.calls", said: "plot.calls-said",
};

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
 * A line through the points that have a value, with gaps where one is missing.
 *
 * @param {(number | null)[]} values the newest last
 * @param {number} top the value at the upper edge
 * @param {number} [slots] the most values
 * @returns {string} the path's data
 */
export function linePath(values, top, slots = LAST_HOUR.slots) {
    let isDown = false;
    const parts = values.map((value, place) => {
        if (value === null) {
            isDown = false;
            return "";
        }
        const x = xOf(place - values.length + slots, slots);
        const y = HEIGHT - (Math.min(value, top) / top) * HEIGHT;
        const step = `${isDown ? "L" : "M"}${round(x)} ${round(y)}`;
        const isAlone = !isDown && (values[place + 1] ?? null) === null;
        isDown = true;
        return isAlone ? `M${round(x - DASH / 2)} ${round(y)}h${DASH}` : step;
    });
    return parts.join("");
}

function xOf(slot, slots) {
    return ((slot + 0.5) * WIDTH) / slots;
}

const round = (value) => Math.round(value * 10) / 10;

/**
 * Totals of all points.
 *
 * @param {{ok: number, failed: number, p50: number | null, p90: number | null, p99: number | null}[]} history
 */
export function summarize(history) {
    const calls = history.reduce((sum, { ok, failed }) => sum + ok + failed, 0);
    const failed = history.reduce((sum, minute) => sum + minute.failed, 0);
    const slowest = Math.max(0, ...history.map(({ p99 }) => p99 ?? 0));
    return { calls, failed, slowest };
}

/**
 * @param {{time: number, ok: number, failed: number, p50: number | null, p90: number | null, p99: number | null}[]} history
 *     the newest last
 * @param {Scale} [scale]
 */
export function plots(history, scale = LAST_HOUR) {
    const { slots } = scale;
    const { calls, failed, slowest } = summarize(history);
    if (calls === 0) {
        return [element("p", { class: "faint" }, t(scale.none))];
    }
    const top = niceTop(slowest);
    const lines = ["p99", "p90", "p50"].map((name) => draw("path", {
        class: `line ${name}`, d: linePath(history.map((minute) => minute[name]), top, slots),
    }));
    const most = Math.max(1, ...history.map((minute) => minute.ok + minute.failed));
    const gap = Math.min(2, WIDTH / slots / 3);
    const bars = history.flatMap((minute, place) => {
        const width = WIDTH / slots - gap;
        const x = xOf(place - history.length + slots, slots) - width / 2;
        const tall = (count) => (count / most) * HEIGHT;
        const bar = (kind, count, from) => count > 0 && draw("rect", {
            class: `bar ${kind}`, x: round(x), width: round(width), y: round(HEIGHT - from - tall(count)), height: round(tall(count)),
        });
        return [bar("failed", minute.failed, 0), bar("ok", minute.ok, tall(minute.failed))].filter(Boolean);
    });
    const first = history.length < slots ? t("plot.hour-ago") : scale.time(history[0].time);
    const isTimed = history.some(({ p50 }) => p50 !== null);
    return [
        isTimed && figure(t(scale.latency), t("plot.latency-said", { slowest: duration(slowest) }), duration(top), lines, first, [
            ["p50", t("plot.p50")], ["p90", t("plot.p90")], ["p99", t("plot.p99")],
        ]),
        figure(t(scale.calls), t(scale.said, { calls, failed, share: share(failed / calls) }), number(most), bars, first, [
            ["ok", t("plot.ok")], ["failed", `${t("plot.failed")} (${share(failed / calls)})`],
        ]),
        table(history, scale),
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
            element("span", {}, first), element("span", {}, t("plot.now")),
        ),
    );
}

function table(history, scale) {
    const called = history.filter(({ ok, failed }) => ok + failed > 0).reverse();
    const cell = (value) => element("td", {}, value === null ? "–" : duration(value));
    const heads = [scale.unit, "plot.ok", "plot.failed", "plot.p50", "plot.p90", "plot.p99"].map((key) => element("th", { scope: "col" }, t(key)));
    return element(
        "details", {}, element("summary", {}, t("plot.as-table")),
        element("div", { class: "scrolling", tabindex: "0", role: "region", "aria-label": t("plot.as-table") }, element(
            "table", { class: "figures" }, element("thead", {}, element("tr", {}, ...heads)),
            element("tbody", {}, ...called.map(({ time, ok, failed, p50, p90, p99 }) => element(
                "tr", { "data-key": time }, element("th", { scope: "row" }, scale.time(time)), element("td", {}, number(ok)),
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
