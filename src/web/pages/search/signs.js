// The sign of each kind of thing: a place in one picture, which styles cut out.

import { picture } from "./action.js";

/** Places in `signs.svg` by a module's type; what is not here has the last one. */
const PLACES = new Map([
    [1, 0], [2, 1], [3, 2], [4, 3], [5, 4], [6, 5], [7, 6], [8, 7], [9, 8], [10, 9], [11, 10], [100, 11], [101, 12],
]);

const OTHER = 12;

/**
 * A module's sign: the picture that its operator gave it, else that of its type.
 *
 * @param {{type: number, icon?: string}} module
 */
export function sign(module) {
    const drawn = cut(PLACES.get(module.type) ?? OTHER);
    const address = picture(module.icon, document.baseURI);
    if (!address) {
        return drawn;
    }
    const shown = document.createElement("img");
    Object.assign(shown, { className: "icon", src: address, alt: "" });
    shown.addEventListener("error", () => shown.replaceWith(drawn), { once: true });
    return shown;
}

/** A lens, a clock, a cross, a warning. */
export const LENS = 13;
export const CLOCK = 14;
export const CROSS = 15;
export const WARNING = 16;

/**
 * The sign at this place of the picture.
 *
 * @param {number} place
 */
export function cut(place) {
    const made = document.createElement("span");
    made.className = "sign";
    made.ariaHidden = "true";
    made.style.setProperty("--place", String(place));
    return made;
}
