// Latest searches and opened items, in local storage: one list per person and kind.

import { keepList, readList } from "./stored-list.js";

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
        return readList(this.#key).filter((one) => typeof one === "string").slice(0, MOST);
    }

    add(text) {
        const wanted = text.trim().replace(/\s+/g, " ");
        if (!wanted || wanted.length > LONGEST) {
            return;
        }
        const others = this.list().filter((one) => one.toLowerCase() !== wanted.toLowerCase());
        keepList(this.#key, [wanted, ...others].slice(0, MOST));
    }

    remove(text) {
        keepList(this.#key, this.list().filter((one) => one !== text));
    }

    clear() {
        try {
            localStorage.removeItem(this.#key);
        } catch {
            // Storage is not available.
        }
    }
}
