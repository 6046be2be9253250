/** Codes of the built-in modules of every tenant. */
export const BUILT_IN = ["article", "news", "todo", "done", "feed", "people", "department", "group", "file", "favorite", "message"];

export const TYPES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 100, 101];

/** Codes of contents that interfaces of their own write. */
export const OWNED = ["todo", "done", "people", "department", "group", "file", "favorite", "message"];

export const PREFIX = "builtin:";

/** A module in a list of choices. */
export function moduleLabel({ name, code }) {
    return name === code ? code : `${name} (${code})`;
}

/** The writable fields of a module, for a PUT. */
export function formOf({ code, name, icon, orderNo, type, sources, duplicates, recency }) {
    return { code, name, icon, orderNo, type, sources, duplicates, recency };
}

/** The body of a PUT or POST: a module's writable fields with values of the form. */
export function withValues(module, values) {
    const { type = module.type, "recency.percent": percent, "recency.halfLifeDays": halfLifeDays, ...others } = values;
    const recency = { percent: percent ?? module.recency?.percent, halfLifeDays: halfLifeDays ?? module.recency?.halfLifeDays };
    return { ...module, ...others, type: Number(type), recency };
}

/** The `orderNo` after all modules. */
export function nextOrder(modules) {
    return Math.max(0, ...modules.map(({ orderNo }) => orderNo)) + 1;
}

/**
 * The modules whose `orderNo` changes when one moves, with the new number. Existing numbers are reused as far as they
 * are distinct.
 *
 * @param {{id: string, orderNo: number}[]} modules in their order
 * @param {number} from
 * @param {number} to
 * @returns {{module: object, orderNo: number}[]}
 */
export function moved(modules, from, to) {
    const order = [...modules];
    order.splice(to, 0, ...order.splice(from, 1));
    let last = -Infinity;
    const numbers = modules.map(({ orderNo }) => {
        last = Math.max(orderNo, last + 1);
        return last;
    });
    return order.map((module, place) => ({ module, orderNo: numbers[place] })).filter(({ module, orderNo }) => module.orderNo !== orderNo);
}

/**
 * A free code derived from a name.
 *
 * @param {string} name
 * @param {{id: string, code: string}[]} modules
 */
export function suggestCode(name, modules) {
    const plain = name.normalize("NFKD").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 60) || "module";
    const isTaken = (code) => modules.some((module) => module.code === code || module.id === code);
    let code = plain;
    for (let number = 2; isTaken(code); number += 1) {
        code = `${plain}-${number}`;
    }
    return code;
}
