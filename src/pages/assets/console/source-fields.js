import { t } from "../shared/language.js";

/** Name and address; `source` is a registered one or a draft. */
export function addressFields(source = {}) {
    return [
        { name: "name", label: t("source.name"), value: source.name, required: true, hint: t("source.name-hint") },
        { name: "url", kind: "url", label: t("source.url"), value: source.url, required: true, hint: t("source.url-hint") },
        {
            name: "method", kind: "choice", label: t("source.method"), value: source.method ?? "GET", hint: t("source.method-hint"),
            options: [["GET", "GET"], ["POST", "POST"]],
        },
        {
            name: "order", kind: "choice", label: t("source.order"), value: source.order ?? "time", hint: t("source.order-hint"),
            options: [["time", t("order.time")], ["relevance", t("order.relevance")]],
        },
    ];
}

/** Authentication: the second group is for OAuth only. */
export function accessGroups(source = {}) {
    const auth = source.auth ?? {};
    // There is no secret to keep.
    const isKept = Boolean(source.id) && auth.type === "OAUTH2_CLIENT";
    return [
        { legend: t("source.access"), fields: [{
            name: "auth.type", kind: "choice", label: t("source.auth"), value: auth.type ?? "OAUTH2_CLIENT", hint: t("source.auth-hint"),
            options: [["OAUTH2_CLIENT", t("source.auth-oauth")], ["NONE", t("source.auth-none")]],
        }] },
        { when: (values) => values["auth.type"] === "OAUTH2_CLIENT", fields: [
            { name: "auth.tokenUrl", kind: "url", label: t("source.token-url"), value: auth.tokenUrl, required: true },
            { name: "auth.clientId", label: t("source.client-id"), value: auth.clientId, required: true },
            {
                name: "auth.clientSecret", kind: "secret", label: t("source.client-secret"), required: !isKept,
                hint: t(isKept ? "source.secret-kept" : "source.secret-hint"),
            },
            { name: "auth.scope", label: t("source.scope"), value: auth.scope, hint: t("source.scope-hint") },
            { name: "auth.audience", label: t("source.audience"), value: auth.audience },
        ] },
    ];
}

export function limitFields(source = {}) {
    return [
        { name: "timeoutMs", kind: "number", label: t("source.timeout"), value: source.timeoutMs ?? 2000, required: true, min: 50, max: 10000, unit: "ms",
            hint: t("source.timeout-hint") },
        { name: "pageSize", kind: "number", label: t("source.page-size"), value: source.pageSize ?? 20, required: true, min: 1, max: 1000 },
        { name: "maxConcurrency", kind: "number", label: t("source.concurrency"), value: source.maxConcurrency ?? 8, required: true, min: 1, max: 256 },
        { name: "weight", kind: "number", label: t("source.weight"), value: source.weight ?? 1, required: true, min: 0.01, max: 100, step: "any",
            hint: t("source.weight-hint") },
        { name: "hedging", kind: "check", label: t("source.hedging"), value: source.hedging, hint: t("source.hedging-hint") },
    ];
}

/** Form values as the server's body. */
export function toSource(values) {
    const source = {};
    for (const [name, value] of Object.entries(values)) {
        if (name.startsWith("auth.")) {
            source.auth = { ...source.auth, [name.slice("auth.".length)]: value ?? undefined };
        } else {
            source[name] = value;
        }
    }
    return source;
}

/** The body of a PUT: a registered source with changed fields. */
export function changedSource(source, changed) {
    const { auth, ...rest } = toSource(changed);
    const access = { ...source.auth, ...auth };
    return { ...formOf(source), ...rest, auth: access.type === "NONE" ? { type: "NONE" } : access };
}

/** The writable fields of a source, for a PUT; its secret stays. */
export function formOf({ name, url, method, auth, order, timeoutMs, pageSize, maxConcurrency, enabled, weight, hedging }) {
    return { name, url, method, auth, order, timeoutMs, pageSize, maxConcurrency, enabled, weight, hedging };
}
