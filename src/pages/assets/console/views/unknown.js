// The view of an address that names none.

import { element, isolate } from "../../shared/dom.js";
import { t } from "../../shared/language.js";
import { View } from "../view.js";

class Unknown extends View {
    open() {
        this.render(
            t("unknown.title"), {},
            element("p", {}, t("unknown.text"), " ", element("code", {}, isolate(this.place.view))),
            element("p", { class: "actions" }, element("a", { class: "button main", href: this.console.href({ view: "overview" }) }, t("nav.overview"))),
        );
    }
}

customElements.define("console-unknown", Unknown);
