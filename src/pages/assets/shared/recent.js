// Latest searches and opened items, in local storage: one list per person and kind.

const MOST = 8;

const LONGEST = 200;

const PREFIX = "trawl.recent.";

/** Removes the lists of everybody in this browser. */
export function clearAllRecent() {
    try {
        for (const key of Object.keys(localStorage).filter((one) => one.startsWith(PREFIX))) {
            localStorage.removeItem(key);
        }
    } catch {
        // Storage is not available.
    }
}

export class Recent {
    #key;

    /**
     * @param {string} tenant
     * @param {string} person a user id
     * @param {string} [kind] such as "items"; searches without one
     */
    constructor(tenant, person, kind) {
        this.#key = PREFIX + JSON.stringify([tenant, person, ...kind ? [kind] : []]);
    }

    /** The latest first. */
    list() {
        try {
            const kept = JSON.parse(localStorage.getItem(this.#key) ?? "[]");
            return Array.isArray(kept) ? kept.filter((one) => typeof one === "string").slice(0, MOST) : [];
        } catch {
            // Storage is missing or holds something else.
            return [];
        }
    }

    add(text) {
        const wanted = text.trim().replace(/\s+/g, " ");
        if (!wanted || wanted.length > LONGEST) {
            return;
        }
        const others = this.list().filter((one) => one.toLowerCase() !== wanted.toLowerCase());
        this.#keep([wanted, ...others].slice(0, MOST));
    }

    remove(text) {
        this.#keep(this.list().filter((one) => one !== text));
    }

    clear() {
        try {
            localStorage.removeItem(this.#key);
        } catch {
            // Storage is not available.
        }
    }

    #keep(list) {
        try {
            localStorage.setItem(this.#key, JSON.stringify(list));
        } catch {
            // Nothing depends on it.
        }
    }
}
