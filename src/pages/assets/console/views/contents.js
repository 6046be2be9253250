import { element, isolate } from "../../shared/dom.js";
import { t } from "../../shared/language.js";
import { ContentImport } from "../content-import.js";
import { makeField } from "../field.js";
import { timeElement } from "../format.js";
import { handing, takeHanded } from "../handed-word.js";
import { moduleLabel, OWNED, PREFIX } from "../module-forms.js";
import { PagedTable } from "../paged-table.js";
import { View } from "../view.js";

const EVERYTHING = "*";

class Contents extends View {
    #kinds;
    #fields;
    #owned = element("p", { class: "faint" }, t("contents.owned"));
    #import;
    #pages;

    open() {
        this.heading = t("nav.contents");
        const words = takeHanded()?.word;
        this.loading(async () => kindsOf((await this.call("GET", "/admin/v1/modules")).data), (kinds) => this.#show(kinds, words));
    }

    #show(kinds, words) {
        if (kinds.length === 0) {
            this.render(t("nav.contents"), {}, element("p", { class: "empty" }, t("contents.no-kinds")));
            return;
        }
        this.#kinds = kinds;
        const form = this.#form(words);
        this.#import = new ContentImport(this, () => this.#kind.code, () => this.#pages.filter(this.#query()));
        this.#pages = new PagedTable(this, {
            load: (query) => this.#find(query), query: this.#query(), caption: t("nav.contents"), empty: t("contents.none"),
            columns: ["contents.item", "contents.author", "contents.time"].map((key) => t(key)),
            row: (item) => ({ key: item.id, cells: [this.#item(item), item.author ? isolate(item.author) : "–", timeElement(item.displayTime)] }),
        });
        this.#settle();
        this.render(t("nav.contents"), { lead: t("contents.lead") }, form, this.#owned, this.#import.node, this.#pages.node);
    }

    #form(words) {
        const described = [
            { name: "kind", kind: "choice", label: t("contents.kind"), value: this.place.kind, options: this.#kinds.map((kind) => [kind.code, moduleLabel(kind)]) },
            { name: "keyword", label: t("contents.keyword"), value: words },
            { name: "id", label: t("contents.open-id") },
        ];
        this.#fields = new Map(described.map((field) => [field.name, makeField(field)]));
        const form = element(
            "form", { class: "filters", role: "search", "aria-label": t("contents.filters"), submit: (event) => {
                event.preventDefault();
                this.#apply();
            } },
            ...[...this.#fields.values()].map(({ node }) => node),
            element("div", { class: "actions" }, element("button", { type: "submit", class: "main" }, t("contents.show"))),
        );
        form.querySelector("[name=kind]").addEventListener("change", () => this.#choose());
        return form;
    }

    get #kind() {
        const code = this.#fields.get("kind").value();
        return this.#kinds.find((kind) => kind.code === code);
    }

    get #isOwned() {
        return OWNED.includes(this.#kind.code);
    }

    /** Records the chosen kind in the address, and lists it. */
    #choose() {
        this.console.recordPlace({ view: "contents", kind: this.#kind.code });
        this.place = this.console.place;
        this.#settle();
        this.#pages.filter(this.#query());
    }

    #settle() {
        this.#owned.hidden = !this.#isOwned;
        this.#fields.get("id").node.hidden = this.#isOwned;
        this.#import.offer(!this.#isOwned);
    }

    #apply() {
        const id = this.#fields.get("id").value();
        if (id && !this.#isOwned) {
            this.go({ view: "contents", kind: this.#kind.code, id });
        } else {
            this.#pages.filter(this.#query());
        }
    }

    #query() {
        return { keyword: this.#fields.get("keyword").value(), kind: this.#kind, isOwned: this.#isOwned };
    }

    /** Keywords stay out of addresses, which are kept in histories. */
    #find({ keyword, kind: { code, module }, isOwned, limit, cursor }) {
        if (!keyword && !isOwned) {
            return this.call("GET", `/admin/v1/contents/${encodeURIComponent(code)}`, { query: { limit, cursor } });
        }
        return this.call("POST", "/admin/v1/search", { body: {
            keyword: keyword ?? EVERYTHING, moduleId: module, source: `${PREFIX}${code}`, limit, cursor: cursor ?? undefined, sort: "time", paging: "cursor",
            exact: true,
        } });
    }

    #item({ id, title, brief, isRestricted }) {
        const name = isolate(title || id);
        const place = { view: "contents", kind: this.#kind.code, id };
        return [
            this.#isOwned ? name : handing(element("a", { href: this.console.href(place) }, name), { word: this.#fields.get("keyword").value() }),
            brief && element("div", { class: "faint brief", dir: "auto" }, brief),
            (title || isRestricted) && element("div", { class: "faint address" }, isolate(id), isRestricted && ` · ${t("contents.restricted")}`),
        ];
    }
}

/** The kinds of built-in content that modules show, each with a module to search it by. */
function kindsOf(modules) {
    const codes = new Set(modules.flatMap(({ sources }) => sources).filter((id) => id.startsWith(PREFIX)).map((id) => id.slice(PREFIX.length)));
    return [...codes].map((code) => {
        const within = modules.filter(({ sources }) => sources.includes(`${PREFIX}${code}`));
        const { id, name } = within.find((module) => module.code === code) ?? within[0];
        return { code, name, module: id };
    });
}

customElements.define("console-contents", Contents);
