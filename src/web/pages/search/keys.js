// The keyboard: `/` goes to the box, arrows move through the box and what can be opened, Escape goes back and clears.

/** What takes the arrow keys itself. */
const OWN = "input:not(#box), select, textarea, summary, [popover] *";

/**
 * Listens to the keys of a page.
 *
 * @param {HTMLElement} page
 * @param {import("./box.js").SearchBox} box
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

/** Whether the key meant something. */
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

/** Goes to the next or the previous of what can be opened; before the first is the box. */
function move(by, at, page, box) {
    const stops = [...page.querySelectorAll("[data-stop]")].filter((stop) => stop.checkVisibility());
    if (at === box.input && by < 0) {
        return false;
    }
    // From elsewhere on the page, arrows scroll, as ever; so they do where results begin once one has read on.
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
