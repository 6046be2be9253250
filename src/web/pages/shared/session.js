// Who is signed in here, and the ways in and out.

import { call } from "./api.js";
import { forgetEverybody } from "./recent.js";

/** By this, tabs tell each other that somebody has signed in or out. */
export const CHANNEL = "trawl-session";

/**
 * Who is signed in; what the sign-in page needs to know where nobody is.
 *
 * @returns {Promise<{signedIn: boolean, person?: object, tenant: any, operator?: boolean, issuers?: object[]}>}
 */
export async function whoAmI(signal) {
    const answer = await call("GET", "/session", { signal });
    return answer.data;
}

/**
 * Where a sign-in begins.
 *
 * @param {{to: string, tenant?: string, issuer?: string}} wanted `to` is where it leads back to: "/" or "/console" and a query
 */
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

/** Ends the session of this browser: nothing of what was looked for stays, and the other tabs learn of it. */
export async function signOut() {
    try {
        await call("POST", "/session/end");
    } finally {
        forgetEverybody();
    }
    tellTabs("signed out");
}

/**
 * Tells the other tabs who has come or gone.
 *
 * @param {"signed in" | "signed out"} what
 */
export function tellTabs(what) {
    const channel = new BroadcastChannel(CHANNEL);
    channel.postMessage(what);
    channel.close();
}
