// Updates nodes in place: focus, scroll position and input stay.

/**
 * Makes a node's children equal to `wanted`. Nodes match by name and `data-key`; new ones are inserted.
 *
 * A kept node keeps its old listeners, so these may hold ids but no data.
 *
 * @param {Element} node
 * @param {...Node} wanted
 */
export function morph(node, ...wanted) {
    const keyed = new Map();
    for (const child of node.children) {
        if (child.dataset?.key) {
            keyed.set(child.dataset.key, child);
        }
    }
    let place = node.firstChild;
    for (const child of wanted) {
        const key = child.dataset?.key;
        const known = key ? keyed.get(key) : place;
        if (known && matches(known, child)) {
            if (known === place) {
                place = place.nextSibling;
            } else {
                move(node, known, place);
            }
            morphNode(known, child);
        } else {
            node.insertBefore(child, place);
        }
    }
    while (place) {
        const next = place.nextSibling;
        place.remove();
        place = next;
    }
}

function matches(known, wanted) {
    return known.nodeType === wanted.nodeType && known.nodeName === wanted.nodeName
        && known.dataset?.key === wanted.dataset?.key;
}

function move(parent, node, before) {
    if (parent.moveBefore && node.isConnected) {
        parent.moveBefore(node, before);
    } else {
        parent.insertBefore(node, before);
    }
}

function morphNode(known, wanted) {
    if (known.nodeType !== Node.ELEMENT_NODE) {
        if (known.data !== wanted.data) {
            known.data = wanted.data;
        }
        return;
    }
    for (const { name } of [...known.attributes]) {
        // Opened by the person.
        if (!wanted.hasAttribute(name) && name !== "open") {
            known.removeAttribute(name);
        }
    }
    for (const { name, value } of wanted.attributes) {
        if (known.getAttribute(name) !== value) {
            known.setAttribute(name, value);
        }
    }
    morph(known, ...wanted.childNodes);
}
