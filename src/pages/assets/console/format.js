import { serverNow } from "../shared/api.js";
import { element } from "../shared/dom.js";
import { language, t } from "../shared/language.js";
import { exactTime, isoTime, relativeTime } from "../shared/time.js";

const unit = (name, digits) => new Intl.NumberFormat(language, {
    style: "unit", unit: name, unitDisplay: "short", maximumFractionDigits: digits,
});

/** The same in every language, kept on the line of their number. */
function symbol(name, digits) {
    const numbers = new Intl.NumberFormat(language, { maximumFractionDigits: digits });
    return { format: (value) => `${numbers.format(value)}\u00a0${name}` };
}

/** In milliseconds. */
const DURATIONS = [
    [86_400_000, unit("day", 1)], [3_600_000, unit("hour", 1)], [60_000, unit("minute", 0)], [1_000, symbol("s", 1)], [1, symbol("ms", 0)],
];

const SIZES = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"].map((name, power) => unit(name, power > 1 ? 1 : 0));

const percents = new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 1 });

export function duration(milliseconds) {
    const [length, format] = DURATIONS.find(([length]) => milliseconds >= length) ?? DURATIONS.at(-1);
    return format.format(milliseconds / length);
}

/** A countdown: minutes and seconds, or the duration from two hours on. */
export function remaining(milliseconds) {
    const seconds = Math.max(0, Math.ceil(milliseconds / 1_000));
    if (seconds >= 7_200) {
        return duration(seconds * 1_000);
    }
    return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

export function size(bytes) {
    const power = bytes < 1 ? 0 : Math.min(SIZES.length - 1, Math.floor(Math.log10(bytes) / 3));
    return SIZES[power].format(bytes / 1_000 ** power);
}

/** A ratio as a percentage. */
export function share(value) {
    return percents.format(value);
}

/** A relative time with the exact one as a tooltip. */
export function timeElement(time) {
    if (time === null || time === undefined) {
        return element("span", { class: "faint" }, t("console.never"));
    }
    return element("time", { datetime: isoTime(time), title: exactTime(time) }, relativeTime(time, serverNow()));
}

const ofDay = new Intl.DateTimeFormat(language, { timeStyle: "medium" });

export function timeOfDay(time) {
    return ofDay.format(time);
}

/** A countdown that updates itself: `<count-down until="epoch milliseconds">`. */
class CountDown extends HTMLElement {
    static observedAttributes = ["until"];
    #timer = 0;

    attributeChangedCallback() {
        this.#say();
    }

    connectedCallback() {
        this.#timer = setInterval(() => this.#say(), 1_000);
    }

    disconnectedCallback() {
        clearInterval(this.#timer);
    }

    #say() {
        const text = remaining(Number(this.getAttribute("until")) - serverNow());
        // Keeps its text node for `morph`.
        if (this.firstChild) {
            this.firstChild.data = text;
        } else {
            this.textContent = text;
        }
    }
}

customElements.define("count-down", CountDown);
