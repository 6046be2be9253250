// The one place where the page says what is in the way; it covers nothing that one is reading.

import { element, fill } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { describe } from "./trouble.js";

/** The notice. `element` is what is shown. */
export class Notice {
    #timer = 0;
    #tries = 0;
    #again = null;
    #isHeld = false;

    #readOn;

    /** @param {() => void} readOn leads one on who was at what goes */
    constructor(readOn) {
        this.#readOn = readOn;
        this.element = element("div", { class: "notice", role: "status", hidden: true });
        globalThis.addEventListener("online", () => this.#isHeld || this.#retry());
        globalThis.addEventListener("offline", () => this.#isHeld || this.say(t("trouble.offline")));
    }

    /** Nothing is in the way any more. */
    clear() {
        const wasHere = this.element.contains(document.activeElement);
        clearTimeout(this.#timer);
        this.#again = null;
        this.#isHeld = false;
        this.element.hidden = true;
        fill(this.element);
        if (wasHere) {
            this.#readOn();
        }
    }

    /** All went well: the next failure is a first one. */
    succeed() {
        this.#tries = 0;
        this.clear();
    }

    /** Says something, with what one may do about it. */
    say(text, ...actions) {
        fill(this.element, element("span", { dir: "auto" }, text), ...actions);
        this.element.hidden = false;
    }

    /** Says what no network mends, nor any waiting. */
    hold(text, ...actions) {
        this.clear();
        this.#isHeld = true;
        this.say(text, ...actions);
    }

    /**
     * Says what a failure means, and asks again when it makes sense.
     *
     * @param {import("../shared/api.js").Failure} failure
     * @param {() => void} again
     * @param {{byItself?: boolean}} how whether it is asked again here after a while, and by nobody else
     */
    fail(failure, again, { byItself = true } = {}) {
        this.clear();
        const { text, wait, again: mayAsk } = describe(failure, { online: navigator.onLine, tries: this.#tries });
        this.#tries += 1;
        this.#again = again;
        if (byItself && wait !== null) {
            this.#timer = setTimeout(() => this.#retry(), wait);
        }
        this.say(text, mayAsk ? element("button", { type: "button", click: () => this.#retry() }, t("common.retry")) : null);
    }

    #retry() {
        const again = this.#again;
        this.clear();
        again?.();
    }
}
