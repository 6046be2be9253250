// The result of a check as a text for the author of the source.

import { language, number, t } from "../shared/language.js";
import { isoTime } from "../shared/time.js";
import clauses from "../texts/clauses.js";

/**
 * Requirement and remedy of a clause in the page's language; null where it is the server's.
 *
 * @param {string} id
 * @returns {[string, string] | null}
 */
export function ownWords(id) {
    return language === "en" || !Object.hasOwn(clauses, id) ? null : clauses[id];
}

/**
 * A text that says each failed clause, and names the others.
 *
 * @param {string} name the source's
 * @param {object} report of the check
 * @param {number} at epoch milliseconds
 */
export function authorText(name, report, at) {
    const of = (verdict) => report.clauses.filter((clause) => clause.verdict === verdict);
    const [failed, unknown, passed] = [of("fail"), of("unknown"), of("pass")];
    const told = { name, call: `${report.method} ${report.url}`, time: isoTime(at), failed: failed.length, all: report.clauses.length };
    return [
        t(report.passed ? "author.passed" : "author.failed", told),
        ...failed.map((clause, place) => [
            `${number(place + 1)}. ${ownWords(clause.id)?.[0] ?? clause.title} (${clause.id})`,
            `${t("check.seen")}: ${clause.seen}`,
            `${t("check.expected")}: ${ownWords(clause.id)?.[1] ?? clause.expected}`,
            clause.curl && `${t("check.curl")}: ${clause.curl}`,
        ].filter(Boolean).join("\n")),
        failed.some(({ curl }) => /\$(TOKEN|API_KEY|PASSWORD|ASSERTION)/.test(curl)) && t("author.credentials"),
        unknown.length > 0 && t("author.unknown", { count: unknown.length, ids: unknown.map(({ id }) => id).join(", ") }),
        t("author.kept", { count: passed.length }),
    ].filter(Boolean).join("\n\n");
}
