// Searches that a person keeps under a name, in local storage: one list per person, which outlives the session.

import { keepList, readList } from "../shared/stored-list.js";
import { dayBefore, isStart, periodOf, PERIODS, readAddress, writeAddress } from "./address.js";

/** Most searches of a person. */
const MOST = 50;

/** Longest name and longest address, in UTF-16 units. */
export const LONGEST_NAME = 60;
const LONGEST_ADDRESS = 4_000;

/**
 * @typedef {object} SavedSearch
 * @property {string} name of one search only
 * @property {import("./address.js").Place} place
 */

export class SavedSearches {
    #key;

    /**
     * @param {string} tenant
     * @param {string} person a user id
     */
    constructor(tenant, person) {
        this.#key = `trawl.saved.${JSON.stringify([tenant, person])}`;
    }

    /**
     * The latest first.
     *
     * @returns {SavedSearch[]}
     */
    list() {
        const searches = readList(this.#key).map(read).filter(Boolean);
        const names = new Set();
        return searches.filter(({ name }) => !names.has(name) && names.add(name)).slice(0, MOST);
    }

    /**
     * Keeps a search in place of an earlier one of its name.
     *
     * @param {string} name
     * @param {import("./address.js").Place} place
     * @returns {"saved" | "full" | "failed"} "full" if other searches have to go first
     */
    save(name, place) {
        const others = this.list().filter((one) => one.name !== name);
        if (others.length >= MOST) {
            return "full";
        }
        return this.#keep([{ name, place }, ...others]) ? "saved" : "failed";
    }

    /**
     * Names a search anew, in place of another of that name.
     *
     * @param {string} from
     * @param {string} to
     * @returns {"saved" | "failed"}
     */
    rename(from, to) {
        const searches = this.list().filter(({ name }) => name === from || name !== to);
        return this.#keep(searches.map((one) => (one.name === from ? { ...one, name: to } : one))) ? "saved" : "failed";
    }

    remove(name) {
        this.#keep(this.list().filter((one) => one.name !== name));
    }

    #keep(searches) {
        return keepList(this.#key, searches.map(({ name, place }) => ({ name, address: write(place) })));
    }
}

/** The address of a place. A period up to now stays one: its name stands for its first day. */
function write(place) {
    return writeAddress({ ...place, item: "", from: periodOf(place) ?? place.from });
}

/** Null for what is no saved search. */
function read(kept) {
    const { name, address } = kept ?? {};
    const isValid = typeof name === "string" && name.trim() && name.length <= LONGEST_NAME
        && typeof address === "string" && address.length <= LONGEST_ADDRESS;
    if (!isValid) {
        return null;
    }
    const period = new URLSearchParams(address).get("from");
    const place = { ...readAddress(address), item: "" };
    if (Object.hasOwn(PERIODS, period)) {
        place.from = dayBefore(PERIODS[period]);
    }
    return isStart(place) ? null : { name, place };
}
