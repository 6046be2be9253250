// A word that one view hands to the next. Addresses hold no keywords, as histories keep them.

let handed = null;

/**
 * A link to a view that takes the word up.
 *
 * @param {HTMLAnchorElement} link
 * @param {{word: string, part?: string} | null} given `part` of the vocabulary
 */
export function handing(link, given) {
    link.addEventListener("click", ({ ctrlKey, metaKey, shiftKey }) => {
        // Another tab does not get it.
        hand(ctrlKey || metaKey || shiftKey ? null : given);
    });
    return link;
}

/** Hands a word to the view that is opened next; null hands none. */
export function hand(given) {
    handed = given;
}

/** The handed word, once; null without one. */
export function takeHanded() {
    const taken = handed;
    handed = null;
    return taken;
}
