import { element } from "../shared/dom.js";

/** E-mail addresses and telephone numbers; nothing else becomes a link. */
const CONTACT = /[\w.+%-]+@[\w-]+(?:\.[\w-]+)+|\+?\d[\d ()-]{4,}\d/g;

/**
 * A text with its e-mail addresses and telephone numbers as links.
 *
 * @param {string} text
 * @returns {Node[]}
 */
export function contacts(text) {
    const found = [];
    let at = 0;
    for (const match of text.matchAll(CONTACT)) {
        found.push(document.createTextNode(text.slice(at, match.index)), link(match[0]));
        at = match.index + match[0].length;
    }
    found.push(document.createTextNode(text.slice(at)));
    return found;
}

function link(contact) {
    const href = contact.includes("@") ? `mailto:${encodeURIComponent(contact).replace("%40", "@")}` : `tel:${contact.replace(/[^\d+]/g, "")}`;
    return element("a", { href }, contact);
}
