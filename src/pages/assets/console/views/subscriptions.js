import { serverNow } from "../../shared/api.js";
import { element, isolate } from "../../shared/dom.js";
import { number, t } from "../../shared/language.js";
import { timeElement } from "../format.js";
import { icon } from "../icons.js";
import { morph } from "../morph.js";
import { poll } from "../polling.js";
import { addressOf, explainRun, nextRun, stateBadge, stateOf } from "../subscription-state.js";
import { table } from "../table.js";
import { View } from "../view.js";

/** Failed ones come first. */
const byUrgency = (subscriptions) => [...subscriptions].sort((one, other) => (stateOf(other) === "failed") - (stateOf(one) === "failed"));

class Subscriptions extends View {
    open() {
        const failed = element("div");
        const list = element("div", { "aria-busy": "true" });
        const add = element("a", { class: "button main", href: this.console.href({ view: "subscriptions", id: "+" }) }, icon("add"), t("subscriptions.add"));
        this.render(t("nav.subscriptions"), { actions: [add], lead: t("subscriptions.lead") }, failed, list);
        poll({
            signal: this.signal,
            load: async (options) => (await this.call("GET", "/admin/v1/subscriptions", options)).data,
            show: (subscriptions) => {
                list.removeAttribute("aria-busy");
                morph(list, this.#table(subscriptions));
            },
            failed,
        });
    }

    #table(subscriptions) {
        const now = serverNow();
        const rows = byUrgency(subscriptions).map((subscription) => ({ key: subscription.id, cells: [
            [
                element("a", { href: this.console.href({ view: "subscriptions", id: subscription.id }) }, isolate(subscription.name)),
                element("div", { class: "faint address" }, isolate(addressOf(subscription))),
            ],
            [stateBadge(subscription), element("div", { class: "why" }, ...explainRun(subscription))],
            timeElement(subscription.lastRun?.finishedAt),
            nextRun(subscription, now),
            number(subscription.items),
        ] }));
        const columns = ["subscriptions.name", "subscriptions.state", "subscriptions.last-run", "subscriptions.next-run", "subscriptions.items"];
        return element(
            "div", {},
            table({ caption: t("nav.subscriptions"), columns: columns.map((key) => t(key)), rows, empty: t("subscriptions.none") }),
            rows.length > 0 && element("p", { class: "faint" }, t("subscriptions.count", { count: rows.length, said: number(rows.length) })),
        );
    }
}

customElements.define("console-subscriptions", Subscriptions);
