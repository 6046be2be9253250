// Reports finished searches, where the enterprise agreed. Words that were only typed through are not reported.

import { call } from "../shared/api.js";

/** Milliseconds that answered words rest until they count as meant. */
const REST = 3_000;

export class FinishedSearches {
    #keyword = "";
    /** Whether anything was found; null before an answer. */
    #found = null;
    #isEntered = false;
    #hasRested = false;
    #isReported = false;
    #timer = 0;

    /** The words that are searched for from now on; "" for none. */
    search(keyword) {
        if (keyword === this.#keyword) {
            return;
        }
        // Words that are typed on were not complete.
        if (this.#isEntered || !keyword.startsWith(this.#keyword)) {
            this.leave();
        }
        clearTimeout(this.#timer);
        this.#keyword = keyword;
        this.#found = null;
        this.#isEntered = this.#hasRested = this.#isReported = false;
    }

    /** Whether an answer found anything for the words. */
    answer(isFound) {
        this.#found ||= isFound;
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => { this.#hasRested = true; }, REST);
    }

    /** The person pressed Enter or picked the words. */
    enter() {
        this.#isEntered = true;
    }

    /** @param {string | undefined} name of an opened item, as of `itemName` */
    open(name) {
        if (name) {
            this.#found = this.#isEntered = true;
            const place = name.indexOf("/");
            this.#report({ module: name.slice(0, place), id: name.slice(place + 1) });
        }
    }

    /** The words are given up, or the page is left. */
    leave() {
        this.#report(null);
    }

    #report(opened) {
        const isFinished = this.#keyword.trim() && this.#found !== null && (this.#isEntered || this.#hasRested);
        if (!isFinished || this.#isReported) {
            return;
        }
        this.#isReported = true;
        const body = { keyword: this.#keyword, found: this.#found, opened };
        // A lost report is no trouble of the person.
        call("POST", "/contents/searches", { body, keepalive: true }).catch(() => {});
    }
}
