import { element, fill, isolate } from "../../shared/dom.js";
import { t } from "../../shared/language.js";
import { morph } from "../morph.js";
import { formOf, moved, PREFIX } from "../module-forms.js";
import { icon } from "../icons.js";
import { table } from "../table.js";
import { View } from "../view.js";

class Modules extends View {
    #modules = [];
    #sources = [];
    #list = element("div");
    #isMoving = false;
    #moved = element("p", { class: "unseen", role: "status" });

    open() {
        this.heading = t("nav.modules");
        this.loading(() => this.#load(), () => {
            const add = element("a", { class: "button main", href: this.console.href({ view: "modules", id: "+" }) }, icon("add"), t("modules.add"));
            this.render(t("nav.modules"), { actions: [add], lead: t("modules.lead") }, this.#moved, this.#list);
            this.#show();
        });
    }

    async #load() {
        const [modules, sources] = await Promise.all([this.call("GET", "/admin/v1/modules"), this.call("GET", "/admin/v1/sources")]);
        [this.#modules, this.#sources] = [modules.data, sources.data];
    }

    #show() {
        const rows = this.#modules.map((module, place) => ({ key: module.id, cells: [
            [
                element("a", { href: this.console.href({ view: "modules", id: module.id }) }, isolate(module.name)),
                element("div", { class: "faint" }, element("code", {}, module.code)),
            ],
            t(`type.${module.type}`),
            element("ul", { class: "names" }, ...module.sources.map((id) => this.#source(id))),
            element(
                "div", { class: "row-actions" },
                this.#mover(module, "up", place === 0), this.#mover(module, "down", place === this.#modules.length - 1),
                element("button", {
                    type: "button", class: "small", "aria-label": t("modules.remove-it", { name: module.name }), "data-key": "remove",
                    click: () => this.#remove(module.id),
                }, icon("remove")),
            ),
        ] }));
        morph(this.#list, table({
            caption: t("nav.modules"), columns: [...["module.name", "module.type", "module.sources"].map((key) => t(key)), ""], rows, empty: t("modules.none"),
        }));
    }

    #source(id) {
        if (id.startsWith(PREFIX)) {
            return element("li", {}, t("module.built-in"), " ", element("code", {}, id.slice(PREFIX.length)));
        }
        const source = this.#sources.find((one) => one.id === id);
        return element(
            "li", {}, element("a", { href: this.console.href({ view: "sources", id }) }, isolate(source?.name ?? id)),
            source && !source.enabled && element("span", { class: "faint" }, ` (${t("state.disabled")})`),
        );
    }

    /** It keeps its place and focus at the end. */
    #mover(module, direction, isAtEnd) {
        return element("button", {
            type: "button", class: "small", "data-key": direction, "aria-label": t(`modules.${direction}`, { name: module.name }),
            "aria-disabled": isAtEnd ? "true" : null, click: () => this.#move(module.id, direction === "up" ? -1 : 1),
        }, icon(direction));
    }

    async #move(id, by) {
        const isWithin = (place) => place >= 0 && place < this.#modules.length;
        const placeNow = () => this.#modules.findIndex((module) => module.id === id);
        if (this.#isMoving || !isWithin(placeNow() + by)) {
            return;
        }
        this.#isMoving = true;
        const { name } = this.#modules[placeNow()];
        const focused = document.activeElement;
        try {
            // Another operator may have changed the order.
            await this.#load();
            const from = placeNow();
            const changes = from >= 0 && isWithin(from + by) ? moved(this.#modules, from, from + by) : [];
            for (const { module, orderNo } of changes) {
                await this.change(`/admin/v1/modules/${encodeURIComponent(module.id)}`, (now) => ({ ...formOf(now), orderNo }));
            }
        } catch (failure) {
            this.console.showError(failure);
        }
        try {
            await this.#load();
            this.#show();
            focused?.focus();
            const place = placeNow() + 1;
            fill(this.#moved, place > 0 && t("modules.moved", { name, place, all: this.#modules.length }));
        } catch (failure) {
            this.console.showError(failure);
        } finally {
            this.#isMoving = false;
        }
    }

    async #remove(id) {
        const { name } = this.#modules.find((module) => module.id === id);
        const go = await this.ask({ title: t("modules.remove-title", { name }), text: t("modules.remove-text"), action: t("console.remove"), grave: true });
        if (!go) {
            return;
        }
        try {
            const path = `/admin/v1/modules/${encodeURIComponent(id)}`;
            const { etag } = await this.call("GET", path);
            await this.call("DELETE", path, { match: etag });
            await this.#load();
            this.#show();
            this.console.showNotice(t("console.removed", { name }));
            this.querySelector("h1").focus();
        } catch (failure) {
            this.console.showError(failure);
        }
    }
}

customElements.define("console-modules", Modules);
