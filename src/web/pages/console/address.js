// Where in the console one is, as the address says it: each view can be kept, shared and reloaded.

/** The views, in the order of the navigation. */
export const VIEWS = ["overview", "sources", "modules", "searches", "applications", "tenants", "keys", "audit"];

/** Views that are reached from others: which of the navigation they belong to. */
const WITHIN = { "add-source": "sources", "signed-in": "overview" };

/**
 * Where an address leads: its parameters by name. An unknown view is the overview.
 *
 * @param {string} search such as `location.search`
 * @returns {{view: string, tenant?: string, id?: string, step?: string}}
 */
export function readPlace(search) {
    const place = Object.fromEntries(new URLSearchParams(search));
    // Why a sign-in failed concerns the arrival, and no place.
    delete place.signin;
    if (!VIEWS.includes(place.view) && !Object.hasOwn(WITHIN, place.view)) {
        place.view = VIEWS[0];
    }
    return place;
}

/**
 * The address of a place, relative to the page.
 *
 * @param {Record<string, string | null | undefined>} place
 */
export function writePlace(place) {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(place)) {
        if (value !== null && value !== undefined && value !== "") {
            parameters.set(name, value);
        }
    }
    return `?${parameters}`;
}

/** The view of the navigation that a view belongs to. */
export function sectionOf(view) {
    return WITHIN[view] ?? view;
}
