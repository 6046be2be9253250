// Reads highlighted texts without parsing markup: `<em>` marks, all else is text.

/**
 * @typedef {object} Piece
 * @property {string} text
 * @property {boolean} marked whether it matches the search
 */

/** Tags and character references that the server writes; anything else is literal text. */
const SAID = /<em>|<\/em>|&(?:amp|lt|gt|quot|apos|#\d{1,7}|#[xX][\da-fA-F]{1,6});/g;

const NAMED = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": "\"", "&apos;": "'" };

/** Characters kept before the first mark in a single line. */
const BEFORE = 24;

/**
 * The pieces of a highlighted text.
 *
 * @param {unknown} html
 * @returns {Piece[]}
 */
export function pieces(html) {
    const found = [];
    if (typeof html !== "string") {
        return found;
    }
    let marked = false;
    let at = 0;
    for (const said of html.matchAll(SAID)) {
        add(found, html.slice(at, said.index), marked);
        at = said.index + said[0].length;
        if (said[0].startsWith("<")) {
            marked = said[0] === "<em>";
        } else {
            add(found, character(said[0]), marked);
        }
    }
    add(found, html.slice(at), marked);
    return found;
}

export function plain(text) {
    return typeof text === "string" && text ? [{ text, marked: false }] : [];
}

export function textOf(found) {
    return found.map((piece) => piece.text).join("");
}

/**
 * Cuts a text to shortly before its first mark, for single lines.
 *
 * @param {Piece[]} found
 * @returns {Piece[]}
 */
export function fromFirstMark(found) {
    const first = found.findIndex((piece) => piece.marked);
    const before = textOf(found.slice(0, Math.max(first, 0)));
    if (Array.from(before).length <= BEFORE * 2) {
        return found;
    }
    const kept = Array.from(before).slice(-BEFORE).join("");
    // Begins at a word, in languages with spaces.
    const word = kept.search(/\s/);
    return [{ text: `…${word < 0 ? kept : kept.slice(word + 1)}`, marked: false }, ...found.slice(first)];
}

/**
 * The pieces as text nodes and `<mark>`.
 *
 * @param {Piece[]} found
 * @returns {Node[]}
 */
export function nodes(found) {
    return found.map(({ text, marked }) => {
        if (!marked) {
            return document.createTextNode(text);
        }
        const mark = document.createElement("mark");
        mark.textContent = text;
        return mark;
    });
}

function add(found, text, marked) {
    const last = found.at(-1);
    if (text && last?.marked === marked) {
        last.text += text;
    } else if (text) {
        found.push({ text, marked });
    }
}

/** The character of a reference; an invalid reference stays text. */
function character(reference) {
    if (reference in NAMED) {
        return NAMED[reference];
    }
    const digits = reference.slice(2, -1);
    const code = /^[xX]/.test(digits) ? Number.parseInt(digits.slice(1), 16) : Number.parseInt(digits, 10);
    const isCharacter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
    return isCharacter ? String.fromCodePoint(code) : reference;
}
