// A vocabulary as lines of text, and back. `|` stands between terms, `=>` before what a term leads to.

const ARROW = "=>";

const termsOf = (text) => text.split("|").map((term) => term.trim()).filter(Boolean);

function sidesOf(line) {
    const place = line.indexOf(ARROW);
    return place < 0 ? [line, ""] : [line.slice(0, place).trim(), line.slice(place + ARROW.length).trim()];
}

/** Lines with their numbers, without blank ones. */
function numbered(text) {
    return (text ?? "").split("\n").map((line, place) => ({ line: line.trim(), number: place + 1 })).filter(({ line }) => line);
}

/** Of a part with an entry for each line. */
function eachLine(write, read) {
    return {
        write: (entries) => entries.map(write).join("\n"),
        read(text) {
            const lines = numbered(text);
            return { entries: lines.map(({ line }) => read(line)), lineOf: (entry) => lines[entry]?.number };
        },
    };
}

/** A line for each item, whose keyword may stand in several. */
const PINNED = {
    write: (entries) => entries.flatMap(({ keyword, items }) => items.map(({ module, id }) => `${keyword} ${ARROW} ${module}/${id}`)).join("\n"),
    read(text) {
        const found = new Map();
        for (const { line, number } of numbered(text)) {
            const [keyword, item] = sidesOf(line);
            const [module, ...id] = item.split("/");
            const entry = found.get(keyword) ?? { items: [], numbers: [] };
            entry.items.push({ module, id: id.join("/") });
            entry.numbers.push(number);
            found.set(keyword, entry);
        }
        const numbers = [...found.values()].map((entry) => entry.numbers);
        return {
            entries: [...found].map(([keyword, { items }]) => ({ keyword, items })),
            lineOf: (entry, item = 0) => numbers[entry]?.[item],
        };
    },
};

/** The parts of a vocabulary by their names, each with `write(entries)` and `read(text)`. */
export const PARTS = {
    synonyms: eachLine((terms) => terms.join(" | "), termsOf),
    oneWay: eachLine(({ from, to }) => `${from} ${ARROW} ${to.join(" | ")}`, (line) => {
        const [from, to] = sidesOf(line);
        return { from, to: termsOf(to) };
    }),
    neverCorrect: eachLine((word) => word, (line) => line),
    pinned: PINNED,
};

/** The beginning of a line for a word. */
export function beginLine(name, word) {
    return `${word} ${name === "synonyms" ? "|" : ARROW} `;
}

/** Whether the entries of a part survive as lines: no term holds a `|`, for example. */
export function canBeLines(name, entries) {
    const { write, read } = PARTS[name];
    return JSON.stringify(read(write(entries)).entries) === JSON.stringify(entries);
}

/**
 * Names the line in place of the entry: `synonyms[3][1]: …` becomes `synonyms: line 4: …`.
 *
 * @param {string} message of the server
 * @param {Record<string, string>} texts by part
 */
export function withLine(message, texts) {
    const [, name, entry, item, reason] = /^(\w+)\[(\d+)\](?:\.items\[(\d+)\])?[^:]*: (.+)$/s.exec(message) ?? [];
    const line = PARTS[name]?.read(texts[name]).lineOf(Number(entry), Number(item ?? 0));
    return line ? `${name}: line ${line}: ${reason}` : message;
}
