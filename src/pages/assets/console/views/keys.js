import { element } from "../../shared/dom.js";
import { t } from "../../shared/language.js";
import { timeElement } from "../format.js";
import { badge } from "../source-state.js";
import { table } from "../table.js";
import { View } from "../view.js";

class Keys extends View {
    open() {
        this.heading = t("nav.keys");
        this.loading(async () => (await this.call("GET", "/admin/v1/signing_keys")).data, (keys) => {
            const rotate = element("button", { type: "button", click: () => this.#rotate() }, t("keys.rotate"));
            const rows = keys.map((key) => ({ key: key.kid, cells: [
                element("code", {}, key.kid), key.alg,
                key.retiredAt === null ? badge("good", "ok", t("keys.signs")) : badge("faint", "off", t("keys.verifies")),
                timeElement(key.createdAt), key.verifiesUntil === null ? "–" : timeElement(key.verifiesUntil),
            ] }));
            const columns = ["keys.id", "keys.algorithm", "sources.state", "tenants.created", "keys.until"].map((key) => t(key));
            this.render(t("nav.keys"), { actions: [rotate], lead: t("keys.lead") }, table({ caption: t("nav.keys"), columns, rows }));
        });
    }

    async #rotate() {
        if (!await this.ask({ title: t("keys.rotate-title"), text: t("keys.rotate-text"), action: t("keys.rotate") })) {
            return;
        }
        try {
            await this.call("POST", "/admin/v1/signing_keys");
            await this.go({ view: "keys" }, { said: t("keys.rotated"), replace: true });
        } catch (failure) {
            this.console.showError(failure);
        }
    }
}

customElements.define("console-keys", Keys);
