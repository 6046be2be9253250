import { element } from "../shared/dom.js";
import { copyButton } from "./dialog.js";

/**
 * A value as JSON, folded, with a button that copies it.
 *
 * @param {any} value
 * @param {string} label
 */
export function rawJson(value, label) {
    const text = JSON.stringify(value, null, 2);
    return element(
        "details", { class: "fold raw" }, element("summary", {}, label),
        element("div", { class: "command" }, element("pre", { tabindex: "0", "aria-label": label }, element("code", {}, text)), copyButton(text, label)),
    );
}
