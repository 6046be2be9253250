import { t } from "../shared/language.js";
import { OWNED, PREFIX } from "./module-forms.js";
import { VIEWER_KINDS } from "./viewers.js";

const KINDS = ["feed", "folder", "sql"];

/** Codes of modules to which items can go. */
function codes(modules) {
    const builtIn = modules.flatMap(({ sources }) => sources).filter((id) => id.startsWith(PREFIX)).map((id) => id.slice(PREFIX.length));
    return [...new Set(builtIn)].filter((code) => !OWNED.includes(code));
}

/** The groups of the form of a subscription, or of a new one. */
export function formGroups(modules, subscription) {
    const module = subscription?.module ?? "article";
    const { feed, folder, sql, visibility } = subscription ?? {};
    const group = (kind, ...fields) => ({ when: (values) => values.kind === kind, fields });
    return [
        { fields: [
            { name: "name", label: t("subscriptions.name"), value: subscription?.name, required: true },
            {
                name: "module", kind: "choice", label: t("subscription.module"), value: module, hint: t("subscription.module-hint"), required: true,
                fixed: Boolean(subscription), options: [...new Set([...codes(modules), ...(subscription ? [module] : [])])].map((code) => [code, code]),
            },
            {
                name: "kind", kind: "choice", label: t("subscription.kind"), value: subscription?.kind ?? KINDS[0], fixed: Boolean(subscription),
                options: KINDS.map((kind) => [kind, t(`subscription.kind-${kind}`)]),
            },
        ] },
        group("feed", { name: "feed.url", kind: "url", label: t("subscription.url"), value: feed?.url, required: true, hint: t("subscription.url-hint") }),
        group("folder", { name: "folder.path", label: t("subscription.path"), value: folder?.path, required: true, hint: t("subscription.path-hint") }),
        group(
            "sql",
            { name: "sql.address", label: t("subscription.database"), value: sql?.address, required: true, hint: t("subscription.database-hint") },
            { name: "sql.password", kind: "secret", label: t("subscription.password"), hint: t(sql ? "source.secret-kept" : "source.secret-hint") },
            { name: "sql.query", kind: "long", rows: 6, label: t("subscription.query"), value: sql?.query, required: true, hint: t("subscription.query-hint") },
            { name: "sql.cursorColumn", label: t("subscription.cursor"), value: sql?.cursorColumn, required: true, hint: t("subscription.cursor-hint") },
        ),
        { legend: t("subscription.when"), fields: [
            {
                name: "intervalMinutes", kind: "number", label: t("subscription.interval"), value: subscription?.intervalMinutes ?? 60, required: true,
                min: 1, max: 40320, unit: t("subscription.minutes"),
            },
            {
                name: "keepDays", kind: "number", label: t("subscription.keep"), value: subscription?.keepDays, min: 1, max: 36500, unit: t("module.days"),
                hint: t("subscription.keep-hint"),
            },
            { name: "enabled", kind: "check", label: t("subscription.enabled"), value: subscription?.enabled ?? true, hint: t("subscription.enabled-hint") },
        ] },
        { legend: t("content.visibility"), fields: [{
            name: "viewers", kind: "choice", label: t("subscription.viewers"), value: visibility ? "some" : "everyone",
            options: [["everyone", t("content.everyone")], ["some", t("contents.restricted")]],
        }] },
        { when: ({ viewers }) => viewers === "some", lead: t("subscription.viewers-lead"), fields: VIEWER_KINDS.map((kind) => ({
            name: `visibility.${kind}`, kind: "lines", label: t(`subscription.${kind}`), value: visibility?.[kind], hint: t("subscription.viewers-hint"),
        })) },
    ];
}

/** Form values over a body, as the server's body. */
export function bodyOf({ kind: _, viewers, ...values }, body = {}) {
    const result = { ...body };
    if (viewers) {
        result.visibility = viewers === "some" ? {} : null;
    }
    for (const [name, value] of Object.entries(values)) {
        const [object, field] = name.split(".");
        result[object] = field ? { ...result[object], [field]: value } : value;
    }
    return result;
}

/** The writable fields of a subscription, for a PUT. */
export function formOf({ name, module, feed, folder, sql, intervalMinutes, keepDays, enabled, visibility }) {
    return { name, module, feed, folder, sql, intervalMinutes, keepDays, enabled, visibility };
}
