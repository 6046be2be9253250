// Elements from script: what comes from others becomes text and never markup.

/**
 * Makes an element. Attributes that are functions listen to the event of their name; `true` is an attribute without a value;
 * null, undefined and false are left out. Children are nodes or texts; null and false are left out.
 *
 * @param {string} name such as "button"
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Node | string | number | null | undefined | false)} children
 * @returns {HTMLElement}
 */
export function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
        if (typeof value === "function") {
            made.addEventListener(key, value);
        } else if (value === true) {
            made.setAttribute(key, "");
        } else if (value !== null && value !== undefined && value !== false) {
            made.setAttribute(key, String(value));
        }
    }
    made.append(...kept(children));
    return made;
}

/**
 * Puts these in the place of everything that a node holds.
 *
 * @param {Element} node
 * @param {...(Node | string | number | null | undefined | false)} children
 */
export function fill(node, ...children) {
    node.replaceChildren(...kept(children));
}

/** Text of others, whose direction is its own: it turns nothing around it. */
export function foreign(text) {
    return element("bdi", {}, text);
}

/** Whether what has the focus is not to be seen any more, so that a moment later nothing has it. */
export function isFocusLost() {
    return !document.activeElement?.checkVisibility();
}

function kept(children) {
    return children.flat().filter((child) => child !== null && child !== undefined && child !== false).map((child) =>
        child instanceof Node ? child : String(child));
}
