// What every view has: its place in the console, its title, and an end.

import { element, fill } from "../shared/dom.js";
import { ask } from "./dialog.js";
import { explain } from "./failure.js";

/** A view. It is made for a place, lives while it is shown, and what it began ends with it. */
export class View extends HTMLElement {
    /** @type {import("./main.js").Console} */
    console;
    /** @type {{view: string, id?: string, step?: string}} */
    place;
    /** The tenant that it was made for: whatever one goes on to meanwhile, it acts on no other. */
    tenant;
    #ending = new AbortController();

    /** Ends what the view began. */
    get signal() {
        return this.#ending.signal;
    }

    connectedCallback() {
        this.open();
    }

    disconnectedCallback() {
        this.leave();
    }

    /** One goes on: what is seen yet does nothing any more. */
    leave() {
        this.inert = true;
        this.#ending.abort();
    }

    /** Shows the view. */
    open() {}

    /** Another place of the same view: whether the view goes there itself, and need not be made anew. */
    goTo(_place) {
        return false;
    }

    /** Calls an operation on the view's tenant, for as long as the view is shown. */
    call(method, path, options = {}) {
        return this.console.call(method, path, { signal: this.signal, tenant: this.tenant, ...options });
    }

    /** Changes one thing: `alter` makes what is sent of what the server has now, which another operator may have changed. */
    async change(path, alter) {
        const { data } = await this.call("GET", path);
        return this.call("PUT", path, { body: alter(data) });
    }

    /** Asks before something is done; who leaves the view says no. */
    ask(question) {
        return ask({ ...question, signal: this.signal });
    }

    /** Goes to a place, unless somebody went elsewhere meanwhile. */
    async go(place, options) {
        if (!this.signal.aborted) {
            await this.console.go(place, options);
        }
    }

    /** Shows the heading of the view and what stands below it. */
    lay(title, { above, actions = [], lead } = {}, ...children) {
        const heading = element("h1", { tabindex: "-1" }, title);
        fill(
            this,
            above,
            element("div", { class: "heading" }, heading, element("div", { class: "actions" }, ...actions)),
            lead && element("p", { class: "lead" }, lead),
            ...children,
        );
        this.console.arrive(heading);
        return heading;
    }

    /** Loads what the view shows, then shows it; what fails is said in its place, and can be tried again. */
    async loading(load, show) {
        this.setAttribute("aria-busy", "true");
        try {
            const data = await load();
            if (!this.signal.aborted) {
                await show(data);
            }
        } catch (failure) {
            if (!this.signal.aborted) {
                this.lay(this.heading ?? "", {}, explain(failure, () => this.loading(load, show)));
            }
        } finally {
            this.removeAttribute("aria-busy");
        }
    }
}
