// Icons are cut out of one image by CSS.

import { picture } from "./action.js";

/** Positions in `icons.svg` by module type; other types have the last one. */
const POSITIONS = new Map([
    [1, 0], [2, 1], [3, 2], [4, 3], [5, 4], [6, 5], [7, 6], [8, 7], [9, 8], [10, 9], [11, 10], [100, 11], [101, 12],
]);

const OTHER = 12;

/**
 * A module's icon: the operator's picture, else that of its type.
 *
 * @param {{type: number, icon?: string}} module
 */
export function moduleIcon(module) {
    const drawn = icon(POSITIONS.get(module.type) ?? OTHER);
    const address = picture(module.icon, document.baseURI);
    if (!address) {
        return drawn;
    }
    const shown = document.createElement("img");
    Object.assign(shown, { className: "module-picture", src: address, alt: "" });
    shown.addEventListener("error", () => shown.replaceWith(drawn), { once: true });
    return shown;
}

/** Favorites; also searches that a person keeps. */
export const STAR = 9;
export const LENS = 13;
export const CLOCK = 14;
export const CROSS = 15;
export const WARNING = 16;

/**
 * The icon at a position.
 *
 * @param {number} position
 */
export function icon(position) {
    const made = document.createElement("span");
    made.className = "icon";
    made.ariaHidden = "true";
    made.style.setProperty("--position", String(position));
    return made;
}
