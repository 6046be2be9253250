// Notes on the sources of an answer.

import { t } from "../shared/language.js";
import { clockTime } from "../shared/time.js";

/**
 * @typedef {object} Note
 * @property {"trouble" | "hint"} level
 * @property {string} text
 * @property {boolean} again whether a retry may help
 */

/** The server's message for a disabled source: the answer is complete without it. */
const OUT_OF_USE = "disabled by the operator";

/** The status of a source that is not asked while words are typed. */
const SKIPPED = "skipped";

const SAID = { timeout: "state.timeout", late: "state.late", unauthorized: "state.unauthorized", invalid: "state.invalid", error: "state.error" };

/**
 * The notes of an answer on its sources.
 *
 * @param {{code?: number, partial?: boolean, sources?: object[]}} answer
 * @param {number} now epoch milliseconds
 * @returns {Note[]}
 */
export function notes(answer, now) {
    const hasFailed = answer.code !== undefined && answer.code !== 200;
    const found = reportsOf(answer).filter(({ status }) => status !== SKIPPED).flatMap((report) =>
        report.message !== OUT_OF_USE || report.status === "ok" ? ofSource(report, now) : outOfUse(report, hasFailed));
    if (answer.code === 413) {
        found.push({ level: "trouble", text: t("state.no-room"), again: true });
    } else if (!found.some((note) => note.level === "trouble")) {
        if (hasFailed && !found.length) {
            found.push({ level: "trouble", text: t("state.failed"), again: true });
        } else if (answer.partial && !hasSkipped(answer)) {
            found.push({ level: "trouble", text: t("state.partial"), again: false });
        }
    }
    return found;
}

/**
 * What an answer lacks: "unreached" if a source did not answer, "unread" if not all was read; null if complete. An
 * incomplete answer without items does not prove that nothing exists.
 *
 * @returns {"unreached" | "unread" | null}
 */
export function gapOf(answer) {
    const failed = reportsOf(answer).some(({ status, message }) => status !== "ok" && status !== SKIPPED && message !== OUT_OF_USE);
    if (failed || (answer.code !== undefined && answer.code !== 200)) {
        return "unreached";
    }
    return answer.partial && !hasSkipped(answer) ? "unread" : null;
}

/** Whether a source waits for the end of the typing. It is asked a moment later, so nothing is missing. */
export function hasSkipped(answer) {
    return reportsOf(answer).some(({ status }) => status === SKIPPED);
}

export function isIncomplete(answer) {
    return gapOf(answer) !== null;
}

function reportsOf(answer) {
    return Array.isArray(answer.sources) ? answer.sources : [];
}

/** Mentioned only when the whole answer failed. */
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
        ? t("state.suspended", { name, time: clockTime(report.retryAt, now) })
        : t("state.unavailable", { name });
}
