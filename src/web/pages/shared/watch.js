// Who is signed in may change while the page stands: in another tab, or as time goes on.

import { CHANNEL, whoAmI } from "./session.js";

/**
 * Tells when somebody else is signed in, nobody any more, or the same person still or again.
 *
 * @param {{signedIn: boolean, person?: {userId: string}, tenant: any}} before what `GET /session` said when the page began
 * @param {{left: () => void, other: () => void, nobody: () => void, same: () => void}} page `left` is a sign-out on purpose
 */
export function watchSession(before, page) {
    let asking = new AbortController();
    const look = async () => {
        // Only the last answer counts.
        asking.abort();
        asking = new AbortController();
        const now = await whoAmI(asking.signal).catch(() => null);
        if (now === null) {
            return;
        }
        if (now.signedIn !== before.signedIn) {
            (now.signedIn ? page.other : page.nobody)();
        } else if (now.signedIn) {
            (isSame(now, before) ? page.same : page.other)();
        }
    };
    new BroadcastChannel(CHANNEL).addEventListener("message", ({ data }) => {
        if (data === "signed out" && before.signedIn) {
            page.left();
        } else {
            look();
        }
    });
    globalThis.addEventListener("focus", look);
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && look());
}

/** Whether both are the same person's, of the same tenant. */
export function isSame(session, before) {
    return session.person.userId === before.person.userId && session.tenant?.code === before.tenant?.code;
}
