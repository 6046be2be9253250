// Items beside the results: links and focus open them, and the history closes them again.

import { QuickLook } from "./quick-look.js";

export class Beside {
    /** Until the history has taken back the step of an item. */
    #isGoingBack = false;

    /**
     * @param {HTMLElement} root the page
     * @param {HTMLElement} main holds the results
     * @param {{place: () => import("./address.js").Place, go: (place: object, how: object) => void, keepPosition: () => void,
     *     asked: () => () => void, modules: () => Promise<object[]>, opened: (name: string) => void, signedOut: (again: () => void) => void}} page
     */
    constructor(root, main, page) {
        Object.assign(this, { root, main, page });
        this.look = new QuickLook({ ...page, close: () => this.open("") });
        root.addEventListener("click", (event) => this.#follow(event));
        root.addEventListener("focusin", ({ target }) => this.#followFocus(target));
        globalThis.addEventListener("popstate", () => { this.#isGoingBack = false; });
    }

    /**
     * Opens an item, or closes it. The first is a step of the history, which closing takes back.
     *
     * @param {string} name as of `itemName`; empty to close
     */
    open(name) {
        const place = this.page.place();
        if (name === place.item || this.#isGoingBack) {
            return;
        }
        if (!name && history.state?.isItem) {
            this.#isGoingBack = true;
            history.back();
            return;
        }
        const push = Boolean(name) && !place.item;
        this.page.keepPosition();
        this.page.go({ ...place, item: name }, { push, state: { ...history.state, isItem: push || history.state?.isItem } });
    }

    /** Shows the item of the place, or none. */
    show() {
        const { item, q } = this.page.place();
        this.root.toggleAttribute("data-aside", Boolean(item));
        if (item) {
            // The best results are in their modules, too.
            const rows = [...this.main.querySelectorAll(`[data-item="${CSS.escape(item)}"]`)];
            const row = rows.find((one) => one.contains(document.activeElement)) ?? rows[0] ?? null;
            this.look.show(item, q, row);
        } else {
            this.look.close();
        }
    }

    #follow(event) {
        const link = event.target.closest("a[data-look]");
        if (link && !event.button && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey) {
            event.preventDefault();
            this.open(link.dataset.look);
        }
    }

    /** An open item follows the row that has focus. */
    #followFocus(target) {
        const row = this.look.isOpen && target.closest("[data-item]");
        if (row && this.main.contains(row)) {
            this.open(row.dataset.item);
        }
    }
}
