import { call } from "./api.js";
import { clearAllRecent } from "./recent.js";

/** The channel on which tabs tell each other of sign-in and sign-out. */
export const CHANNEL = "trawl-session";

/**
 * The session, or what the sign-in page needs without one.
 *
 * @returns {Promise<{signedIn: boolean, person?: object, tenant: any, operator?: boolean, issuers?: object[]}>}
 */
export async function fetchSession(signal) {
    const answer = await call("GET", "/session", { signal });
    return answer.data;
}

export function signInAddress({ to, tenant, issuer }) {
    const parameters = new URLSearchParams({ to });
    if (tenant) {
        parameters.set("tenant", tenant);
    }
    if (issuer) {
        parameters.set("issuer", issuer);
    }
    return `session/start?${parameters}`;
}

/** Ends the session, removes recent searches and tells the other tabs. */
export async function signOut() {
    try {
        await call("POST", "/session/end");
    } finally {
        clearAllRecent();
    }
    notifyTabs("signed out");
}

/** @param {"signed in" | "signed out"} what */
export function notifyTabs(what) {
    const channel = new BroadcastChannel(CHANNEL);
    channel.postMessage(what);
    channel.close();
}
