import { element, isolate } from "./dom.js";
import { t } from "./language.js";
import { signInAddress } from "./session.js";

/** Reasons of a failed sign-in, as in the address. */
const OUTCOMES = ["refused", "expired", "busy", "unknown", "failed"];

/**
 * The links and the form of a signed-out visitor.
 *
 * @param {{tenant: string | null, issuers: {id: string, name: string, tenant: string}[]}} session as of `GET /session`
 * @param {string} to the way back: "/" or "/console" and a query
 * @param {string} [target] the window to open, by default this one
 * @returns {Node[]}
 */
export function signInLinks(session, to, target) {
    const go = (wanted) => signInAddress({ to, ...wanted });
    const issuers = (session.issuers ?? []).map(({ id, name, tenant }) => element(
        "a", { class: "button", href: go({ tenant, issuer: id }), target }, t("sign-in.by"), " ", isolate(name),
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
        // A form's redirect may leave this origin, which `form-action` forbids.
        open(go({ tenant: input.value.trim() }), target ?? "_self");
    });
    return [form, ...issuers];
}

/** The message of a failed sign-in, from the address; null without one. */
export function signInError(search) {
    const outcome = new URLSearchParams(search).get("signin");
    return outcome ? t(`sign-in.${OUTCOMES.includes(outcome) ? outcome : "failed"}`) : null;
}
