import { element, isolate } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { icon } from "./icons.js";

/**
 * Asks for confirmation; resolves to whether to go on.
 *
 * @param {object} question
 * @param {string} question.title
 * @param {string | Node} question.text
 * @param {string} question.action the button's label
 * @param {boolean} [question.grave] cannot be undone
 * @param {string} [question.typed] text that has to be typed first
 * @param {AbortSignal} [question.signal] closes it, as a refusal
 * @returns {Promise<boolean>}
 */
export function ask({ title, text, action, grave = false, typed, signal }) {
    const input = typed && element("input", { id: "typed", name: "typed", autocomplete: "off", spellcheck: "false" });
    const go = element("button", { type: "submit", class: grave ? "grave" : "main", value: "yes", disabled: Boolean(typed) }, action);
    input?.addEventListener("input", () => {
        go.disabled = input.value !== typed;
    });
    return open(title, (close) => [
        element("p", {}, text),
        typed && element(
            "p", { class: "field" },
            element("label", { for: "typed" }, t("console.type-to-confirm"), " ", element("strong", {}, isolate(typed))), input,
        ),
        element(
            "div", { class: "actions" },
            element("button", { type: "button", click: () => close(false) }, t("console.cancel")), go,
        ),
    ], { signal });
}

/**
 * Shows secrets once; only the confirmation that they are stored closes it.
 *
 * @param {string} title
 * @param {string} text
 * @param {[string, string][]} secrets name and value
 */
export function showSecrets(title, text, secrets) {
    return open(title, () => [
        element("p", {}, text),
        ...secrets.map(([name, value]) => element(
            "div", { class: "field" },
            element("span", { class: "label" }, name),
            element("span", { class: "copied-line" }, element("code", { class: "secret" }, value), copyButton(value, name)),
        )),
        element("div", { class: "actions" }, element("button", { type: "submit", class: "main", value: "yes" }, t("console.kept"))),
    ], { isLasting: true });
}

/**
 * A button that copies a text.
 *
 * @param {string} value
 * @param {string} of names the text
 * @param {string} [label] the button's whole label, in place of "Copy"
 */
export function copyButton(value, of, label) {
    const before = label ?? t("console.copy");
    const said = element("span", {}, before);
    const button = element("button", {
        type: "button", class: label ? null : "small", "aria-label": label ? null : `${before}: ${of}`,
    }, icon("copy"), said);
    const status = element("span", { class: "unseen", role: "status" });
    button.addEventListener("click", async () => {
        let done = true;
        try {
            await navigator.clipboard.writeText(value);
        } catch {
            // Without https there is no Clipboard API.
            done = copySelected(value);
        }
        said.textContent = status.textContent = t(done ? "console.copied" : "console.not-copied");
        setTimeout(() => {
            said.textContent = before;
        }, 2_000);
    });
    return element("span", { class: "copying" }, button, status);
}

function copySelected(value) {
    const field = element("textarea", { class: "unseen", "aria-hidden": "true" });
    field.value = value;
    (document.querySelector("dialog[open]") ?? document.body).append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
}

function open(title, content, { signal, isLasting = false } = {}) {
    return new Promise((resolve) => {
        const before = document.activeElement;
        let answer = null;
        const close = (value) => {
            answer = value;
            dialog.close();
        };
        const form = element("form", { submit: (event) => {
            event.preventDefault();
            close(true);
        } }, element("h2", { id: "dialog-title" }, title));
        const dialog = element("dialog", {
            "aria-labelledby": "dialog-title", closedby: isLasting ? "none" : null, "data-lasting": isLasting,
        }, form);
        form.append(...content(close).filter(Boolean));
        dialog.addEventListener("cancel", (event) => {
            if (isLasting) {
                event.preventDefault();
            }
        });
        dialog.addEventListener("close", () => {
            if (isLasting && answer === null) {
                // A second Escape closes it in some browsers.
                dialog.showModal();
                return;
            }
            dialog.remove();
            before?.focus?.();
            resolve(answer ?? false);
        });
        signal?.addEventListener("abort", () => dialog.open && close(false), { once: true });
        if (signal?.aborted) {
            resolve(false);
            return;
        }
        document.body.append(dialog);
        dialog.showModal();
    });
}
