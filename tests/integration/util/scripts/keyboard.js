const dialog = [...document.querySelectorAll("dialog[open]")].find((dialog) => dialog.matches(":modal"));
const controls = "a[href], button, input, select, textarea, summary, [tabindex], [contenteditable]";
const isChosen = (element) => element.type !== "radio" || element.checked
    || !document.querySelector(`input[type=radio][name="${CSS.escape(element.name)}"]:checked`);
const wanted = [...(dialog ?? document).querySelectorAll(controls)].filter((element) =>
    element.tabIndex >= 0 && !element.disabled && !element.closest("[inert]") && isChosen(element)
    && element.checkVisibility({ visibilityProperty: true }));
const reached = new Map();
document.activeElement?.blur();
window.__keyboard?.abort();
window.__keyboard = new AbortController();
document.addEventListener("focusin", ({ target }) => {
    const isMarked = (element, part) => {
        const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element, part);
        return (outlineStyle !== "none" && outlineWidth !== "0px") || boxShadow !== "none";
    };
    // A focus ring may be on the whole row.
    const around = [target, target.parentElement, target.closest("li")].filter(Boolean);
    reached.set(target, around.some((element) => [null, "::before", "::after"].some((part) => isMarked(element, part))));
}, { signal: window.__keyboard.signal });
window.__reached = () => {
    const shown = (element) => element.outerHTML.slice(0, 160);
    return [
        ...wanted.filter((element) => element.isConnected && !reached.has(element)).map((element) =>
            `Tab does not reach ${shown(element)}`),
        ...[...reached].filter(([, visible]) => !visible).map(([element]) => `focus is not seen on ${shown(element)}`),
    ];
};
// Date fields have four stops: day, month, year, calendar.
return wanted.reduce((sum, { type }) => sum + (type === "date" ? 4 : 1), 0);
