// What was looked for lately: kept in this browser, for each person apart, and never sent.

/** So many are kept. */
const MOST = 8;

/** Longer ones are not worth being offered again. */
const LONGEST = 200;

const PREFIX = "trawl.recent.";

/** Forgets what anybody has looked for in this browser. */
export function forgetEverybody() {
    try {
        for (const key of Object.keys(localStorage).filter((one) => one.startsWith(PREFIX))) {
            localStorage.removeItem(key);
        }
    } catch {
        // Nothing was kept.
    }
}

/** The recent searches of one person. */
export class Recent {
    #key;

    /**
     * @param {string} tenant
     * @param {string} person a user id
     */
    constructor(tenant, person) {
        this.#key = PREFIX + JSON.stringify([tenant, person]);
    }

    /** The latest first. */
    list() {
        try {
            const kept = JSON.parse(localStorage.getItem(this.#key) ?? "[]");
            return Array.isArray(kept) ? kept.filter((one) => typeof one === "string").slice(0, MOST) : [];
        } catch {
            // What is kept may be anything, and some browsers keep nothing.
            return [];
        }
    }

    /** Keeps one, before the others. */
    add(text) {
        const wanted = text.trim().replace(/\s+/g, " ");
        if (!wanted || wanted.length > LONGEST) {
            return;
        }
        const others = this.list().filter((one) => one.toLowerCase() !== wanted.toLowerCase());
        this.#keep([wanted, ...others].slice(0, MOST));
    }

    /** Forgets one. */
    remove(text) {
        this.#keep(this.list().filter((one) => one !== text));
    }

    /** Forgets all. */
    clear() {
        try {
            localStorage.removeItem(this.#key);
        } catch {
            // Nothing was kept.
        }
    }

    #keep(list) {
        try {
            localStorage.setItem(this.#key, JSON.stringify(list));
        } catch {
            // A convenience only.
        }
    }
}
