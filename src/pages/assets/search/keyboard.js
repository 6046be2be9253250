// Keys: `?` lists them, `/` and Ctrl-K focus the box, arrows, Home and End move between results, Space and → show one beside them, Escape goes back.

/** Elements that use the arrow keys themselves. */
const OWN = "input:not(#box), select, textarea, summary, [popover] *";

/**
 * @param {HTMLElement} page
 * @param {import("./search-box.js").SearchBox} box
 * @param {import("./beside.js").Beside} beside
 * @param {HTMLDialogElement} help
 */
export function listen(page, box, beside, help) {
    document.addEventListener("keydown", (event) => {
        if (event.defaultPrevented || event.isComposing || box.composing || event.altKey || page.querySelector("dialog[open]")) {
            return;
        }
        if (event.ctrlKey || event.metaKey) {
            if (event.key.toLowerCase() === "k" && toBox(box)) {
                event.preventDefault();
            }
            return;
        }
        if (event.key === "?" && !document.activeElement?.matches("input, select, textarea")) {
            help.showModal();
            event.preventDefault();
            return;
        }
        if (lookAt(event.key, beside) || handle(event.key, page, box)) {
            event.preventDefault();
        }
    });
}

/** Keys of the item beside the list. */
function lookAt(key, beside) {
    const { look } = beside;
    const at = document.activeElement;
    const name = at?.closest("[data-item]")?.dataset.item;
    switch (key) {
        case " ":
            if (name) {
                beside.open(look.name === name ? "" : name);
            }
            return Boolean(name);
        case "ArrowRight":
            if (name && look.name === name) {
                look.focus();
            } else if (name) {
                beside.open(name);
            }
            return Boolean(name);
        case "ArrowLeft":
        case "Escape":
            if (look.isOpen && (key === "Escape" || look.element.contains(at)) && !document.querySelector(":popover-open")) {
                beside.open("");
                return true;
            }
            return false;
        default:
            return false;
    }
}

function handle(key, page, box) {
    const at = document.activeElement;
    const isOwn = Boolean(at?.matches(OWN));
    switch (key) {
        case "/":
            return !at?.matches("input, select, textarea") && toBox(box);
        case "ArrowDown":
            return !isOwn && move(1, at, page, box);
        case "ArrowUp":
            return !isOwn && move(-1, at, page, box);
        case "Home":
        case "End":
            return Boolean(at?.matches("[data-stop]")) && focus(stopsOf(page).at(key === "Home" ? 0 : -1));
        case "Escape":
            return !isOwn && !document.querySelector(":popover-open") && back(at, box);
        default:
            return false;
    }
}

/** Moves focus by one stop; before the first is the box. */
function move(by, at, page, box) {
    const stops = stopsOf(page);
    if (at === box.input && by < 0) {
        return false;
    }
    // Elsewhere arrows scroll, also at `data-begin` of scrolled results.
    const isBefore = at === box.input || at?.matches("[data-begin]") && stops[0]?.getBoundingClientRect().top >= 0;
    const place = isBefore ? -1 : stops.indexOf(at);
    if (!isBefore && place < 0) {
        return false;
    }
    return focus(place + by < 0 ? box.input : stops[place + by]);
}

function stopsOf(page) {
    return [...page.querySelectorAll("[data-stop]")].filter((stop) => stop.checkVisibility());
}

function focus(stop) {
    stop?.focus({ preventScroll: true });
    stop?.closest("li, form")?.scrollIntoView({ block: "nearest" });
    return true;
}

function toBox(box) {
    if (!box.form.checkVisibility()) {
        return false;
    }
    box.input.focus();
    box.input.select();
    return true;
}

function back(at, box) {
    if (at !== box.input) {
        box.input.focus();
        box.input.select();
    } else if (box.input.value) {
        box.clear();
    } else {
        box.dispatchEvent(new Event("leave"));
    }
    return true;
}
