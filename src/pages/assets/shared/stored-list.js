// Lists in local storage, which may be missing, full, or hold anything.

/** The list of a key; empty where it holds something else. */
export function readList(key) {
    try {
        const kept = JSON.parse(localStorage.getItem(key) ?? "[]");
        return Array.isArray(kept) ? kept : [];
    } catch {
        return [];
    }
}

/** Keeps a list; returns whether the browser took it. */
export function keepList(key, list) {
    try {
        localStorage.setItem(key, JSON.stringify(list));
        return true;
    } catch {
        return false;
    }
}
