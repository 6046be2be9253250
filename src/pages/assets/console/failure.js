import { element } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { icon } from "./icons.js";

/**
 * The message of a failure, with its language where it is not the page's: the server writes English.
 *
 * @returns {{text: string, lang: string | null}}
 */
export function sentence(failure) {
    const own = ownSentence(failure);
    if (own !== null) {
        return { text: own, lang: null };
    }
    // A conflict is clear without its field's name.
    return { text: failure.status === 409 ? named(failure).message : failure.message, lang: "en" };
}

/**
 * Splits a server message into field and text: `auth.tokenUrl: must be https`.
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
    if (failure.status === 412) {
        return t("console.changed-meanwhile");
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
 * A notice in the place of content that failed to load.
 *
 * @param {Error} failure
 * @param {(() => void) | null} [again]
 */
export function explain(failure, again = null) {
    const { text, lang } = sentence(failure);
    return element(
        "div", { class: "notice alarm", role: "alert" },
        icon("fail"),
        element("p", { dir: "auto", lang }, text),
        again && element("button", { type: "button", click: again }, t("common.retry")),
    );
}
