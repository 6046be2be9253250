// Brings what is shown up to date in place: what did not change stays, and with it focus, scroll and what is being typed.

/**
 * Makes a node hold what these children say. Nodes of the same name and `data-key` stay; those of the new tree that are needed are
 * taken over. A node that stays keeps the listeners it has, so listeners of what is brought up to date know ids and no data.
 *
 * @param {Element} node
 * @param {...Node} wanted
 */
export function bringUpToDate(node, ...wanted) {
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
        if (known && isSame(known, child)) {
            if (known === place) {
                place = place.nextSibling;
            } else {
                move(node, known, place);
            }
            bring(known, child);
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

function isSame(known, wanted) {
    return known.nodeType === wanted.nodeType && known.nodeName === wanted.nodeName
        && known.dataset?.key === wanted.dataset?.key;
}

/** A node that is moved keeps its focus where the browser can do that. */
function move(parent, node, before) {
    if (parent.moveBefore && node.isConnected) {
        parent.moveBefore(node, before);
    } else {
        parent.insertBefore(node, before);
    }
}

function bring(known, wanted) {
    if (known.nodeType !== Node.ELEMENT_NODE) {
        if (known.data !== wanted.data) {
            known.data = wanted.data;
        }
        return;
    }
    for (const { name } of [...known.attributes]) {
        // What somebody opened stays open.
        if (!wanted.hasAttribute(name) && name !== "open") {
            known.removeAttribute(name);
        }
    }
    for (const { name, value } of wanted.attributes) {
        if (known.getAttribute(name) !== value) {
            known.setAttribute(name, value);
        }
    }
    bringUpToDate(known, ...wanted.childNodes);
}
