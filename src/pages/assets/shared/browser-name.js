/** Parts of `User-Agent`, the more particular ones first: many browsers also name those that they are like. */
const BROWSERS = [["Edg", "Edge"], ["OPR", "Opera"], ["SamsungBrowser", "Samsung Internet"], ["Firefox", "Firefox"], ["FxiOS", "Firefox"], ["CriOS", "Chrome"],
    ["Chrome", "Chrome"], ["Safari", "Safari"]];
const SYSTEMS = [["Windows", "Windows"], ["Android", "Android"], ["iPhone", "iOS"], ["iPad", "iPadOS"], ["Macintosh", "macOS"], ["CrOS", "ChromeOS"],
    ["Linux", "Linux"]];

/**
 * Names browser and system of a `User-Agent`, such as "Firefox, Linux"; others as they are.
 *
 * @param {string | null} userAgent
 */
export function browserName(userAgent) {
    const text = userAgent ?? "";
    const name = (known) => known.find(([part]) => text.includes(part))?.[1];
    return [name(BROWSERS), name(SYSTEMS)].filter(Boolean).join(", ") || text;
}
