// How one signs in: by the server's own login, or by an issuer that it trusts.

import { element, foreign } from "./dom.js";
import { t } from "./language.js";
import { signInAddress } from "./session.js";

/** Why a sign-in failed, as the server says it in the address. */
const OUTCOMES = ["refused", "expired", "busy", "unknown", "failed"];

/**
 * The ways in, for someone who is signed out.
 *
 * @param {{tenant: string | null, issuers: {id: string, name: string, tenant: string}[]}} session what `GET /session` says
 * @param {string} to where it leads back to: "/" or "/console" and a query
 * @param {string} [target] the window that it opens in; this one where nothing is said
 * @returns {Node[]}
 */
export function waysIn(session, to, target) {
    const go = (wanted) => signInAddress({ to, ...wanted });
    const issuers = (session.issuers ?? []).map(({ id, name, tenant }) => element(
        "a", { class: "button", href: go({ tenant, issuer: id }), target }, t("sign-in.by"), " ", foreign(name),
    ));
    if (session.tenant) {
        return [element("a", { class: "button main", href: go({ tenant: session.tenant }), target }, t("common.sign-in")), ...issuers];
    }
    const input = element("input", {
        id: "enterprise", name: "tenant", required: true, autocomplete: "organization", autocapitalize: "none", spellcheck: "false",
    });
    const form = element(
        "form", { class: "ways-in" },
        element("label", { for: "enterprise" }, t("common.enterprise")), input,
        element("button", { type: "submit", class: "main" }, t("common.sign-in")),
    );
    form.addEventListener("submit", (event) => {
        event.preventDefault();
        // Not sent as a form: it may lead on to where the server has its address, which the page's policy forbids forms.
        open(go({ tenant: input.value.trim() }), target ?? "_self");
    });
    return [form, ...issuers];
}

/** What is said of a sign-in that failed, by the address that it led to; null where none did. */
export function whyNot(search) {
    const outcome = new URLSearchParams(search).get("signin");
    return outcome ? t(`sign-in.${OUTCOMES.includes(outcome) ? outcome : "failed"}`) : null;
}
