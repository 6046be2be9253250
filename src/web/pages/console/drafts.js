// What was typed of a new source, kept in this tab so that a reload loses nothing. It is of one person and of one enterprise.

const PREFIX = "trawl-console-source:";

/**
 * Where a draft is kept.
 *
 * @param {{person: {userId: string}, tenant: {code: string}}} session whose it is: others may sign in to this tab
 * @param {string} tenant the enterprise that the source is for
 */
function nameOf(session, tenant) {
    return PREFIX + JSON.stringify([session.tenant.code, session.person.userId, tenant]);
}

/** What this person has typed for this tenant. */
export function readDraft(session, tenant) {
    try {
        return JSON.parse(sessionStorage.getItem(nameOf(session, tenant))) ?? {};
    } catch {
        return {};
    }
}

/** Keeps this, or nothing any more where it is null. */
export function keepDraft(session, tenant, draft) {
    try {
        if (draft) {
            sessionStorage.setItem(nameOf(session, tenant), JSON.stringify(draft));
        } else {
            sessionStorage.removeItem(nameOf(session, tenant));
        }
    } catch {
        // A browser that keeps nothing: a reload begins anew.
    }
}

/** Forgets what was typed, of every tenant, whoever it was. */
export function forgetDrafts() {
    try {
        for (const key of Object.keys(sessionStorage).filter((key) => key.startsWith(PREFIX))) {
            sessionStorage.removeItem(key);
        }
    } catch {
        // It kept nothing.
    }
}
