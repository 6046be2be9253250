import { element, fill } from "../shared/dom.js";
import { ask } from "./dialog.js";
import { explain } from "./failure.js";
import { icon } from "./icons.js";

/** Milliseconds to wait for what is only told beside a choice. */
const PATIENCE = 5_000;

/** A view: an element made for a place. Its requests and timers end when it is removed. */
export class View extends HTMLElement {
    /** @type {import("./main.js").Console} */
    console;
    /** @type {{view: string, id?: string, step?: string}} */
    place;
    /** The tenant that it was made for; it never acts on another. */
    tenant;
    #ending = new AbortController();

    /** Aborted when the view ends. */
    get signal() {
        return this.#ending.signal;
    }

    connectedCallback() {
        this.open();
    }

    disconnectedCallback() {
        this.leave();
    }

    /** Ends the view; its controls become inert. */
    leave() {
        this.inert = true;
        this.#ending.abort();
    }

    open() {}

    /** Whether the view handles another place of its kind itself, without being made anew. */
    goTo(_place) {
        return false;
    }

    call(method, path, options = {}) {
        return this.console.call(method, path, { signal: this.signal, tenant: this.tenant, ...options });
    }

    /** Reads an object and writes it back: `alter` gets the current state, which another operator may have changed. */
    async change(path, alter) {
        return this.save(path, await this.call("GET", path), alter);
    }

    /** Writes an object back as `loaded`; fails with 412 if another operator has changed it since. */
    save(path, { data, etag }, alter) {
        return this.call("PUT", path, { body: alter(data), match: etag });
    }

    /** The latest entry of the audit log on an object; null where that is unknown. */
    async lastChange(objectKind, objectId, scope = {}) {
        try {
            const { data } = await this.call("GET", "/admin/v1/audit", { query: { objectKind, objectId, limit: 1, ...scope }, limit: PATIENCE });
            return data[0] ?? null;
        } catch {
            // The operator chooses without it.
            return null;
        }
    }

    /** Asks for confirmation; leaving the view declines. */
    ask(question) {
        return ask({ ...question, signal: this.signal });
    }

    /** Does what was confirmed; a failure is shown as a notice. */
    async doing(go, deed) {
        try {
            await (go && deed());
        } catch (failure) {
            this.console.showError(failure);
        }
    }

    /** The link above the heading, for `render`. */
    linkBack(place, text) {
        return element("p", { class: "above" }, element("a", { href: this.console.href(place) }, icon("back"), text));
    }

    /** Opens a place, unless the view has ended. */
    async go(place, options) {
        if (!this.signal.aborted) {
            await this.console.go(place, options);
        }
    }

    render(title, { above, actions = [], lead } = {}, ...children) {
        const heading = element("h1", { tabindex: "-1" }, title);
        fill(
            this,
            above,
            element("div", { class: "heading" }, heading, element("div", { class: "actions" }, ...actions)),
            lead && element("p", { class: "lead" }, lead),
            ...children,
        );
        this.console.setHeading(heading);
        return heading;
    }

    /** Loads data and shows it; a failure is shown in its place, with a retry. */
    async loading(load, show) {
        this.setAttribute("aria-busy", "true");
        try {
            const data = await load();
            if (!this.signal.aborted) {
                await show(data);
            }
        } catch (failure) {
            if (!this.signal.aborted) {
                this.render(this.heading ?? "", {}, explain(failure, () => this.loading(load, show)));
            }
        } finally {
            this.removeAttribute("aria-busy");
        }
    }
}
