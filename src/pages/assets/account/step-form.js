import { element } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { explain } from "./failure.js";

/**
 * The form of one step; a failure is told above its buttons.
 *
 * @param {object} step
 * @param {Record<string, unknown>[]} step.fields attributes of inputs, each with a `name` and a `label`
 * @param {string} step.submit the button's label
 * @param {(values: Record<string, string>) => Promise<void>} step.send
 * @param {() => void} [step.cancel]
 * @param {string} [step.login] whose password is asked for, for password managers
 */
export function stepForm({ fields, submit, send, cancel, login }) {
    const said = element("p", { class: "alarm", role: "alert" });
    const inputs = fields.map(({ name, label, ...attributes }) => [
        element("label", { for: `step-${name}` }, label),
        element("input", { id: `step-${name}`, name, required: true, autocapitalize: "none", spellcheck: "false", ...attributes }),
    ]);
    const button = element("button", { type: "submit", class: "main" }, submit);
    return element("form", {
        class: "step",
        submit: async (event) => {
            event.preventDefault();
            button.disabled = true;
            said.textContent = "";
            try {
                await send(Object.fromEntries(inputs.map(([, input]) => [input.name, input.value])));
            } catch (failure) {
                said.textContent = explain(failure);
                inputs[0][1].focus();
            } finally {
                button.disabled = false;
            }
        },
    }, login && element("input", { type: "text", autocomplete: "username", value: login, readonly: true, hidden: true }), ...inputs.flat(), said, element("div", { class: "actions" }, button,
        cancel && element("button", { type: "button", click: cancel }, t("account.cancel"))));
}
