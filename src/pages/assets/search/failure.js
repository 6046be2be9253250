// The meaning of server failures, and their retries.

import { t } from "../shared/language.js";

/** The shortest and the longest wait before an automatic retry, milliseconds. */
const SOON = 3_000;
const LATEST = 60_000;

/**
 * @typedef {object} Trouble
 * @property {string} text
 * @property {number | null} wait milliseconds until the automatic retry; null without one
 * @property {boolean} again whether the person may retry
 */

/**
 * @param {import("../shared/api.js").Failure} failure
 * @param {{online: boolean, tries: number}} state `tries` are earlier attempts that failed
 * @returns {Trouble}
 */
export function describeFailure(failure, { online, tries }) {
    const backoff = Math.min(SOON * 2 ** tries, LATEST);
    switch (failure.status) {
        case 0:
            return online
                ? { text: t("common.not-reached"), wait: backoff, again: true }
                : { text: t("trouble.offline"), wait: null, again: false };
        case 400:
            return { text: t("trouble.refused", { message: failure.message }), wait: null, again: false };
        case 403:
            return { text: t("trouble.forbidden"), wait: null, again: true };
        case 404:
            return { text: t("trouble.no-module"), wait: null, again: false };
        case 429:
        case 503: {
            const wait = failure.retryAfter === null ? backoff : Math.max(failure.retryAfter * 1_000, 500);
            return { text: t("trouble.busy"), wait: Math.min(wait, 10 * LATEST), again: true };
        }
        default:
            return { text: t("common.failed"), wait: null, again: true };
    }
}
