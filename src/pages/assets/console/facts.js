import { element } from "../shared/dom.js";

/**
 * Names with their values.
 *
 * @param {[string, any][]} facts
 */
export function factList(facts) {
    return element("dl", { "data-key": "facts", class: "facts" }, ...facts.map(([name, value]) => element(
        "div", { "data-key": name }, element("dt", {}, name), element("dd", {}, value),
    )));
}
