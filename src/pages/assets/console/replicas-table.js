import { serverNow } from "../shared/api.js";
import { isolate } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { timeElement } from "./format.js";
import { badge } from "./source-state.js";
import { table } from "./table.js";

/** Milliseconds without a sign after which other replicas take over a replica's work. */
const SILENCE = 15_000;

/** The replicas, with their state and lag. */
export function replicasTable(replicas) {
    const now = serverNow();
    const columns = ["replicas.id", "replicas.state", "replicas.version", "index.behind", "replicas.leads", "replicas.started"];
    return table({
        caption: t("replicas.title"),
        columns: columns.map((key) => t(key)),
        rows: replicas.map(({ id, version, startedAt, seenAt, behind, leads }) => ({
            key: id,
            cells: [
                isolate(id),
                now - seenAt < SILENCE
                    ? badge("good", "ok", t("replicas.alive"))
                    : [badge("alarm", "fail", t("replicas.silent")), " ", timeElement(seenAt)],
                version, t("index.changes", { count: behind }), leads.join(", ") || "–", timeElement(startedAt),
            ],
        })),
    });
}
