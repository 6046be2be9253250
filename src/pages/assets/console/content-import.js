// Imports files into a kind of built-in content, one after the other.

import { element, fill, isolate } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { explain } from "./failure.js";
import { size } from "./format.js";
import { icon } from "./icons.js";
import { outcome } from "./import-outcome.js";

/** The server refuses more. */
const MOST_BYTES = 64 << 20;

export class ContentImport {
    #view;
    #kind;
    #done;
    #last = Promise.resolve();
    #list = element("ul", { class: "imports", hidden: true });
    #input = element("input", { type: "file", class: "unseen", multiple: true, "aria-describedby": "import-hint", change: () => this.#choose() });
    #zone = element("div");

    /**
     * @param {import("./view.js").View} view ends the imports when it ends
     * @param {() => string} kind the code that files are imported into
     * @param {() => void} done called after each file
     */
    constructor(view, kind, done) {
        this.#view = view;
        this.#kind = kind;
        this.#done = done;
        const drop = element("label", {
            class: "drop", dragover: (event) => this.#mark(drop, event), drop: (event) => this.#drop(drop, event),
            dragleave: ({ relatedTarget }) => drop.contains(relatedTarget) || drop.classList.remove("over"),
        }, this.#input, icon("up"), element("span", {}, t("import.drop")));
        fill(this.#zone, drop, element("p", { class: "hint", id: "import-hint" }, t("import.hint"), " ", element("code", { class: "whole" }, "trawl import")));
        this.node = element(
            "section", { class: "import", "aria-labelledby": "import-title" },
            element("h2", { id: "import-title" }, t("import.title")), this.#zone, this.#list,
        );
        // Elsewhere, the browser would leave the page for the file.
        for (const name of ["dragover", "drop"]) {
            addEventListener(name, (event) => drop.contains(event.target) || refuse(event), { signal: view.signal });
        }
        this.offer(true);
    }

    /** Whether files can be imported now; imports that run go on. */
    offer(isOpen) {
        this.#zone.hidden = !isOpen;
        this.node.hidden = !isOpen && this.#list.hidden;
    }

    #mark(drop, event) {
        if (hasFiles(event)) {
            event.preventDefault();
            event.dataTransfer.dropEffect = "copy";
            drop.classList.add("over");
        }
    }

    #drop(drop, event) {
        event.preventDefault();
        drop.classList.remove("over");
        this.#add([...event.dataTransfer.files]);
    }

    #choose() {
        this.#add([...this.#input.files]);
        // The same file can be chosen again.
        this.#input.value = "";
    }

    #add(files) {
        const kind = this.#kind();
        for (const file of files) {
            const ending = new AbortController();
            const said = element("p", { role: "status" }, t("import.waiting"));
            const result = element("div");
            const cancel = element("button", {
                type: "button", class: "small", "aria-label": t("import.cancel-it", { name: file.name }), click: () => ending.abort(),
            }, t("console.cancel"));
            ending.signal.addEventListener("abort", () => {
                fill(said, t("import.cancelled"));
                this.#end(cancel);
            });
            this.#list.append(element(
                "li", {},
                element(
                    "div", { class: "actions" }, element("strong", {}, isolate(file.name)),
                    element("span", { class: "faint" }, `${size(file.size)} · `, isolate(kind)), cancel,
                ),
                said, result,
            ));
            this.#last = this.#last.then(() => this.#import({ file, kind, ending, said, result, cancel }));
        }
        this.#list.hidden = this.#list.childElementCount === 0;
    }

    async #import({ file, kind, ending, said, result, cancel }) {
        const signal = AbortSignal.any([this.#view.signal, ending.signal]);
        if (signal.aborted) {
            return;
        }
        fill(said, t("import.running", { name: file.name }));
        try {
            await check(file);
            const { data } = await this.#view.call("POST", `/admin/v1/contents/${encodeURIComponent(kind)}/import`, { body: file, signal });
            fill(said, t("import.done", { written: data.written, count: data.read }), data.written > 0 && ` ${t("import.soon")}`);
            fill(result, ...outcome(data));
        } catch (failure) {
            if (failure.name !== "AbortError") {
                const isUnclear = failure.status === 0 || failure.status >= 500;
                fill(said, isUnclear ? t("import.broke-off") : t("import.failed", { name: file.name }));
                fill(result, explain(failure));
            }
        }
        this.#end(cancel);
        if (!this.#view.signal.aborted) {
            this.#done();
        }
    }

    /** Removes a button; the focus does not go with it. */
    #end(cancel) {
        if (cancel === document.activeElement) {
            this.#input.focus();
        }
        cancel.remove();
    }
}

function hasFiles({ dataTransfer }) {
    return dataTransfer?.types.includes("Files");
}

function refuse(event) {
    if (hasFiles(event)) {
        event.preventDefault();
        event.dataTransfer.dropEffect = "none";
    }
}

/** Fails for what the server would refuse, or the browser cannot read. */
async function check(file) {
    const fail = (key) => {
        throw Object.assign(new Error(t(key)), { status: 400, isOwn: true });
    };
    if (file.size > MOST_BYTES) {
        fail("import.too-large");
    }
    await file.slice(0, 1).arrayBuffer().catch(() => fail("import.unreadable"));
}
