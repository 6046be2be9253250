import { element, isolate } from "../../shared/dom.js";
import { t } from "../../shared/language.js";
import { factList } from "../facts.js";
import { timeElement } from "../format.js";
import { hand, handing, takeHanded } from "../handed-word.js";
import { rawJson } from "../raw-json.js";
import { View } from "../view.js";
import { viewers } from "../viewers.js";

/** The fields that hold texts, with their names. */
const TEXTS = {
    title: "content.title", subTitle: "content.subTitle", brief: "content.brief", author: "contents.author", image: "content.image", action: "content.action",
    attachInfo: "content.attachInfo", attachDescription: "content.attachDescription",
};

class Content extends View {
    /** The words of the list, which it is opened with again. */
    #words;

    get #path() {
        const { kind, id } = this.place;
        return `/admin/v1/contents/${encodeURIComponent(kind)}/${encodeURIComponent(id)}`;
    }

    get #list() {
        return { view: "contents", kind: this.place.kind };
    }

    open() {
        this.heading = t("nav.contents");
        this.#words = takeHanded();
        this.loading(async () => (await this.call("GET", this.#path)).data, (content) => this.#show(content));
    }

    #show(content) {
        const { id, title, displayTime, createdAt, visibility } = content;
        const name = title || id;
        const above = this.linkBack(this.#list, t("nav.contents"));
        handing(above.querySelector("a"), this.#words);
        const remove = element("button", { type: "button", class: "grave", click: () => this.#remove(name) }, t("console.remove"));
        const facts = [
            [t("contents.id"), element("code", {}, isolate(id))], [t("content.module"), element("code", {}, isolate(this.place.kind))],
            [t("contents.time"), displayTime === null ? t("content.own-time") : timeElement(displayTime)], [t("content.written"), timeElement(createdAt)],
            [t("content.visibility"), viewers(visibility)],
        ];
        // Text alone: an action of others may lead anywhere.
        const texts = Object.entries(TEXTS).filter(([field]) => content[field]).map(([field, key]) => [
            t(key), element("p", { class: "text", dir: "auto" }, String(content[field])),
        ]);
        this.render(
            isolate(name), { above, actions: [remove] }, element("section", { class: "panel" }, factList(facts)),
            element("section", { class: "panel", "aria-labelledby": "content-text" }, element("h2", { id: "content-text" }, t("content.text")), factList(texts)),
            rawJson(content, t("content.raw")),
        );
    }

    async #remove(name) {
        const go = await this.ask({ title: t("content.remove-title", { name }), text: t("content.remove-text"), action: t("console.remove"), grave: true });
        await this.doing(go, async () => {
            await this.call("DELETE", this.#path);
            hand(this.#words);
            await this.go(this.#list, { said: t("content.removed", { name }) });
        });
    }
}

customElements.define("console-content", Content);
