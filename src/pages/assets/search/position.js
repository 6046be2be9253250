// The position within the results, in each entry of the history: reload and Back return to it.

/** Milliseconds without scrolling, change of focus or, while restoring, of heights, after which the position is kept. */
const CALM = 300;

/** The person's own steps, which end the way to an expected position. */
const STEPS = ["wheel", "touchstart", "pointerdown", "keydown"];

/**
 * @typedef {object} Row
 * @property {string} item its name
 * @property {number} nth place among the rows of that item
 *
 * @typedef {object} Kept
 * @property {number} rows loaded
 * @property {number} scroll
 * @property {Row | null} focused the row that has focus or whose item is open
 * @property {Row | null} first the first row in view
 * @property {number} top its place in the window
 */

export class Position {
    #timer = 0;
    /** @type {Kept | null} */
    #expected = null;
    /** @type {ResizeObserver | null} while rows that come into view get their real heights */
    #settling = null;
    #page;

    /** @param {{results: () => Element | null, selected: () => string}} page the shown results and the name of the opened item */
    constructor(page) {
        this.#page = page;
        globalThis.addEventListener("scroll", () => this.#keepSoon(), { passive: true });
        document.addEventListener("focusin", () => this.#keepSoon());
        for (const step of STEPS) {
            globalThis.addEventListener(step, (event) => isWithin(event) && this.forget(), { passive: true, capture: true });
        }
    }

    /** Takes the position of the current entry, to be restored once its results are there. */
    expect() {
        clearTimeout(this.#timer);
        this.forget();
        this.#expected = history.state?.position ?? null;
    }

    forget() {
        this.#expected = null;
        this.#settling?.disconnect();
        this.#settling = null;
    }

    /** Rows of the expected position. */
    get rows() {
        return this.#expected?.rows ?? 0;
    }

    /** Keeps the position in the current entry. */
    keep() {
        clearTimeout(this.#timer);
        const results = this.#page.results();
        // A page from the back/forward cache is emptied before it is loaded anew.
        if (!results?.isConnected || this.#expected) {
            return;
        }
        const rows = [...results.querySelectorAll("[data-item]")];
        const first = rows.find((row) => row.getBoundingClientRect().bottom > 0);
        const focused = rows.find((row) => row.contains(document.activeElement)) ?? rowsOf(results, this.#page.selected())[0];
        const position = {
            rows: rows.length,
            scroll: scrollY,
            focused: place(results, focused),
            first: place(results, first),
            top: first?.getBoundingClientRect().top ?? 0,
        };
        try {
            history.replaceState({ ...history.state, position }, "");
        } catch {
            // Safari refuses more than 100 changes in 30 seconds; an earlier position stays.
        }
    }

    /** Goes to the expected position, or as near as the results allow. */
    restore() {
        const kept = this.#expected;
        const results = this.#page.results();
        if (!kept || !results) {
            return;
        }
        rowAt(results, kept.focused)?.querySelector("[data-stop]")?.focus({ preventScroll: true });
        if (!kept.scroll || !rowAt(results, kept.first)) {
            scrollTo({ top: kept.scroll, behavior: "instant" });
            this.forget();
            return;
        }
        const scroll = () => {
            const first = rowAt(results, kept.first);
            if (first) {
                scrollBy({ top: first.getBoundingClientRect().top - kept.top, behavior: "instant" });
                this.#keepSoon();
            }
        };
        this.#settling?.disconnect();
        scroll();
        this.#settling = new ResizeObserver(scroll);
        this.#settling.observe(results);
    }

    #keepSoon() {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => {
            if (this.#settling) {
                this.forget();
            }
            this.keep();
        }, CALM);
    }
}

function rowsOf(results, item) {
    return [...results.querySelectorAll(`[data-item="${CSS.escape(item)}"]`)];
}

/** An item may have several rows: one among the best results, one in its module. */
function place(results, row) {
    return row ? { item: row.dataset.item, nth: rowsOf(results, row.dataset.item).indexOf(row) } : null;
}

function rowAt(results, place) {
    const rows = place ? rowsOf(results, place.item) : [];
    return rows[place?.nth] ?? rows[0];
}

/** Whether a step is taken within the page: neither the rest of a browser's shortcut nor of a swipe that goes back. */
function isWithin({ ctrlKey, metaKey, altKey, deltaX = 0, deltaY = 0 }) {
    return !ctrlKey && !metaKey && !altKey && Math.abs(deltaX) <= Math.abs(deltaY);
}
