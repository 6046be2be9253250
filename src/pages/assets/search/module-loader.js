// The modules that the person may search, loaded once.

import { call } from "../shared/api.js";
import { describeFailure } from "./failure.js";

export class ModuleLoader {
    #modules = null;
    #tries = 0;
    /** Timer of the next attempt. */
    #timer = 0;

    /** @param {{loaded: (modules: object[]) => void, waiting: () => () => void}} page `waiting` returns what follows a retry */
    constructor(page) {
        this.page = page;
    }

    /** Loads the modules; a failure lets the next caller retry. */
    load() {
        this.#modules ??= this.#fetch();
        return this.#modules;
    }

    async #fetch() {
        clearTimeout(this.#timer);
        try {
            const { data } = await call("POST", "/modules");
            this.#tries = 0;
            this.page.loaded(data);
            return data;
        } catch (failure) {
            this.#modules = null;
            const { wait } = describeFailure(failure, { online: navigator.onLine, tries: this.#tries });
            this.#tries += 1;
            if (wait !== null) {
                this.#timer = setTimeout(() => this.#retry(), wait);
            }
            throw failure;
        }
    }

    async #retry() {
        const follow = this.page.waiting();
        try {
            await this.load();
        } catch {
            // It scheduled the next attempt.
            return;
        }
        follow();
    }
}

/** The module of a code or id. */
export function findModule(modules, name) {
    return modules.find((module) => module.code === name) ?? modules.find((module) => module.id === name);
}
