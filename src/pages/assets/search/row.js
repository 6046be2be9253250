// One item. Its data stays text.

import { element } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { exactTime, isoTime, relativeTime } from "../shared/time.js";
import { picture, target } from "./action.js";
import { fileOf, size } from "./file.js";
import { fromFirstMark, nodes, pieces, plain, textOf } from "./highlight.js";
import { moduleIcon } from "./icons.js";
import { itemAddress, itemName } from "./item-address.js";
import { nameOf } from "./module-name.js";

/** The type of people: round pictures, no time. */
const PEOPLE = 6;

/** Drops data that is not an object. */
export function withValidItems(answer) {
    const items = Array.isArray(answer.data) ? answer.data : [];
    return { ...answer, data: items.filter((item) => item !== null && typeof item === "object" && !Array.isArray(item)) };
}

/**
 * @param {object} item as the server sends it
 * @param {{type: number}} module
 * @param {{roomy: boolean, now: number, isNamed?: boolean}} options `roomy` rows show more than one line of each text,
 *     named ones the module
 * @returns {HTMLElement}
 */
export function row(item, module, { roomy, now, isNamed = false }) {
    const texts = readTexts(item, roomy);
    const leads = target(item.action, document.baseURI);
    const file = leads.href ? null : fileOf(item, module);
    const name = itemName(module, item);
    return element("li", { class: roomy ? "row roomy" : "row", "data-item": name },
        image(item, module),
        element("div", { class: "texts" },
            element("div", { class: "head" },
                element("h3", { dir: "auto" }, opener(leads.href, name, texts.title)),
                module.type === PEOPLE ? null : time(item.displayTime, now)),
            line(item, file, leads, texts, roomy, isNamed ? nameOf(module) : ""),
            roomy && texts.brief.length ? element("p", { class: "brief", dir: "auto" }, ...nodes(texts.brief)) : null));
}

/** The highlighted texts; the brief replaces a missing title. */
function readTexts(item, roomy) {
    const marked = item.highlight && typeof item.highlight === "object" ? item.highlight : {};
    const read = (name) => {
        const found = pieces(marked[name]);
        return textOf(found).trim() ? found : plain(item[name]);
    };
    const [title, subTitle, brief] = ["title", "subTitle", "brief"].map(read);
    const isThere = textOf(title).trim() !== "";
    const shown = fromFirstMark(brief);
    return { title: isThere ? title : shown, subTitle, brief: isThere ? shown : [] };
}

/** The title, which opens the item's own address, else the item beside the list. */
function opener(href, name, title) {
    const content = textOf(title).trim() ? nodes(title) : [element("span", { class: "untitled" }, t("row.untitled"))];
    if (href) {
        return element("a", { href, target: "_blank", rel: "noopener noreferrer", class: "open", "data-stop": true }, ...content);
    }
    return element("a", { href: itemAddress(name), class: "open", "data-look": name, "data-stop": true }, ...content);
}

/** Module, subtitle, author and file facts, then the brief in single-line rows. */
function line(item, file, leads, texts, roomy, moduleName) {
    const parts = [
        moduleName ? element("bdi", { class: "of-module" }, moduleName) : null,
        texts.subTitle.length ? element("bdi", {}, ...nodes(texts.subTitle)) : null,
        own(item.author),
        file ? element("bdi", {}, [file.extension.toUpperCase(), size(file.size)].filter(Boolean).join(" · ")) : null,
        own(item.attachDescription),
        leads.host ? element("bdi", { class: "host" }, leads.host) : null,
        leads.why && leads.why !== "none" ? element("bdi", { class: "closed" }, t(`row.closed.${leads.why}`)) : null,
    ].filter(Boolean);
    const beginning = !roomy && texts.brief.length;
    if (!parts.length && !beginning) {
        return null;
    }
    return element("p", { class: "line" },
        parts.length ? element("span", { class: "parts" }, ...parts) : null,
        beginning ? element("span", { class: "beginning", dir: "auto" }, ...nodes(texts.brief)) : null);
}

function own(text) {
    return typeof text === "string" && text.trim() ? element("bdi", {}, text.trim()) : null;
}

/** Relative for the eye, exact for screen readers and the tooltip. */
function time(at, now) {
    const words = Number.isFinite(at) ? relativeTime(at, now) : "";
    if (!words) {
        return null;
    }
    return element("time", { datetime: isoTime(at), title: exactTime(at) },
        element("span", { "aria-hidden": "true", "data-time": at }, words),
        element("span", { class: "unseen" }, exactTime(at)));
}

/** The item's picture if this server has it, else the module's icon. */
function image(item, module) {
    const address = picture(item.image, document.baseURI);
    if (!address) {
        return moduleIcon(module);
    }
    const shown = element("img", {
        class: module.type === PEOPLE ? "picture round" : "picture", src: address, alt: "", loading: "lazy", decoding: "async",
    });
    shown.addEventListener("error", () => shown.replaceWith(moduleIcon(module)), { once: true });
    return shown;
}

export function updateTimes(node, now) {
    for (const words of node.querySelectorAll("[data-time]")) {
        words.textContent = relativeTime(Number(words.dataset.time), now);
    }
}
