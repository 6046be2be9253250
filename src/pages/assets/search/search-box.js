// Searches after a pause in typing, never during an IME composition.

import { element } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { LONGEST } from "./address.js";
import { CROSS, icon, LENS } from "./icons.js";

/** Milliseconds. */
const PAUSE = 120;

/** Dispatches `type` after a pause and `enter` on submit. */
export class SearchBox extends EventTarget {
    #timer = 0;
    #composing = false;

    constructor() {
        super();
        this.input = element("input", {
            id: "box", type: "search", name: "q", autocomplete: "off", autocapitalize: "none", spellcheck: "false",
            enterkeyhint: "search", placeholder: t("box.placeholder"), "aria-label": t("box.label"),
            "aria-keyshortcuts": "/ Control+K Meta+K", maxlength: LONGEST,
        });
        this.clearing = element("button", {
            type: "button", class: "clear", "aria-label": t("box.clear"), title: t("box.clear"), hidden: true,
        }, icon(CROSS));
        this.form = element("form", { role: "search", class: "box" }, icon(LENS), this.input, this.clearing);
        this.form.addEventListener("submit", (event) => {
            event.preventDefault();
            this.#dispatch("enter");
        });
        this.clearing.addEventListener("click", () => this.clear());
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

    get composing() {
        return this.#composing;
    }

    clear() {
        this.text = "";
        this.input.focus();
        this.#dispatch("type");
    }

    #typed() {
        this.clearing.hidden = !this.input.value;
        clearTimeout(this.#timer);
        if (!this.#composing) {
            // An empty box needs no pause.
            this.#timer = setTimeout(() => this.#dispatch("type"), this.text ? PAUSE : 0);
        }
    }

    #dispatch(name) {
        clearTimeout(this.#timer);
        this.dispatchEvent(new Event(name));
    }
}
