// Where nobody is signed in: the ways in, and what became of the last try.

import { element } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { waysIn, whyNot } from "../shared/sign-in.js";

/**
 * What the address says of a sign-in that failed; it is taken out of the address, as it is of no use to whoever gets that.
 *
 * @returns {string | null} what is to be said
 */
export function takeFailure() {
    const said = whyNot(location.search);
    if (said !== null) {
        const parameters = new URLSearchParams(location.search);
        parameters.delete("signin");
        history.replaceState(history.state, "", location.pathname + (parameters.size ? `?${parameters}` : "") + location.hash);
    }
    return said;
}

/** Where a sign-in leads back to: here. */
export function here() {
    return `/${location.search}`;
}

/**
 * The ways in.
 *
 * @param {{tenant: string | null, issuers: object[]}} session
 * @param {string | null} failure what is to be said of the last try
 * @returns {HTMLElement}
 */
export function signIn(session, failure) {
    return element("section", { class: "signin", "aria-labelledby": "signin-title" },
        element("h2", { id: "signin-title" }, t("signin.title")),
        element("p", { class: "faint" }, t("signin.why")),
        failure ? element("p", { class: "note trouble", role: "alert" }, failure) : null,
        element("div", { class: "ways" }, ...waysIn(session, here())),
        session.tenant ? element("p", { class: "faint" }, t("signin.tenant"), " ", element("bdi", {}, session.tenant)) : null);
}
