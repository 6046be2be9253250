// Addresses of views.

/** In the order of the navigation. */
export const VIEWS = [
    "overview", "sources", "subscriptions", "modules", "contents", "insights", "vocabulary", "try", "figures", "searches", "people", "applications", "tenants", "keys",
    "audit", "settings",
];

/** Views outside the navigation, with the section that they belong to. */
const WITHIN = { "add-source": "sources", "signed-in": "overview" };

/**
 * Reads a place from an address; without a view it is the overview.
 *
 * @param {string} search such as `location.search`
 * @returns {{view: string, tenant?: string, id?: string, step?: string}}
 */
export function readPlace(search) {
    const place = Object.fromEntries(new URLSearchParams(search));
    // Belongs to the arrival, not to the place.
    delete place.signin;
    place.view ||= VIEWS[0];
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

/** Whether the console has this view. */
export function isView(view) {
    return VIEWS.includes(view) || Object.hasOwn(WITHIN, view);
}

export function sectionOf(view) {
    return Object.hasOwn(WITHIN, view) ? WITHIN[view] : view;
}
