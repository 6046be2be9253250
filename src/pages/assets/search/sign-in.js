import { element } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { signInLinks, signInError } from "../shared/sign-in-links.js";

/**
 * Takes the sign-in error out of the address, so that it is not shared or bookmarked.
 *
 * @returns {string | null}
 */
export function takeSignInError() {
    const error = signInError(location.search);
    if (error !== null) {
        const parameters = new URLSearchParams(location.search);
        parameters.delete("signin");
        history.replaceState(history.state, "", location.pathname + (parameters.size ? `?${parameters}` : "") + location.hash);
    }
    return error;
}

/** The path that a sign-in leads back to. */
export function currentPath() {
    return `/${location.search}`;
}

/**
 * @param {{tenant: string | null, issuers: object[]}} session
 * @param {string | null} error the error of the last attempt
 * @returns {HTMLElement}
 */
export function signInSection(session, error) {
    return element("section", { class: "signin", "aria-labelledby": "signin-title" },
        element("h2", { id: "signin-title" }, t("signin.title")),
        element("p", { class: "faint" }, t("signin.why")),
        error ? element("p", { class: "note trouble", role: "alert" }, error) : null,
        element("div", { class: "ways" }, ...signInLinks(session, currentPath())),
        session.tenant ? element("p", { class: "faint" }, t("signin.tenant"), " ", element("bdi", {}, session.tenant)) : null);
}
