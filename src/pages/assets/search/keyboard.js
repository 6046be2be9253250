// Keys: `/` focuses the box, arrows move between results, Escape goes back.

/** Elements that use the arrow keys themselves. */
const OWN = "input:not(#box), select, textarea, summary, [popover] *";

/**
 * @param {HTMLElement} page
 * @param {import("./search-box.js").SearchBox} box
 */
export function listen(page, box) {
    document.addEventListener("keydown", (event) => {
        if (event.defaultPrevented || event.isComposing || box.composing || event.ctrlKey || event.metaKey || event.altKey) {
            return;
        }
        if (handle(event.key, page, box)) {
            event.preventDefault();
        }
    });
}

function handle(key, page, box) {
    const at = document.activeElement;
    const isOwn = Boolean(at?.matches(OWN));
    switch (key) {
        case "/":
            if (at?.matches("input, select, textarea") || !box.form.checkVisibility()) {
                return false;
            }
            box.input.focus();
            box.input.select();
            return true;
        case "ArrowDown":
            return !isOwn && move(1, at, page, box);
        case "ArrowUp":
            return !isOwn && move(-1, at, page, box);
        case "Escape":
            return !isOwn && !document.querySelector(":popover-open") && back(at, box);
        default:
            return false;
    }
}

/** Moves focus by one stop; before the first is the box. */
function move(by, at, page, box) {
    const stops = [...page.querySelectorAll("[data-stop]")].filter((stop) => stop.checkVisibility());
    if (at === box.input && by < 0) {
        return false;
    }
    // Elsewhere arrows scroll, also at `data-begin` of scrolled results.
    const isBefore = at === box.input || at?.matches("[data-begin]") && stops[0]?.getBoundingClientRect().top >= 0;
    const place = isBefore ? -1 : stops.indexOf(at);
    if (!isBefore && place < 0) {
        return false;
    }
    const next = place + by < 0 ? box.input : stops[place + by];
    next?.focus({ preventScroll: true });
    next?.closest("li, form")?.scrollIntoView({ block: "nearest" });
    return true;
}

function back(at, box) {
    if (at !== box.input) {
        box.input.focus();
        box.input.select();
    } else if (box.input.value) {
        box.clear();
    }
    return true;
}
