import { element, fill, isolate } from "../../shared/dom.js";
import { t } from "../../shared/language.js";
import { cancelLink, makeForm } from "../form.js";
import { BUILT_IN, formOf, nextOrder, PREFIX, TYPES, withValues } from "../module-forms.js";
import { icon } from "../icons.js";
import { View } from "../view.js";

const NEW = "+";

const DUPLICATES = ["keep", "byId", "byAction"];

class Module extends View {
    get #path() {
        return `/admin/v1/modules/${encodeURIComponent(this.place.id)}`;
    }

    open() {
        const { id } = this.place;
        this.heading = t("nav.modules");
        this.loading(async () => {
            const [modules, sources] = await Promise.all([this.call("GET", "/admin/v1/modules"), this.call("GET", "/admin/v1/sources")]);
            const isKnown = modules.data.some((module) => module.id === id);
            if (!isKnown && id !== NEW) {
                throw Object.assign(new Error(t("modules.gone")), { status: 404, isOwn: true });
            }
            return { loaded: isKnown ? await this.call("GET", this.#path) : null, modules: modules.data, sources: sources.data };
        }, (data) => this.#show(data));
    }

    #show({ loaded, modules, sources }) {
        const module = loaded?.data;
        const back = this.console.href({ view: "modules" });
        const chosen = sourceList(module?.sources ?? [], sources, modules);
        const form = makeForm({
            groups: [{ fields: [
                { name: "name", label: t("module.name"), value: module?.name, required: true },
                { name: "code", label: t("module.code"), value: module?.code, required: true, hint: t("module.code-hint") },
                { name: "icon", label: t("module.icon"), value: module?.icon, known: [...BUILT_IN, "external", "mixed"], hint: t("module.icon-hint") },
                {
                    name: "type", kind: "choice", label: t("module.type"), value: module?.type ?? 100, hint: t("module.type-hint"),
                    options: TYPES.map((type) => [String(type), t(`type.${type}`)]),
                },
                { name: "sources", kind: "own", label: t("module.sources"), hint: t("module.sources-hint"), required: true, made: chosen },
                {
                    name: "duplicates", kind: "choice", label: t("module.duplicates"), value: module?.duplicates ?? "keep", hint: t("module.duplicates-hint"),
                    options: DUPLICATES.map((name) => [name, t(`duplicates.${name}`)]),
                },
                {
                    name: "recency.percent", kind: "number", label: t("module.recency"), value: module?.recency.percent ?? 15, hint: t("module.recency-hint"),
                    required: true, min: 0, max: 100, unit: "%",
                },
                {
                    name: "recency.halfLifeDays", kind: "number", label: t("module.half-life"), value: module?.recency.halfLifeDays ?? 90,
                    hint: t("module.half-life-hint"), required: true, min: 1, max: 3650, unit: t("module.days"),
                },
            ] }],
            action: t(module ? "console.save" : "modules.create"), beside: [cancelLink(back)],
            reload: () => this.open(), lastChange: () => this.lastChange("module", this.place.id),
            send: async (values, changed, isOver) => {
                if (module) {
                    const alter = (now) => withValues(formOf(now), changed);
                    await (isOver ? this.change(this.#path, alter) : this.save(this.#path, loaded, alter));
                } else {
                    const { data: now } = await this.call("GET", "/admin/v1/modules");
                    await this.call("POST", "/admin/v1/modules", { body: withValues({ orderNo: nextOrder(now) }, values) });
                }
                await this.go({ view: "modules" }, { said: t("console.saved") });
            },
        });
        this.render(module ? isolate(module.name) : t("modules.add"), { above: this.linkBack({ view: "modules" }, t("nav.modules")) }, form.node);
    }
}

/** The sources of a module in order, with those that can be added. */
function sourceList(ids, sources, modules) {
    const chosen = [...ids];
    const list = element("ol", { class: "chosen" });
    const choice = element("select", { "aria-label": t("module.add-source") });
    const add = element("button", { type: "button", click: () => {
        if (choice.value) {
            chosen.push(choice.value);
            show();
        }
    } }, icon("add"), t("module.add-source"));
    const node = element("div", { class: "chooser" }, list, element("div", { class: "actions" }, choice, add));
    // Custom contents exist where modules show them.
    const codes = new Set([...BUILT_IN, ...[...modules.flatMap((module) => module.sources), ...ids].filter((id) => id.startsWith(PREFIX)).map((id) => id.slice(PREFIX.length))]);
    const nameOf = (id) => (id.startsWith(PREFIX) ? `${t("module.built-in")} ${id.slice(PREFIX.length)}` : sources.find((one) => one.id === id)?.name ?? id);
    const button = (name, label, isOff, click) => element("button", {
        type: "button", class: "small", "aria-label": label, "aria-disabled": isOff ? "true" : null, click: () => !isOff && click(),
    }, icon(name));
    const exchange = (place, by) => {
        chosen.splice(place + by, 0, ...chosen.splice(place, 1));
        show();
        list.children[place + by].querySelector(by < 0 ? "button" : "button:nth-of-type(2)").focus();
    };
    const options = (ids) => ids.filter((id) => !chosen.includes(id)).map((id) => element("option", { value: id }, nameOf(id)));
    function show() {
        fill(list, ...chosen.map((id, place) => element(
            "li", {}, isolate(nameOf(id)),
            element(
                "span", { class: "row-actions" },
                button("up", t("modules.up", { name: nameOf(id) }), place === 0, () => exchange(place, -1)),
                button("down", t("modules.down", { name: nameOf(id) }), place === chosen.length - 1, () => exchange(place, 1)),
                button("remove", t("modules.remove-it", { name: nameOf(id) }), false, () => {
                    chosen.splice(place, 1);
                    show();
                    choice.focus();
                }),
            ),
        )));
        fill(
            choice,
            element("optgroup", { label: t("nav.sources") }, ...options(sources.map(({ id }) => id))),
            element("optgroup", { label: t("module.built-in-ones") }, ...options([...codes].map((code) => `${PREFIX}${code}`))),
        );
    }
    show();
    return {
        node, focused: choice, value: () => [...chosen], focus: () => choice.focus(),
        check: () => (chosen.length === 0 ? t("module.no-sources") : null),
    };
}

customElements.define("console-module", Module);
