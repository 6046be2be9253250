// Polling while the tab is visible.

import { serverNow } from "../shared/api.js";
import { element } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { timeOfDay } from "./format.js";
import { explain } from "./failure.js";
import { morph } from "./morph.js";

/** Milliseconds after which a call counts as unanswered. */
const LIMIT = 10_000;

/**
 * Loads and shows now and at an interval. A failed load keeps the data that is shown and adds a notice with its age.
 *
 * @param {object} options
 * @param {(options: {limit: number}) => Promise<any>} options.load receives the timeout of each call
 * @param {(data: any) => void} options.show
 * @param {Element} options.failed holds the error notice
 * @param {AbortSignal} options.signal ends it
 * @param {number} [options.every] milliseconds
 * @returns {{refresh: () => Promise<void>}}
 */
export function poll({ load, show, failed, signal, every = 4_000 }) {
    let timer = 0;
    let asked = 0;
    let answered = null;
    const later = () => {
        clearTimeout(timer);
        if (!signal.aborted && document.visibilityState === "visible") {
            timer = setTimeout(refresh, every);
        }
    };
    // Morphed: screen readers do not repeat it.
    const fail = (failure) => morph(failed, ...(failure ? [explainStale(failure, answered)] : []));
    const refresh = async () => {
        clearTimeout(timer);
        // Only the latest load counts.
        const number = ++asked;
        const begun = serverNow();
        try {
            const data = await load({ limit: LIMIT });
            if (number === asked && !signal.aborted) {
                answered = begun;
                show(data);
                fail(null);
            }
        } catch (failure) {
            if (number === asked && !signal.aborted) {
                fail(failure);
            }
            if (failure.status === 401) {
                // The person declined to sign in.
                return;
            }
        }
        if (number === asked) {
            later();
        }
    };
    const look = () => (document.visibilityState === "visible" ? refresh() : clearTimeout(timer));
    document.addEventListener("visibilitychange", look, { signal });
    signal.addEventListener("abort", () => clearTimeout(timer));
    refresh();
    return { refresh };
}

function explainStale(failure, answered) {
    const said = explain(failure);
    if (answered !== null) {
        said.append(element("p", {}, t("console.as-of", { time: timeOfDay(answered) })));
    }
    return said;
}
