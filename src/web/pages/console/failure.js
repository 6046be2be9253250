// Failures as people are told of them.

import { element } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { sign } from "./signs.js";

/**
 * What a failure is, in a sentence, and its language where it is not the page's: the server's own words are in English.
 *
 * @returns {{text: string, lang: string | null}}
 */
export function sentence(failure) {
    const own = ownSentence(failure);
    if (own !== null) {
        return { text: own, lang: null };
    }
    // What is taken already is understood without the field; what is wrong with one is not.
    return { text: failure.status === 409 ? named(failure).message : failure.message, lang: "en" };
}

/**
 * The field that a message of the server names, and what it says of it: `auth.tokenUrl: must be https`.
 *
 * @param {{status: number, message: string}} failure
 */
export function named(failure) {
    const parts = [400, 409].includes(failure.status) && /^([A-Za-z][\w.]*)(?:\[\d+\][\w.]*)?: (.+)$/s.exec(failure.message);
    return parts ? { name: parts[1], message: parts[2] } : { name: null, message: failure.message };
}

function ownSentence(failure) {
    if (failure.status === 0) {
        return t(navigator.onLine ? "common.not-reached" : "common.offline");
    }
    if (failure.status === undefined || failure.status >= 500 && failure.status !== 503) {
        return t("common.failed");
    }
    if (failure.status === 401) {
        return t("console.signed-out");
    }
    if (failure.status === 429) {
        return t("console.too-many");
    }
    if (failure.isOwn) {
        return failure.message;
    }
    return failure.message ? null : t("common.failed");
}

/**
 * A failure in the place of what it kept from being there.
 *
 * @param {Error} failure
 * @param {(() => void) | null} [again]
 */
export function explain(failure, again = null) {
    const { text, lang } = sentence(failure);
    return element(
        "div", { class: "notice alarm", role: "alert" },
        sign("fail"),
        element("p", { dir: "auto", lang }, text),
        again && element("button", { type: "button", click: again }, t("common.retry")),
    );
}
