// Watches for a change of session, by the tab becoming visible and by messages of other tabs.

import { CHANNEL, fetchSession } from "./session.js";

/**
 * @param {{signedIn: boolean, person?: {userId: string}, tenant: any}} before `GET /session` at the start of the page
 * @param {{signedOut: () => void, otherPerson: () => void, expired: () => void, samePerson: () => void}} page `signedOut` is a deliberate
 *     sign-out
 */
export function watchSession(before, page) {
    let asking = new AbortController();
    const look = async () => {
        asking.abort();
        asking = new AbortController();
        const now = await fetchSession(asking.signal).catch(() => null);
        if (now === null) {
            return;
        }
        if (now.signedIn !== before.signedIn) {
            (now.signedIn ? page.otherPerson : page.expired)();
        } else if (now.signedIn) {
            (isSamePerson(now, before) ? page.samePerson : page.otherPerson)();
        }
    };
    new BroadcastChannel(CHANNEL).addEventListener("message", ({ data }) => {
        if (data === "signed out" && before.signedIn) {
            page.signedOut();
        } else {
            look();
        }
    });
    globalThis.addEventListener("focus", look);
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && look());
}

export function isSamePerson(session, before) {
    return session.person.userId === before.person.userId && session.tenant?.code === before.tenant?.code;
}
