// Searches at each key, never during an IME composition.

import { element } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { LONGEST } from "./address.js";
import { CROSS, icon, LENS } from "./icons.js";

/** Dispatches `type` at each change, `enter` on submit, and `leave` on Escape without a text. */
export class SearchBox extends EventTarget {
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
            this.dispatchEvent(new Event("enter"));
        });
        this.clearing.addEventListener("click", () => this.clear());
        this.input.addEventListener("compositionstart", () => {
            this.#composing = true;
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
        this.dispatchEvent(new Event("type"));
    }

    #typed() {
        this.clearing.hidden = !this.input.value;
        if (!this.#composing) {
            this.dispatchEvent(new Event("type"));
        }
    }
}
