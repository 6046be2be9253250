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

/** The failure of the last run, and how many entries it refused. */
export function explainRun({ lastRun }) {
    return [
        lastRun?.error && element("p", { lang: "en", dir: "auto" }, isolate(lastRun.error)),
        lastRun?.refused > 0 && element("p", {}, t("subscriptions.refused", { count: lastRun.refused, said: number(lastRun.refused) })),
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
