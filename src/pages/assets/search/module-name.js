// Names of modules.

import { t } from "../shared/language.js";

/** A module's display name; default names are translated. */
export function nameOf(module) {
    return module.name === DEFAULTS[module.type] ? t(`module.${module.type}`) : module.name || module.code;
}

/** Default module names by type. */
const DEFAULTS = {
    1: "Articles", 2: "News", 3: "To-do", 4: "Done", 5: "Feeds", 6: "People", 7: "Departments", 8: "Groups", 9: "Files",
    10: "Favorites", 11: "Messages",
};
