// Shows what changes by itself: asked for again every few seconds while it is looked at, and never in a hidden tab.

import { serverNow } from "../shared/api.js";
import { element } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { timeOfDay } from "./amounts.js";
import { explain } from "./failure.js";
import { bringUpToDate } from "./morph.js";

/** A server that takes longer than this, in milliseconds, does not answer. */
const LIMIT = 10_000;

/**
 * Loads and shows, now and then again. A load that fails leaves what is shown, and says so, and of when that is.
 *
 * @param {object} options
 * @param {(options: {limit: number}) => Promise<any>} options.load hands on how long each call may take
 * @param {(data: any) => void} options.show
 * @param {Element} options.failed where failures are said
 * @param {AbortSignal} options.signal ends it
 * @param {number} [options.every] milliseconds
 * @returns {{refresh: () => Promise<void>}}
 */
export function keepLive({ load, show, failed, signal, every = 4_000 }) {
    let timer = 0;
    let asked = 0;
    let answered = null;
    const later = () => {
        clearTimeout(timer);
        if (!signal.aborted && document.visibilityState === "visible") {
            timer = setTimeout(refresh, every);
        }
    };
    // In place: said again as it was, it is not read out again.
    const fail = (failure) => bringUpToDate(failed, ...(failure ? [explainStale(failure, answered)] : []));
    const refresh = async () => {
        clearTimeout(timer);
        // Of two that are under way only the later one counts.
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
                // Who did not want to sign in again is not asked every few seconds.
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
