import { serverNow } from "../shared/api.js";
import { element, isolate } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { timeElement } from "./format.js";
import { icon } from "./icons.js";

/** A source is slow when its p90 exceeds this share of its timeout. */
const SLOW_SHARE = 0.5;

/** Each state: urgency (0 is highest), icon and tone. */
const STATES = {
    suspended: { rank: 0, icon: "paused", tone: "alarm" },
    probing: { rank: 1, icon: "paused", tone: "warning" },
    failing: { rank: 2, icon: "fail", tone: "alarm" },
    broken: { rank: 2, icon: "fail", tone: "alarm" },
    late: { rank: 3, icon: "slow", tone: "warning" },
    slow: { rank: 3, icon: "slow", tone: "warning" },
    unknown: { rank: 4, icon: "unknown", tone: "faint" },
    checked: { rank: 4, icon: "ok", tone: "faint" },
    ok: { rank: 5, icon: "ok", tone: "good" },
    disabled: { rank: 6, icon: "off", tone: "faint" },
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
    if (source.health.late) {
        return "late";
    }
    if (status === "unknown") {
        return stateOfCheck(source.lastCheck);
    }
    if (status !== "ok") {
        return "failing";
    }
    return source.health.latencyMs && source.health.latencyMs.p90 > source.timeoutMs * SLOW_SHARE ? "slow" : "ok";
}

/** The state of a source that was not called but by its check. */
function stateOfCheck(check) {
    if (!check) {
        return "unknown";
    }
    return check.failed > 0 ? "broken" : "checked";
}

/** The sources by urgency: broken ones, then slow ones. */
export function byUrgency(sources, now) {
    const rank = (source) => STATES[stateOf(source, now)].rank;
    return [...sources].sort((one, other) => rank(one) - rank(other));
}

/** Whether an operator should act. */
export function isUrgent(state) {
    return STATES[state].rank <= STATES.slow.rank;
}

export function badge(tone, name, ...words) {
    return element("span", { class: `badge ${tone}` }, icon(name), element("span", {}, ...words));
}

export function stateBadge(source, now = serverNow()) {
    const state = stateOf(source, now);
    const word = state === "failing" ? t(`status.${source.health.status}`) : t(`state.${state}`);
    return badge(STATES[state].tone, STATES[state].icon, word);
}

/** When a source was checked, and the result. */
export function lastCheck(check) {
    return check && element(
        "span", {}, t("state.checked-at"), " ", timeElement(check.checkedAt), ": ",
        check.failed > 0
            ? t("state.check-failed", { count: check.failed, all: check.passed + check.failed + check.unknown })
            : t("state.check-passed"),
    );
}

export function explainState(source, now = serverNow()) {
    const { suspended, message } = source.health;
    const sentences = [];
    if (source.lastCheck && ["disabled", "broken", "checked"].includes(stateOf(source, now))) {
        sentences.push(element("p", { "data-key": "check" }, lastCheck(source.lastCheck)));
    }
    if (suspended && source.enabled) {
        const cause = t(`status.${suspended.cause}`);
        sentences.push(suspended.until > now
            ? element(
                "p", { "data-key": "until" }, `${t("state.left-alone", { cause, count: suspended.times })} `,
                t("state.asked-again-in"), " ", element("count-down", { until: suspended.until }),
            )
            : element("p", { "data-key": "until" }, t("state.probed-next", { cause })));
    }
    if (stateOf(source, now) === "late") {
        sentences.push(element("p", { "data-key": "late" }, t("state.late-text")));
    }
    if (message) {
        sentences.push(element("p", { "data-key": "message", class: "message" }, isolate(message)));
    }
    return sentences;
}
