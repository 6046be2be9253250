// Shows failures and retries by itself where that makes sense. It covers no results.

import { element, fill } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { describeFailure } from "./failure.js";

/** Milliseconds without an answer, and what the page then says. */
const LATE = [[3_000, "trouble.slow"], [10_000, "trouble.hangs"]];

export class Notice {
    #timer = 0;
    /** Timers of late answers. */
    #late = [];
    /** Those whose text is shown. */
    #shownLate = null;
    #tries = 0;
    #again = null;
    #isHeld = false;

    #restoreFocus;

    /** @param {() => void} restoreFocus moves focus when the notice had it */
    constructor(restoreFocus) {
        this.#restoreFocus = restoreFocus;
        this.element = element("div", { class: "notice", role: "status", hidden: true });
        globalThis.addEventListener("online", () => this.#isHeld || this.#retry());
        globalThis.addEventListener("offline", () => this.#isHeld || this.show(t("trouble.offline")));
    }

    clear() {
        const wasHere = this.element.contains(document.activeElement);
        clearTimeout(this.#timer);
        this.#late.forEach(clearTimeout);
        this.#late = [];
        this.#shownLate = null;
        this.#again = null;
        this.#isHeld = false;
        this.element.hidden = true;
        fill(this.element);
        if (wasHere) {
            this.#restoreFocus();
        }
    }

    /** Resets the backoff. */
    succeed() {
        this.#tries = 0;
        this.clear();
    }

    /** Says so when the answer to a new search is late. */
    expect() {
        this.clear();
        this.expectMore();
    }

    /**
     * Says so when an answer is late, unless something else is said. Whatever is shown next ends that.
     *
     * @returns {() => void} ends it
     */
    expectMore() {
        const timers = LATE.map(([after, text]) => setTimeout(() => {
            if (this.element.hidden || this.#shownLate) {
                this.#show(t(text));
                this.#shownLate = timers;
            }
        }, after));
        this.#late.push(...timers);
        return () => {
            timers.forEach(clearTimeout);
            if (this.#shownLate === timers) {
                this.clear();
            }
        };
    }

    show(text, ...actions) {
        this.#late.forEach(clearTimeout);
        this.#show(text, ...actions);
    }

    #show(text, ...actions) {
        this.#shownLate = null;
        fill(this.element, element("span", { dir: "auto" }, text), ...actions);
        this.element.hidden = false;
    }

    /** Shows a text that neither the network nor time resolves. */
    showLasting(text, ...actions) {
        this.clear();
        this.#isHeld = true;
        this.show(text, ...actions);
    }

    /**
     * Shows a failure and schedules a retry where one makes sense.
     *
     * @param {import("../shared/api.js").Failure} failure
     * @param {() => void} again
     * @param {{byItself?: boolean}} how false if somebody else retries
     */
    showFailure(failure, again, { byItself = true } = {}) {
        this.clear();
        const { text, wait, again: mayAsk } = describeFailure(failure, { online: navigator.onLine, tries: this.#tries });
        this.#tries += 1;
        this.#again = again;
        if (byItself && wait !== null) {
            this.#timer = setTimeout(() => this.#retry(), wait);
        }
        this.show(text, mayAsk ? element("button", { type: "button", click: () => this.#retry() }, t("common.retry")) : null);
    }

    #retry() {
        const again = this.#again;
        this.clear();
        again?.();
    }
}
