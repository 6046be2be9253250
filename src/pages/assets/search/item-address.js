// The address of an item within a place: the module's code and the item's id, as `item=article/a1`.

import { readAddress, writeAddress } from "./address.js";

/**
 * @param {{code: string}} module
 * @param {{id: string}} item
 */
export function itemName(module, item) {
    return `${module.code}/${item.id}`;
}

/**
 * The page's address with an item beside its list.
 *
 * @param {string} name as of `itemName`
 */
export function itemAddress(name) {
    return `./${writeAddress({ ...readAddress(location.search), item: name })}`;
}

/**
 * The path of the item in the public interface; null for a name without a module.
 *
 * @param {string} name as of `itemName`
 */
export function itemPath(name) {
    const [module, id] = [name.slice(0, Math.max(name.indexOf("/"), 0)), name.slice(name.indexOf("/") + 1)];
    return module && id ? `/v1/contents/${encodeURIComponent(module)}/${encodeURIComponent(id)}` : null;
}
