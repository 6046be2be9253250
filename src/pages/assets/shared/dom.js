// Data becomes text nodes, never markup; Trusted Types enforce it.

/**
 * Makes an element.
 *
 * Functions become event listeners, `true` an attribute without a value; null, undefined and false are skipped, also
 * among the children.
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
    made.append(...flatten(children));
    return made;
}

/**
 * Replaces the children of a node.
 *
 * @param {Element} node
 * @param {...(Node | string | number | null | undefined | false)} children
 */
export function fill(node, ...children) {
    node.replaceChildren(...flatten(children));
}

/** Isolates text of unknown direction. */
export function isolate(text) {
    return element("bdi", {}, text);
}

/** Whether the focused element is hidden and will lose focus. */
export function isFocusLost() {
    return !document.activeElement?.checkVisibility();
}

function flatten(children) {
    return children.flat().filter((child) => child !== null && child !== undefined && child !== false).map((child) =>
        child instanceof Node ? child : String(child));
}
