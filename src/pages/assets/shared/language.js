import common from "../texts/common.js";

/** Bidi controls: values must not change the direction of the sentence around them. */
const BIDI_CONTROLS = /[\u202a-\u202e\u2066-\u2069]/g;

const PLACES = { "en": 0, "zh-Hans": 1 };

/**
 * The first supported language; English by default.
 *
 * @param {readonly string[]} wanted such as `navigator.languages`
 * @returns {"en" | "zh-Hans"}
 */
export function chooseLanguage(wanted) {
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

export const language = chooseLanguage(navigator.languages ?? [navigator.language]);
document.documentElement.lang = language;

const plurals = new Intl.PluralRules(language);
const numbers = new Intl.NumberFormat(language);
const texts = new Map(Object.entries(common));

/** Adds texts: pairs of English and Chinese by key. */
export function addTexts(own) {
    for (const [key, pair] of Object.entries(own)) {
        texts.set(key, pair);
    }
}

/**
 * The text of a key with its `{name}` placeholders filled. `count` selects the form of a text `singular|plural`.
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
        return typeof value === "number" ? numbers.format(value) : String(value ?? "").replace(BIDI_CONTROLS, "");
    });
}

export function number(value) {
    return numbers.format(value);
}
