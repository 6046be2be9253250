// The keys of the page, in a dialog.

import { element } from "../shared/dom.js";
import { t } from "../shared/language.js";

/** Each with its description, `key.NAME`. */
const KEYS = {
    box: ["/", "Ctrl K"], move: ["↑", "↓", "Home", "End"], open: ["Enter"], look: ["Space", "→"], back: ["Esc", "←"], help: ["?"],
};

export function helpDialog() {
    const keys = ([name, shown]) => element("div", {},
        element("dt", {}, ...shown.flatMap((key, place) => [place ? " " : null, element("kbd", {}, key)])),
        element("dd", {}, t(`key.${name}`)));
    return element("dialog", { class: "help", "aria-labelledby": "help-title", closedby: "any" },
        element("h2", { id: "help-title" }, t("help.title")),
        element("dl", { class: "keys" }, ...Object.entries(KEYS).map(keys)),
        element("form", { method: "dialog" }, element("button", {}, t("help.close"))));
}
