// Which language the page speaks, and how it says things in it.

import common from "../texts/common.js";

/** Characters that turn the direction of what follows: in a sentence, what others wrote has none. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;

/** The place of each language in the pairs of `texts/`. */
const PLACES = { "en": 0, "zh-Hans": 1 };

/**
 * The first language of the browser's that the page speaks; English where it speaks none of them.
 *
 * @param {readonly string[]} wanted such as `navigator.languages`
 * @returns {"en" | "zh-Hans"}
 */
export function choose(wanted) {
    for (const tag of wanted) {
        const language = tag.toLowerCase().split("-")[0];
        if (language === "zh") {
            return "zh-Hans";
        }
        if (language === "en") {
            return "en";
        }
    }
    return "en";
}

/** The language of this page. */
export const language = choose(navigator.languages ?? [navigator.language]);
document.documentElement.lang = language;

const plurals = new Intl.PluralRules(language);
const numbers = new Intl.NumberFormat(language);
const texts = new Map(Object.entries(common));

/** Adds a page's own texts: pairs of English and Chinese by key. */
export function speak(own) {
    for (const [key, pair] of Object.entries(own)) {
        texts.set(key, pair);
    }
}

/**
 * The text of this key, with `{name}` replaced by the value of that name. A text may have two forms, for one and for others,
 * with `|` between them: `count` chooses.
 *
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 */
export function t(key, values = {}) {
    const pair = texts.get(key);
    if (!pair) {
        throw new Error(`no text ${key}`);
    }
    let text = pair[PLACES[language]];
    const forms = text.split("|");
    if (forms.length > 1) {
        text = forms[plurals.select(values.count) === "one" ? 0 : 1];
    }
    return text.replace(/\{(\w+)\}/g, (_, name) => {
        const value = values[name];
        return typeof value === "number" ? numbers.format(value) : String(value ?? "").replace(TURNING, "");
    });
}

/** A number as people of this language write it. */
export function number(value) {
    return numbers.format(value);
}
