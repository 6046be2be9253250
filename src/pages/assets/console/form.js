// Forms: errors stand at their fields and in a summary above.

import { element, fill, isolate } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { actorName } from "./actor.js";
import { named, sentence } from "./failure.js";
import { makeField } from "./field.js";
import { timeElement } from "./format.js";
import { icon } from "./icons.js";

/**
 * Makes a form.
 *
 * @param {object} options
 * @param {{legend?: string, lead?: string | Node, fields: import("./field.js").Field[], when?: (values: object) =>
 *     boolean}[]}
 *     options.groups a group whose `when` is false is neither shown nor sent
 * @param {string} options.action the button's label
 * @param {(values: object, changed: object, isOver: boolean) => Promise<void>} options.send receives all values by field
 *     name, those that changed since the form was made, and whether they replace what another operator saved meanwhile
 * @param {() => void} [options.reload] shows what another operator saved meanwhile, in place of the form
 * @param {() => Promise<object | null>} [options.lastChange] the entry of the audit log on that, for `reload`
 * @param {(Node | null)[]} [options.beside] nodes beside the button
 * @param {(name: string) => boolean} [options.elsewhere] handles an error of a field that this form does not have
 */
export function makeForm({ groups, action, send, reload, lastChange, beside = [], elsewhere = () => false }) {
    const fields = new Map();
    const summary = element("div", { class: "notice alarm", role: "alert", tabindex: "-1", hidden: true });
    const parts = groups.map(({ legend, lead, fields: described, when }) => {
        const made = described.map((field) => {
            const one = makeField(field);
            fields.set(field.name, one);
            return one.node;
        });
        const node = element("fieldset", {}, legend && element("legend", {}, legend), lead && element("p", { class: "hint" }, lead), ...made);
        return { node, when, gap: new Comment() };
    });
    const button = element("button", { type: "submit", class: "main" }, action);
    const form = element(
        "form", { novalidate: true, class: "form" },
        summary, ...parts.map(({ node }) => node), element("div", { class: "actions" }, button, ...beside),
    );

    const all = () => Object.fromEntries([...fields].map(([name, field]) => [name, field.value()]));
    // Other groups leave the document, as browsers take several secrets for several forms.
    const settle = () => {
        for (const { node, when, gap } of parts) {
            node.disabled = when ? !when(all()) : false;
            const [off, on] = node.disabled ? [node, gap] : [gap, node];
            off.replaceWith(on);
        }
    };
    const values = () => Object.fromEntries(
        [...fields].filter(([, field]) => !field.node.closest("fieldset").disabled).map(([name, field]) => [name, field.value()]),
    );

    const initial = all();
    const differs = (name, value) => JSON.stringify(value) !== JSON.stringify(initial[name]);
    const changed = () => Object.fromEntries(Object.entries(values()).filter(([name, value]) => differs(name, value)));

    const say = (wrong) => {
        for (const field of fields.values()) {
            field.refuse(null);
        }
        summary.hidden = wrong.length === 0;
        fill(summary, icon("fail"), element(
            "ul", {},
            ...wrong.map(({ field, message, lang }) => {
                field?.refuse(message, lang);
                const text = element("span", { dir: "auto", lang }, message);
                const label = field && element("button", { type: "button", class: "link", click: () => field.focus() }, field.label);
                return element("li", {}, label, label && ": ", text);
            }),
        ));
        if (wrong.length > 0) {
            summary.focus();
        }
    };
    /** Shows a server error at the field that its message names. */
    const refuse = (failure) => {
        const { name, message } = named(failure);
        const field = fields.get(name);
        if (!field && name && elsewhere(name, message)) {
            return;
        }
        const { text, lang } = field ? { text: message, lang: "en" } : sentence(failure);
        say([{ field, message: text, lang }]);
    };

    /** Lets the operator choose between what was entered and what another saved meanwhile. */
    const offerBoth = async () => {
        const last = await lastChange?.();
        const who = last ? [" ", t("form.last-change"), " ", isolate(actorName(last)), ", ", timeElement(last.at)] : [];
        say([{ message: [t("form.changed-meanwhile"), ...who], lang: null }]);
        summary.append(element(
            "div", { class: "actions" },
            element("button", { type: "button", click: reload }, t("form.load-theirs")),
            element("button", { type: "button", click: () => submit(true) }, t("form.save-over")),
        ));
    };

    let isSending = false;
    form.addEventListener("input", settle);
    form.addEventListener("change", settle);
    form.addEventListener("submit", (event) => {
        event.preventDefault();
        submit(false);
    });
    async function submit(isOver) {
        if (isSending) {
            return;
        }
        const open = [...fields.values()].filter((field) => !field.node.closest("fieldset").disabled);
        const wrong = open.map((field) => ({ field, message: field.check() })).filter(({ message }) => message);
        say(wrong);
        if (wrong.length > 0) {
            return;
        }
        isSending = true;
        button.setAttribute("aria-disabled", "true");
        form.setAttribute("aria-busy", "true");
        try {
            await send(values(), changed(), isOver);
        } catch (failure) {
            if (failure.status === 412 && reload) {
                await offerBoth();
            } else if (failure.name !== "AbortError") {
                refuse(failure);
            }
        } finally {
            isSending = false;
            button.removeAttribute("aria-disabled");
            form.removeAttribute("aria-busy");
        }
    }
    settle();
    form.isDirty = () => Object.entries(all()).some(([name, value]) => differs(name, value));
    return { node: form, values, refuse, settle, field: (name) => fields.get(name) };
}

export function cancelLink(href) {
    return element("a", { href, class: "button" }, t("console.cancel"));
}
