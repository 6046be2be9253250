// What is to be said of the sources of an answer: nothing found is one thing, not reached another, not complete a third.

import { t } from "../shared/language.js";
import { clock } from "../shared/time.js";

/**
 * @typedef {object} Note
 * @property {"trouble" | "hint"} level
 * @property {string} text
 * @property {boolean} again whether asking again may help
 */

/** What the server says of a source that an operator has switched off: an answer is complete without it. */
const OUT_OF_USE = "disabled by the operator";

/** What a source's status means to people. */
const SAID = { timeout: "state.timeout", unauthorized: "state.unauthorized", invalid: "state.invalid", error: "state.error" };

/**
 * What is to be said of an answer besides its items.
 *
 * @param {{code?: number, partial?: boolean, corrected?: string, sources?: object[]}} answer
 * @param {string} wanted what was looked for
 * @param {number} now epoch milliseconds
 * @returns {Note[]}
 */
export function notes(answer, wanted, now) {
    const hasFailed = answer.code !== undefined && answer.code !== 200;
    const said = reportsOf(answer).flatMap((report) =>
        report.message !== OUT_OF_USE || report.status === "ok" ? ofSource(report, now) : outOfUse(report, hasFailed));
    if (answer.code === 413) {
        said.push({ level: "trouble", text: t("state.no-room"), again: true });
    } else if (!said.some((note) => note.level === "trouble")) {
        if (hasFailed && !said.length) {
            said.push({ level: "trouble", text: t("state.failed"), again: true });
        } else if (answer.partial) {
            said.push({ level: "trouble", text: t("state.partial"), again: false });
        }
    }
    if (answer.corrected) {
        said.push({ level: "hint", text: t("state.corrected", { wanted, shown: answer.corrected }), again: false });
    }
    return said;
}

/**
 * What is missing in an answer, so that nothing found does not mean that there is nothing: "unreached" where somebody did not answer,
 * "unread" where not all was looked through; null where nothing is.
 *
 * @returns {"unreached" | "unread" | null}
 */
export function lackOf(answer) {
    const failed = reportsOf(answer).some((report) => report.status !== "ok" && report.message !== OUT_OF_USE);
    if (failed || (answer.code !== undefined && answer.code !== 200)) {
        return "unreached";
    }
    return answer.partial ? "unread" : null;
}

/** Whether something is missing in an answer. */
export function isIncomplete(answer) {
    return lackOf(answer) !== null;
}

function reportsOf(answer) {
    return Array.isArray(answer.sources) ? answer.sources : [];
}

/** Only worth a word where there is nothing else. */
function outOfUse(report, hasFailed) {
    return hasFailed ? [{ level: "hint", text: t("state.out-of-use", { name: report.name || report.id }), again: false }] : [];
}

function ofSource(report, now) {
    const name = report.name || report.id;
    if (report.status === "ok") {
        return report.stale ? [{ level: "hint", text: t("state.stale", { name }), again: true }] : [];
    }
    const text = report.status === "unavailable" ? unavailable(report, name, now) : t(SAID[report.status] ?? "state.error", { name });
    return [{ level: "trouble", text, again: report.status !== "unauthorized" }];
}

function unavailable(report, name, now) {
    return report.retryAt > now
        ? t("state.suspended", { name, time: clock(report.retryAt, now) })
        : t("state.unavailable", { name });
}
