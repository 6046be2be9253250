import { element, fill, isolate } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { makeForm } from "./form.js";
import { formOf, moduleLabel, nextOrder, suggestCode } from "./module-forms.js";

/** Stands for a new module; no id contains it. */
const NEW = "+";

/** The type of a module of external sources. */
const EXTERNAL = 100;

/**
 * The form that adds a source to a module.
 *
 * @param {import("./view.js").View} view
 * @param {{id: string, name: string}} source
 * @param {(said: string) => Promise<void>} done receives the success notice
 */
export async function addToModuleForm(view, source, done) {
    const node = element("section", { class: "put-into" });
    const { data: modules } = await view.call("GET", "/admin/v1/modules");
    const within = modules.filter((module) => module.sources.includes(source.id));
    const others = modules.filter((module) => !module.sources.includes(source.id));
    const form = makeForm({
        action: t("put.action"),
        beside: [element("a", { class: "button", href: view.console.href({ view: "sources", id: source.id }) }, t("put.not-now"))],
        groups: [
            { fields: [{
                name: "module", kind: "choice", label: t("put.module"), value: NEW, hint: t("put.hint"),
                options: [[NEW, t("put.new")], ...others.map((module) => [module.id, moduleLabel(module)])],
            }] },
            { when: (values) => values.module === NEW, fields: [
                { name: "name", label: t("module.name"), value: source.name, required: true },
                { name: "code", label: t("module.code"), value: suggestCode(source.name, modules), required: true, hint: t("module.code-hint") },
            ] },
        ],
        send: async ({ module, name, code }) => {
            const known = modules.find(({ id }) => id === module);
            const answer = known
                ? await view.change(`/admin/v1/modules/${encodeURIComponent(known.id)}`, (now) => ({
                    ...formOf(now), sources: [...now.sources.filter((id) => id !== source.id), source.id],
                }))
                : await view.call("POST", "/admin/v1/modules", { body: {
                    name, code, type: EXTERNAL, icon: "external", sources: [source.id],
                    orderNo: nextOrder((await view.call("GET", "/admin/v1/modules")).data),
                } });
            await done(t("put.done", { source: source.name, module: answer.data.name }));
        },
    });
    fill(
        node,
        within.length > 0 && element("p", {}, t("put.within"), " ", ...within.flatMap(({ id, name }, place) => [
            place > 0 && ", ", element("a", { href: view.console.href({ view: "modules", id }) }, isolate(name)),
        ])),
        element("p", {}, t("put.text")), form.node,
    );
    return node;
}
