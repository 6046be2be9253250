import { element, fill } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { icon } from "./icons.js";

/**
 * @typedef {object} Field
 * @property {string} name as the server's messages call it
 * @property {string} label
 * @property {"text" | "url" | "secret" | "number" | "choice" | "check" | "checks" | "lines" | "long" | "own"} [kind]
 *     default
 *     text; `lines` holds one text per line, `checks` any of the options, `own` brings its control in `made`
 * @property {any} [value]
 * @property {string} [hint]
 * @property {[string, string, string?][]} [options] value, label, and explanation
 * @property {number} [rows] of `lines` and `long`
 * @property {boolean} [required]
 * @property {boolean} [fixed] read-only
 * @property {number} [min]
 * @property {number} [max]
 * @property {number | "any"} [step]
 * @property {string} [unit]
 * @property {string[]} [known] suggested values
 * @property {{node: Element, value: () => any, focus: () => void, check?: () => string | null}} [made]
 */

const TYPES = { text: "text", url: "url", secret: "password", number: "number" };

let made = 0;

/**
 * @param {Field} field
 * @returns {{node: Element, label: string, value: () => any, check: () => string | null, refuse: (message: string | null, lang?: string | null) => void,
 *     focus: () => void}}
 */
export function makeField(field) {
    const id = `field-${made++}`;
    const kind = field.kind ?? "text";
    const hint = field.hint && element("p", { class: "hint", id: `${id}-hint` }, field.hint);
    const error = element("p", { class: "error", id: `${id}-error`, hidden: true });
    const described = { "aria-describedby": `${hint ? `${id}-hint ` : ""}${id}-error` };
    const control = KINDS[kind](field, { id, name: field.name, ...described });
    const required = field.required && element("span", { class: "needed" }, ` · ${t("form.required")}`);
    const isGroup = kind === "checks" || kind === "own";
    const name = isGroup
        ? element("span", { class: "label", id: `${id}-label` }, field.label, required)
        : element("label", { for: id }, field.label, required);
    const node = kind === "check"
        ? element("div", { class: "field check" }, control.node, element("div", {}, name, hint, error))
        : element("div", { class: "field", ...(isGroup && { role: "group", "aria-labelledby": `${id}-label`, ...described }) },
            name, hint, control.node, error);
    const focused = control.focused ?? control.node;
    return {
        node,
        label: field.label,
        value: control.value,
        check: control.check ?? (() => (focused.validity && !focused.validity.valid ? focused.validationMessage : null)),
        refuse(message, lang = null) {
            error.hidden = !message;
            fill(error, message && icon("fail"), message && element("span", { dir: "auto", lang }, message));
            if (message) {
                focused.setAttribute?.("aria-invalid", "true");
            } else {
                focused.removeAttribute?.("aria-invalid");
            }
        },
        focus: () => focused.focus(),
    };
}

function input(field, attributes) {
    const kind = field.kind ?? "text";
    const list = field.known && element("datalist", { id: `${attributes.id}-known` }, ...field.known.map((value) => element("option", { value })));
    const node = element("input", {
        ...attributes, type: TYPES[kind], required: field.required, readonly: field.fixed, min: field.min, max: field.max, step: field.step,
        autocomplete: kind === "secret" ? "new-password" : "off", spellcheck: "false", list: list && list.id,
        dir: kind === "text" ? "auto" : null, inputmode: kind === "number" ? "decimal" : null,
    });
    node.value = field.value ?? "";
    const value = () => {
        const text = kind === "secret" ? node.value : node.value.trim();
        return kind === "number" ? (text === "" ? null : Number(text)) : text || null;
    };
    const line = field.unit || list
        ? element("span", { class: "with-unit" }, node, field.unit && element("span", { class: "unit" }, field.unit), list)
        : node;
    return { node: line, focused: node, value };
}

function choice(field, attributes) {
    const node = element(
        "select", { ...attributes, required: field.required, disabled: field.fixed },
        ...field.options.map(([value, label]) => element("option", { value, selected: value === String(field.value ?? "") }, label)),
    );
    return { node, value: () => node.value || null };
}

function check(field, attributes) {
    const node = element("input", { ...attributes, type: "checkbox", checked: field.value, disabled: field.fixed });
    return { node, value: () => node.checked };
}

function checks(field, attributes) {
    const boxes = field.options.map(([value, label, meaning], place) => {
        const id = `${attributes.id}-${place}`;
        const box = element("input", {
            type: "checkbox", id, value, checked: field.value?.includes(value), "aria-describedby": meaning && `${id}-means`,
        });
        const row = element(
            "div", { class: "check", "data-value": value }, box,
            element("div", {}, element("label", { for: id }, label), meaning && element("p", { class: "hint", id: `${id}-means` }, meaning)),
        );
        return { box, row };
    });
    const node = element("div", { class: "checks" }, ...boxes.map(({ row }) => row));
    const value = () => boxes.filter(({ box, row }) => box.checked && !row.hidden).map(({ box }) => box.value);
    return { node, focused: boxes[0].box, value };
}

function area(field, attributes) {
    const isLines = field.kind === "lines";
    const node = element("textarea", {
        ...attributes, rows: field.rows ?? 3, required: field.required, readonly: field.fixed, spellcheck: isLines ? "false" : null, dir: "auto",
    });
    node.value = isLines ? (field.value ?? []).join("\n") : field.value ?? "";
    const lines = () => node.value.split("\n").map((line) => line.trim()).filter(Boolean);
    return { node, value: isLines ? lines : () => node.value.trim() || null };
}

const KINDS = { text: input, url: input, secret: input, number: input, choice, check, checks, lines: area, long: area, own: (field) => field.made };
