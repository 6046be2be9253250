import { element, isolate } from "../shared/dom.js";
import { number, t } from "../shared/language.js";
import { timeElement } from "./format.js";
import { badge } from "./source-state.js";

const STATES = {
    failed: ["alarm", "fail"], waiting: ["faint", "unknown"], read: ["good", "ok"], unchanged: ["good", "ok"], disabled: ["faint", "off"],
};

/** @returns {keyof typeof STATES} */
export function stateOf({ enabled, lastRun }) {
    if (lastRun?.outcome === "failed") {
        return "failed";
    }
    return enabled ? lastRun?.outcome ?? "waiting" : "disabled";
}

export function stateBadge(subscription) {
    const state = stateOf(subscription);
    const [tone, name] = STATES[state];
    return badge(tone, name, t(`subscriptions.is-${state}`));
}

/** The failure of the last run, how many entries it refused, cut or passed over, and what it did not understand. */
export function explainRun({ lastRun }) {
    const english = (text) => element("p", { lang: "en", dir: "auto" }, isolate(text));
    const counted = (name) => lastRun?.[name] > 0
        && element("p", {}, t(`subscriptions.${name}`, { count: lastRun[name], said: number(lastRun[name]) }));
    return [
        lastRun?.error && english(lastRun.error),
        ...["refused", "truncated", "undated", "passedOver"].map(counted),
        ...(lastRun?.notes ?? []).map(english),
    ];
}

/** When it runs next. */
export function nextRun({ nextRunAt }, now) {
    if (nextRunAt === null) {
        return element("span", { class: "faint" }, t("subscriptions.on-request"));
    }
    return nextRunAt <= now ? t("subscriptions.due") : timeElement(nextRunAt);
}

/** Where its items come from. */
export function addressOf({ feed, folder, sql }) {
    return feed?.url ?? folder?.path ?? sql?.address;
}
