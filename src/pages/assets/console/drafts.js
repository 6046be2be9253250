// Drafts of a new source survive a reload: session storage, one per person and tenant.

const PREFIX = "trawl-console-source:";

/**
 * The storage key of a draft.
 *
 * @param {{person: {userId: string}, tenant: {code: string}}} session its owner: others may sign in to this tab
 * @param {string} tenant the tenant that the source is for
 */
function keyOf(session, tenant) {
    return PREFIX + JSON.stringify([session.tenant.code, session.person.userId, tenant]);
}

export function readDraft(session, tenant) {
    try {
        return JSON.parse(sessionStorage.getItem(keyOf(session, tenant))) ?? {};
    } catch {
        return {};
    }
}

/** Saves a draft; null removes it. */
export function saveDraft(session, tenant, draft) {
    try {
        if (draft) {
            sessionStorage.setItem(keyOf(session, tenant), JSON.stringify(draft));
        } else {
            sessionStorage.removeItem(keyOf(session, tenant));
        }
    } catch {
        // Storage is not available.
    }
}

/** Removes the drafts of everybody in this tab. */
export function clearDrafts() {
    try {
        for (const key of Object.keys(sessionStorage).filter((key) => key.startsWith(PREFIX))) {
            sessionStorage.removeItem(key);
        }
    } catch {
        // Storage is not available.
    }
}
