// How a source is, in a sign and a word, and which one wants to be looked at first.

import { serverNow } from "../shared/api.js";
import { element, foreign } from "../shared/dom.js";
import { t } from "../shared/language.js";
import "./amounts.js";
import { sign } from "./signs.js";

/** A source is slow whose tenth call takes more than this share of its timeout. */
const SLOW_SHARE = 0.5;

/** Each state: its rank among those that want to be looked at, and its sign. */
const STATES = {
    suspended: { rank: 0, sign: "paused", tone: "alarm" },
    probing: { rank: 1, sign: "paused", tone: "warning" },
    failing: { rank: 2, sign: "fail", tone: "alarm" },
    slow: { rank: 3, sign: "slow", tone: "warning" },
    unknown: { rank: 4, sign: "unknown", tone: "faint" },
    ok: { rank: 5, sign: "ok", tone: "good" },
    disabled: { rank: 6, sign: "off", tone: "faint" },
};

/**
 * The state of a registered source.
 *
 * @param {object} source as `GET /admin/v1/sources` lists it
 * @param {number} now epoch milliseconds
 * @returns {keyof typeof STATES}
 */
export function stateOf(source, now) {
    const { status, suspended } = source.health;
    if (!source.enabled) {
        return "disabled";
    }
    if (suspended) {
        return suspended.until > now ? "suspended" : "probing";
    }
    if (status === "unknown") {
        return "unknown";
    }
    if (status !== "ok") {
        return "failing";
    }
    return source.health.latencyMs && source.health.latencyMs.p90 > source.timeoutMs * SLOW_SHARE ? "slow" : "ok";
}

/** The sources as they want to be looked at: what is broken first, then what is slow. */
export function byUrgency(sources, now) {
    const rank = (source) => STATES[stateOf(source, now)].rank;
    return [...sources].sort((one, other) => rank(one) - rank(other));
}

/** Whether something is to be done about a source of this state. */
export function isUrgent(state) {
    return STATES[state].rank <= STATES.slow.rank;
}

/** A sign and a word in the colour of their tone. */
export function badge(tone, name, ...words) {
    return element("span", { class: `badge ${tone}` }, sign(name), element("span", {}, ...words));
}

/** The state of a source as a badge. */
export function stateBadge(source, now = serverNow()) {
    const state = stateOf(source, now);
    const word = state === "failing" ? t(`status.${source.health.status}`) : t(`state.${state}`);
    return badge(STATES[state].tone, STATES[state].sign, word);
}

/** Why a source is as it is, in sentences; nothing where there is nothing to say. */
export function why(source, now = serverNow()) {
    const { suspended, message } = source.health;
    const sentences = [];
    if (suspended && source.enabled) {
        const cause = t(`status.${suspended.cause}`);
        sentences.push(suspended.until > now
            ? element(
                "p", { "data-key": "until" }, `${t("state.left-alone", { cause, count: suspended.times })} `,
                t("state.asked-again-in"), " ", element("count-down", { until: suspended.until }),
            )
            : element("p", { "data-key": "until" }, t("state.probed-next", { cause })));
    }
    if (message) {
        sentences.push(element("p", { "data-key": "message", class: "message" }, foreign(message)));
    }
    return sentences;
}
