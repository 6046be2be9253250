import { element, fill } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { CHANNEL, fetchSession } from "../shared/session.js";
import { signInLinks, signInError } from "../shared/sign-in-links.js";
import { isSamePerson } from "../shared/session-watch.js";
import { icon } from "./icons.js";

/** The address that a renewed sign-in leads to. */
const ARRIVED = "/console?view=signed-in";

/** The page of a signed-out visitor. */
export function showSignInPage(session, to) {
    const error = signInError(location.search);
    return element(
        "main", { class: "gate" },
        element("h1", {}, t("console.title")),
        error && element("div", { class: "notice alarm", role: "alert" }, icon("fail"), element("p", {}, error)),
        element("p", {}, t("gate.sign-in")),
        element("div", { class: "ways" }, ...signInLinks(session, to)),
        element("p", {}, element("a", { href: "./" }, t("gate.search"))),
    );
}

/** The page of the tab that renewed the sign-in. */
export function showSignedIn() {
    return element(
        "main", { class: "gate" },
        element("h1", {}, t("gate.arrived")), element("p", {}, t("gate.arrived-text")),
        element("p", {}, element("a", { class: "button", href: "console" }, t("console.title"))),
    );
}

/** The page of an operator who has to set up a second factor first. */
export function showSecondFactorNeeded() {
    return element(
        "main", { class: "gate" },
        element("h1", {}, t("gate.second-factor")), element("p", {}, t("gate.second-factor-text")),
        element("p", {}, element("a", { class: "button main", href: "account" }, t("gate.second-factor-set-up"))),
    );
}

let asking = null;

/**
 * Renews the sign-in in another tab; this one keeps its input. Concurrent calls share one dialog. Resolves to whether
 * the same person is signed in again.
 *
 * @param {{person: {userId: string}, tenant: {code: string}}} before
 * @returns {Promise<boolean>}
 */
export function signInAgain(before) {
    asking ??= askAgain(before).finally(() => {
        asking = null;
    });
    return asking;
}

async function askAgain(before) {
    const session = await fetchSession();
    if (session.signedIn) {
        return isSamePerson(session, before);
    }
    return new Promise((resolve) => {
        const ending = new AbortController();
        const status = element("p", { role: "status" });
        const look = async () => {
            const now = await fetchSession().catch(() => null);
            if (now?.signedIn) {
                if (isSamePerson(now, before)) {
                    end(true);
                } else {
                    fill(status, t("again.other"));
                }
            }
        };
        const known = { ...session, tenant: before.tenant.code };
        const dialog = element(
            "dialog", { "aria-labelledby": "again-title", class: "again" },
            element("h2", { id: "again-title" }, t("again.title")),
            element("p", {}, t("again.text")),
            status,
            element(
                "div", { class: "actions" },
                element("button", { type: "button", click: () => end(false) }, t("again.not-now")),
                ...signInLinks(known, ARRIVED, "_blank"),
            ),
        );
        const focused = document.activeElement;
        const end = (answer) => {
            ending.abort();
            dialog.close();
            dialog.remove();
            focused?.focus?.();
            resolve(answer);
        };
        const channel = new BroadcastChannel(CHANNEL);
        channel.addEventListener("message", look, { signal: ending.signal });
        ending.signal.addEventListener("abort", () => channel.close());
        addEventListener("focus", look, { signal: ending.signal });
        dialog.addEventListener("cancel", () => end(false));
        document.body.append(dialog);
        dialog.showModal();
    });
}
