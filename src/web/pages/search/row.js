// One item of an answer. Whatever a source sends is text; what can be opened is a link, or a button where it is a file.

import { element } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { exact, machine, said } from "../shared/time.js";
import { picture, target } from "./action.js";
import { download, fileOf, size } from "./file.js";
import { fromFirstMark, nodes, pieces, plain, textOf } from "./highlight.js";
import { sign } from "./signs.js";

/** The module type of people: their pictures are round, and how long they are known is of no interest. */
const PEOPLE = 6;

/** Types of what has nothing to be opened: that it is there is the answer. */
const DESCRIBED = new Set([PEOPLE, 7, 8]);

/** An answer without what is no item. */
export function readable(answer) {
    const items = Array.isArray(answer.data) ? answer.data : [];
    return { ...answer, data: items.filter((item) => item !== null && typeof item === "object" && !Array.isArray(item)) };
}

/**
 * An item as an element of a list.
 *
 * @param {object} item as the server gives it
 * @param {{type: number}} module
 * @param {{roomy: boolean, now: number}} options `roomy` rows show more than one line of each text
 * @returns {HTMLElement}
 */
export function row(item, module, { roomy, now }) {
    const texts = readTexts(item, roomy);
    const leads = target(item.action, document.baseURI);
    const file = leads.href ? null : fileOf(item, module);
    const why = reason(leads, module, file);
    return element("li", { class: roomy ? "row roomy" : "row" },
        image(item, module),
        element("div", { class: "texts" },
            element("div", { class: "head" },
                element("h3", { dir: "auto" }, opener(why, leads.href, file, texts.title)),
                module.type === PEOPLE ? null : time(item.displayTime, now)),
            line(item, file, why, leads, texts, roomy),
            roomy && texts.brief.length ? element("p", { class: "brief", dir: "auto" }, ...nodes(texts.brief)) : null));
}

/** The texts with what matches in them; an item without a title goes by its brief. */
function readTexts(item, roomy) {
    const marked = item.highlight && typeof item.highlight === "object" ? item.highlight : {};
    const read = (name) => {
        const found = pieces(marked[name]);
        return textOf(found).trim() ? found : plain(item[name]);
    };
    const [title, subTitle, brief] = ["title", "subTitle", "brief"].map(read);
    const isThere = textOf(title).trim() !== "";
    const shown = roomy ? brief : fromFirstMark(brief);
    return { title: isThere ? title : shown, subTitle, brief: isThere ? shown : [] };
}

/** What a click opens, with the title in it. */
function opener(why, href, file, title) {
    const content = textOf(title).trim() ? nodes(title) : [element("span", { class: "untitled" }, t("row.untitled"))];
    if (href) {
        return element("a", { href, target: "_blank", rel: "noopener noreferrer", class: "open", "data-stop": true }, ...content);
    }
    if (file) {
        const open = element("button", { type: "button", class: "open", "data-stop": true }, ...content);
        open.addEventListener("click", () => download(open, file));
        return open;
    }
    return element("span", { class: "open", tabindex: "-1", "data-stop": true, title: why }, ...content);
}

/** Why nothing can be opened, where somebody might expect it. */
function reason(leads, module, file) {
    if (leads.href || file || (leads.why === "none" && DESCRIBED.has(module.type))) {
        return null;
    }
    return t(`row.closed.${leads.why}`);
}

/** Whose it is and what belongs to it, then the beginning of the brief where one line is all there is. */
function line(item, file, why, leads, texts, roomy) {
    const parts = [
        texts.subTitle.length ? element("bdi", {}, ...nodes(texts.subTitle)) : null,
        own(item.author),
        file ? element("bdi", {}, [file.extension.toUpperCase(), size(file.size)].filter(Boolean).join(" · ")) : null,
        own(item.attachDescription),
        // That it has no address at all is no more than a hint.
        why && leads.why !== "none" ? element("bdi", { class: "closed" }, why) : null,
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

/** When it was, in words for the eye and exactly for the ear and the pointer. */
function time(at, now) {
    const words = Number.isFinite(at) ? said(at, now) : "";
    if (!words) {
        return null;
    }
    return element("time", { datetime: machine(at), title: exact(at) },
        element("span", { "aria-hidden": "true", "data-time": at }, words),
        element("span", { class: "unseen" }, exact(at)));
}

/** Its picture where this server has it, else the sign of its module. */
function image(item, module) {
    const address = picture(item.image, document.baseURI);
    if (!address) {
        return sign(module);
    }
    const shown = element("img", {
        class: module.type === PEOPLE ? "picture round" : "picture", src: address, alt: "", loading: "lazy", decoding: "async",
    });
    shown.addEventListener("error", () => shown.replaceWith(sign(module)), { once: true });
    return shown;
}

/** Says the times below a node anew, as time goes on. */
export function tell(node, now) {
    for (const words of node.querySelectorAll("[data-time]")) {
        words.textContent = said(Number(words.dataset.time), now);
    }
}
