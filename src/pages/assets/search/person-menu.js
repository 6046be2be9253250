import { element } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { picture } from "./action.js";

/**
 * @param {{person: object, tenant: object, operator?: boolean}} session
 * @param {{forget: () => void, leave: () => void}} actions
 * @returns {HTMLElement}
 */
export function personMenu(session, { forget, leave }) {
    const name = session.person.name || session.person.loginId || "";
    const address = picture(session.person.picture, document.baseURI);
    const initial = element("span", { class: "initial", "aria-hidden": "true" }, Array.from(name.trim())[0]?.toUpperCase() ?? "");
    const shown = address ? element("img", { class: "picture round", src: address, alt: "" }) : initial;
    shown.addEventListener("error", () => shown.replaceWith(initial), { once: true });
    const menu = element("div", { id: "person-menu", popover: "auto", class: "menu" },
        element("p", { class: "who" }, element("bdi", {}, name),
            element("span", { class: "faint" }, element("bdi", {}, session.tenant?.name || session.tenant?.code || ""))),
        element("a", { href: "account" }, t("common.account")),
        session.operator || session.needsSecondFactor ? element("a", { href: "console" }, t("menu.console")) : null,
        element("button", { type: "button", click: forget }, t("menu.forget")),
        element("button", { type: "button", click: leave }, t("common.sign-out")));
    return element("div", { class: "person" },
        element("button", {
            type: "button", popovertarget: "person-menu", class: "person-button", "aria-label": t("menu.label", { name }), title: name,
        }, shown), menu);
}
