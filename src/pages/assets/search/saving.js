// Saves the shown search under a name, and gives a saved one another name.

import { element, fill } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { LONGEST_NAME } from "./saved-searches.js";

export class Saving {
    #take = () => "saved";

    /**
     * @param {import("./saved-searches.js").SavedSearches} saved
     * @param {{place: () => import("./address.js").Place, name: () => string, say: (text: string) => void}} page `name` is proposed
     */
    constructor(saved, page) {
        Object.assign(this, { saved, page });
        this.button = element("button", { type: "button", class: "link", click: () => this.#save() }, t("saved.save"));
        this.heading = element("h2", { id: "saving-title" });
        this.input = element("input", { id: "saving-name", required: true, maxlength: LONGEST_NAME, autocomplete: "off" });
        this.trouble = element("p", { class: "note trouble", role: "alert", hidden: true });
        this.form = element("form", {}, element("label", { for: "saving-name" }, t("saved.name")), this.input, this.trouble,
            element("div", { class: "saving-ways" },
                element("button", { class: "main" }, t("saved.keep")),
                element("button", { type: "button", click: () => this.dialog.close() }, t("saved.cancel"))));
        this.form.addEventListener("submit", (event) => {
            event.preventDefault();
            this.#submit();
        });
        this.dialog = element("dialog", { class: "saving", "aria-labelledby": "saving-title", closedby: "any" }, this.heading, this.form);
    }

    /**
     * @param {string} name of a saved search
     * @param {(name: string) => void} renamed
     */
    rename(name, renamed) {
        this.#ask(t("saved.rename", { name }), name, (wanted) => {
            const outcome = this.saved.rename(name, wanted);
            if (outcome === "saved") {
                renamed(wanted);
            }
            return outcome;
        });
    }

    #save() {
        const place = this.page.place();
        this.#ask(t("saved.save"), this.page.name(), (name) => {
            const outcome = this.saved.save(name, place);
            if (outcome === "saved") {
                this.page.say(t("saved.done", { name }));
            }
            return outcome;
        });
    }

    #ask(title, name, take) {
        this.#take = take;
        fill(this.heading, title);
        this.input.value = name.slice(0, LONGEST_NAME);
        this.trouble.hidden = true;
        this.dialog.showModal();
        this.input.select();
    }

    #submit() {
        this.input.value = this.input.value.trim().replace(/\s+/g, " ");
        if (!this.form.reportValidity()) {
            return;
        }
        const outcome = this.#take(this.input.value);
        if (outcome === "saved") {
            this.dialog.close();
        } else {
            fill(this.trouble, t(`saved.${outcome}`));
            this.trouble.hidden = false;
        }
    }
}
