// What is said when the server cannot be asked, and when it is asked again.

import { t } from "../shared/language.js";

/** The least and the most time until the server is asked again by itself, milliseconds. */
const SOON = 3_000;
const LATEST = 60_000;

/**
 * @typedef {object} Trouble
 * @property {string} text
 * @property {number | null} wait milliseconds until it is asked again by itself; null where it is not
 * @property {boolean} again whether a person may ask again
 */

/**
 * What a failure means to people.
 *
 * @param {import("../shared/api.js").Failure} failure
 * @param {{online: boolean, tries: number}} state `tries` before this one that failed the same way
 * @returns {Trouble}
 */
export function describe(failure, { online, tries }) {
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
