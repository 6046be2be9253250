import { element, isolate } from "../shared/dom.js";
import { t } from "../shared/language.js";

/** Name and address; `source` is a registered one or a draft. */
export function addressFields(source = {}) {
    return [
        { name: "name", label: t("source.name"), value: source.name, required: true, hint: t("source.name-hint") },
        { name: "url", kind: "url", label: t("source.url"), value: source.url, required: true, hint: t("source.url-hint") },
        ...(source.mapping ? [{ name: "site", kind: "url", label: t("source.site"), value: source.site, hint: t("source.site-hint") }] : []),
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

/** The types of credentials; each has a text `source.auth-TYPE`. */
const AUTH_TYPES = ["OAUTH2_CLIENT", "OAUTH2_JWT_BEARER", "OAUTH2_TOKEN_EXCHANGE", "API_KEY", "BASIC", "BEARER", "NONE"];

/** The secrets of all types, which no form shows and no draft keeps. */
const SECRETS = ["clientSecret", "key", "password", "token"];

/** Authentication and identity: a group chooses the type, each further one is for types that begin alike. */
export function accessGroups(source = {}) {
    const auth = source.auth ?? {};
    const group = (type, ...fields) => ({ when: (values) => values["auth.type"].startsWith(type), fields });
    const secret = (type, name, label) => {
        // A new source has no secret to keep.
        const isKept = Boolean(source.id) && Boolean(auth.type?.startsWith(type));
        return { name: `auth.${name}`, kind: "secret", label, required: !isKept, hint: t(isKept ? "source.secret-kept" : "source.secret-hint") };
    };
    return [
        { legend: t("source.access"), fields: [{
            name: "auth.type", kind: "choice", label: t("source.auth"), value: auth.type ?? "OAUTH2_CLIENT", hint: t("source.auth-hint"),
            options: AUTH_TYPES.map((type) => [type, t(`source.auth-${type}`)]),
        }] },
        group(
            "OAUTH2",
            { name: "auth.tokenUrl", kind: "url", label: t("source.token-url"), value: auth.tokenUrl, required: true },
            { name: "auth.clientId", label: t("source.client-id"), value: auth.clientId, required: true },
            secret("OAUTH2", "clientSecret", t("source.client-secret")),
            { name: "auth.scope", label: t("source.scope"), value: auth.scope, hint: t("source.scope-hint") },
            { name: "auth.audience", label: t("source.audience"), value: auth.audience },
        ),
        group(
            "API_KEY",
            auth.parameter
                ? { name: "auth.parameter", label: t("source.key-parameter"), value: auth.parameter, required: true }
                : { name: "auth.header", label: t("source.key-header"), value: auth.header ?? "X-API-Key", required: true, hint: t("source.key-header-hint") },
            secret("API_KEY", "key", t("source.key")),
        ),
        group(
            "BASIC",
            { name: "auth.username", label: t("source.username"), value: auth.username, required: true },
            secret("BASIC", "password", t("source.password")),
        ),
        group("BEARER", secret("BEARER", "token", t("source.token"))),
        ...identityGroups(source.identity ?? {}),
    ];
}

/** For whom the source is called. The server knows by itself that a token or a mapping needs the person. */
function identityGroups({ type = "none", header, subject, audience, departments }) {
    const types = [...new Set(["none", "assertion", type])];
    return [
        { legend: t("source.identity"), fields: [{
            name: "identity.type", kind: "choice", label: t("source.identity-type"), value: type, hint: t("source.identity-hint"),
            options: types.map((name) => [name, t(`source.identity-${name}`)]),
        }] },
        {
            when: (values) => values["identity.type"] === "assertion",
            fields: [
                { name: "identity.header", label: t("source.identity-header"), value: header ?? "X-Trawl-Assertion", required: true },
                {
                    name: "identity.subject", kind: "choice", label: t("source.identity-subject"), value: subject ?? "userId",
                    options: [["userId", t("source.identity-userId")], ["loginId", t("source.identity-loginId")]],
                },
                { name: "identity.audience", label: t("source.identity-audience"), value: audience, hint: t("source.identity-audience-hint") },
                { name: "identity.departments", kind: "check", label: t("source.identity-departments"), value: departments },
            ],
        },
    ];
}

/** The type of credentials, and what of them is no secret. */
export function accessText({ auth }) {
    const known = { API_KEY: auth.header ?? auth.parameter, BASIC: auth.username }[auth.type] ?? auth.clientId;
    return element("span", {}, t(`source.auth-${auth.type}`), known && ", ", known && isolate(known));
}

export function limitFields(source = {}) {
    return [
        { name: "timeoutMs", kind: "number", label: t("source.timeout"), value: source.timeoutMs ?? 2000, required: true, min: 50, max: 10000, unit: "ms",
            hint: t("source.timeout-hint") },
        { name: "pageSize", kind: "number", label: t("source.page-size"), value: source.pageSize ?? 20, required: true, min: 1, max: 1000 },
        { name: "maxConcurrency", kind: "number", label: t("source.concurrency"), value: source.maxConcurrency ?? 8, required: true, min: 1, max: 256 },
        { name: "weight", kind: "number", label: t("source.weight"), value: source.weight ?? 1, required: true, min: 0.01, max: 100, step: "any",
            hint: t("source.weight-hint") },
        { name: "requestsPerMinute", kind: "number", label: t("source.requests-per-minute"), value: source.requestsPerMinute, min: 1, max: 60000,
            hint: t("source.requests-per-minute-hint") },
        { name: "whileTyping", kind: "check", label: t("source.while-typing"), value: source.whileTyping ?? true, hint: t("source.while-typing-hint") },
        { name: "hedging", kind: "check", label: t("source.hedging"), value: source.hedging, hint: t("source.hedging-hint") },
    ];
}

/** The input of a person's id, for a call in their name. */
export function personInput(id) {
    return element("input", { id, name: "person", dir: "auto", autocomplete: "off" });
}

/** Its field, if the source learns for whom it is called. */
export function personField(input, { identity }) {
    input.required = Boolean(identity);
    return identity && element("div", { class: "field" }, element("label", { for: input.id }, t("trial.person")), input);
}

/** Form values as the server's body. */
export function toSource(values) {
    const source = {};
    for (const [name, value] of Object.entries(values)) {
        const [part, field] = name.split(".");
        if (field) {
            source[part] = { ...source[part], [field]: value ?? undefined };
        } else {
            source[name] = value;
        }
    }
    return source.identity?.type === "none" ? { ...source, identity: null } : source;
}

/** A draft of a system of the gallery; its address is an example, and `from` tells where its credentials come from. */
export function draftOf({ name, address, method, order, pageSize, auth: [{ from, ...auth }], mapping }) {
    return { name, kind: "mapping", url: address, method, order, pageSize, auth, mapping, from };
}

/** A source to register, without its secrets. */
export function withoutSecrets({ auth, ...source }) {
    return { ...source, auth: Object.fromEntries(Object.entries(auth).filter(([name]) => !SECRETS.includes(name))) };
}

/** The body of a PUT: a registered source with changed fields. The server ignores those of other types of credentials. */
export function changedSource(source, changed) {
    const { auth, identity, ...rest } = toSource(changed);
    const whole = { ...formOf(source), ...rest, auth: { ...source.auth, ...auth } };
    return identity === undefined ? whole : { ...whole, identity: identity && { ...source.identity, ...identity } };
}

/** The writable fields of a source, for a PUT; its secret stays. */
export function formOf({
    name, kind, url, site, method, mapping, auth, identity, order, timeoutMs, pageSize, maxConcurrency, enabled, weight, hedging, requestsPerMinute,
    whileTyping,
}) {
    return {
        name, kind, url, site, method, mapping, auth, identity, order, timeoutMs, pageSize, maxConcurrency, enabled, weight, hedging,
        requestsPerMinute, whileTyping,
    };
}
