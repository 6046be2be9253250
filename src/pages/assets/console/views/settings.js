import { element, fill, isolate } from "../../shared/dom.js";
import { t } from "../../shared/language.js";
import { copyButton } from "../dialog.js";
import { replicasTable } from "../replicas-table.js";
import { badge } from "../source-state.js";
import { table } from "../table.js";
import { View } from "../view.js";

/** The server's sign for a secret that is set. */
const MASK = "********";

class Settings extends View {
    open() {
        this.heading = t("nav.settings");
        this.loading(async () => {
            const [server, replicas] = await Promise.all([this.call("GET", "/admin/v1/settings"), this.call("GET", "/admin/v1/replicas")]);
            return { ...server.data, replicas: replicas.data };
        }, (data) => this.#show(data));
    }

    #show({ version, settings, replicas }) {
        const list = element("div");
        const only = element("input", { type: "checkbox", id: "changed-only", change: () => fill(list, settingsTable(settings, only.checked)) });
        fill(list, settingsTable(settings, false));
        this.render(
            t("nav.settings"), { lead: t("settings.lead") },
            panel("server", t("replicas.title"), element("p", {}, `${t("settings.version")} `, element("strong", {}, version)), replicasTable(replicas)),
            panel("backup", t("settings.backup"), ...backup(new Map(settings.map(({ name, value }) => [name, value])))),
            panel(
                "settings", t("nav.settings"),
                element("div", { class: "check filter" }, only, element("label", { for: "changed-only" }, t("settings.changed-only"))), list,
            ),
        );
    }
}

function settingsTable(settings, changedOnly) {
    const rows = settings.filter(({ isDefault }) => !changedOnly || !isDefault).map(({ name, value, isDefault }) => ({ key: name, cells: [
        element("code", { class: "address" }, name),
        value === MASK ? t("settings.secret") : element("code", { class: "address" }, isolate(typeof value === "string" ? value : JSON.stringify(value))),
        isDefault ? element("span", { class: "faint" }, t("settings.default")) : badge("good", "ok", t("settings.changed")),
    ] }));
    return table({ caption: t("nav.settings"), columns: ["settings.name", "settings.value", "settings.origin"].map((key) => t(key)), rows });
}

/** The hint for the database and the files of this server. */
function backup(settings) {
    const folder = settings.get("data");
    const command = `sqlite3 ${quoted(`${folder}/trawl.db`)} ".backup trawl-backup.db"`;
    return [
        ...settings.has("store.url")
            ? [element("p", {}, t("settings.backup-postgres"))]
            : [
                element("p", {}, t("settings.backup-sqlite")),
                element("div", { class: "command" }, element("pre", { tabindex: "0" }, element("code", {}, command)), copyButton(command, t("settings.backup"))),
            ],
        settings.get("storage.kind") === "local" && element("p", {}, t("settings.backup-files"), " ", element("code", {}, `${folder}/files`)),
        settings.get("storage.kind") === "s3" && element("p", {}, t("settings.backup-s3")),
    ].filter(Boolean);
}

/** As one word of a shell. */
function quoted(path) {
    return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

function panel(key, title, ...children) {
    return element("section", { class: `panel ${key}`, "aria-labelledby": `panel-${key}` }, element("h2", { id: `panel-${key}` }, title), ...children);
}

customElements.define("console-settings", Settings);
