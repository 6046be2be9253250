// Signing in to the console, at first and again in the middle of something.

import { element, fill } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { CHANNEL, whoAmI } from "../shared/session.js";
import { waysIn, whyNot } from "../shared/sign-in.js";
import { isSame } from "../shared/watch.js";
import { sign } from "./signs.js";

/** Where the tab ends up in which one signs in again. */
const ARRIVED = "/console?view=signed-in";

/** What someone sees who is signed out. */
export function showSignIn(session, to) {
    const why = whyNot(location.search);
    return element(
        "main", { class: "gate" },
        element("h1", {}, t("console.title")),
        why && element("div", { class: "notice alarm", role: "alert" }, sign("fail"), element("p", {}, why)),
        element("p", {}, t("gate.sign-in")),
        element("div", { class: "ways" }, ...waysIn(session, to)),
        element("p", {}, element("a", { href: "./" }, t("gate.search"))),
    );
}

/** What the tab shows in which one has signed in again. */
export function showArrived() {
    return element(
        "main", { class: "gate" },
        element("h1", {}, t("gate.arrived")), element("p", {}, t("gate.arrived-text")),
        element("p", {}, element("a", { class: "button", href: "console" }, t("console.title"))),
    );
}

let asking = null;

/**
 * Has one sign in again in a tab of its own, so that this one keeps what was typed. All who ask at once get the one answer: whether
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
    const session = await whoAmI();
    if (session.signedIn) {
        return isSame(session, before);
    }
    return new Promise((resolve) => {
        const ending = new AbortController();
        const status = element("p", { role: "status" });
        const look = async () => {
            const now = await whoAmI().catch(() => null);
            if (now?.signedIn) {
                if (isSame(now, before)) {
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
                ...waysIn(known, ARRIVED, "_blank"),
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
