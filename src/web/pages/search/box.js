// The box: what is typed becomes a search once the typing pauses, and a composition is over.

import { element } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { LONGEST } from "./address.js";
import { CROSS, cut, LENS } from "./signs.js";

/** How long a pause in typing is, milliseconds. */
const PAUSE = 120;

/** The search box. `input` is where one types. */
export class SearchBox extends EventTarget {
    #timer = 0;
    #composing = false;

    constructor() {
        super();
        this.input = element("input", {
            id: "box", type: "search", name: "q", autocomplete: "off", autocapitalize: "none", spellcheck: "false",
            enterkeyhint: "search", placeholder: t("box.placeholder"), "aria-label": t("box.label"),
            "aria-keyshortcuts": "/", maxlength: LONGEST,
        });
        this.clearing = element("button", {
            type: "button", class: "clear", "aria-label": t("box.clear"), title: t("box.clear"), hidden: true,
        }, cut(CROSS));
        this.form = element("form", { role: "search", class: "box" }, cut(LENS), this.input, this.clearing);
        this.form.addEventListener("submit", (event) => {
            event.preventDefault();
            this.#say("enter");
        });
        this.clearing.addEventListener("click", () => this.clear());
        // Letters that are still being composed are nothing to look for.
        this.input.addEventListener("compositionstart", () => {
            this.#composing = true;
            clearTimeout(this.#timer);
        });
        this.input.addEventListener("compositionend", () => {
            this.#composing = false;
            this.#typed();
        });
        this.input.addEventListener("input", () => this.#typed());
    }

    /** What stands in the box. */
    get text() {
        return this.input.value.trim();
    }

    set text(text) {
        clearTimeout(this.#timer);
        if (this.#composing) {
            return;
        }
        if (this.text !== text) {
            this.input.value = text;
        }
        this.clearing.hidden = !this.input.value;
    }

    /** Whether letters are being composed. */
    get composing() {
        return this.#composing;
    }

    /** Empties the box and stays in it. */
    clear() {
        this.text = "";
        this.input.focus();
        this.#say("type");
    }

    #typed() {
        this.clearing.hidden = !this.input.value;
        clearTimeout(this.#timer);
        if (!this.#composing) {
            // An empty box is no question to wait with.
            this.#timer = setTimeout(() => this.#say("type"), this.text ? PAUSE : 0);
        }
    }

    #say(name) {
        clearTimeout(this.#timer);
        this.dispatchEvent(new Event(name));
    }
}
