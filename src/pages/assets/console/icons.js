// Icons are decoration: text beside them says the same.

const SVG = "http://www.w3.org/2000/svg";

/** The path of each icon, in a square of 24. */
const LINES = {
    ok: "M20 6 9 17l-5-5",
    fail: "M18 6 6 18M6 6l12 12",
    warning: "M12 4 2.5 20h19zM12 10v4M12 17.2v.1",
    unknown: "M9 9a3 3 0 1 1 4 2.8c-.7.3-1 .8-1 1.7v.5M12 17.5v.1M12 2.5a9.5 9.5 0 1 0 0 19 9.5 9.5 0 0 0 0-19",
    paused: "M12 2.5a9.5 9.5 0 1 0 0 19 9.5 9.5 0 0 0 0-19M9.7 8.5v7M14.3 8.5v7",
    off: "M12 2.5a9.5 9.5 0 1 0 0 19 9.5 9.5 0 0 0 0-19M5.5 5.5l13 13",
    slow: "M12 2.5a9.5 9.5 0 1 0 0 19 9.5 9.5 0 0 0 0-19M12 7v5l3.5 2",
    frozen: "M12 2v20M3.3 7l17.4 10M20.7 7 3.3 17M9.5 3.5 12 6l2.5-2.5M9.5 20.5 12 18l2.5 2.5",
    up: "M12 19V5M6 11l6-6 6 6",
    down: "M12 5v14M6 13l6 6 6-6",
    add: "M12 5v14M5 12h14",
    remove: "M18 6 6 18M6 6l12 12",
    copy: "M9 9h11v11H9zM5 15H4V4h11v1",
    back: "M19 12H5M11 6l-6 6 6 6",
    menu: "M4 7h16M4 12h16M4 17h16",
    overview: "M4 13h5v7H4zM10 4h5v16h-5zM16 9h5v11h-5z",
    sources: "M4 5h16v5H4zM4 14h16v5H4zM8 7.5v.1M8 16.5v.1",
    subscriptions: "M5 18.5v.1M5 11.5a7.5 7.5 0 0 1 7.5 7.5M5 5a14 14 0 0 1 14 14",
    modules: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
    contents: "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6",
    vocabulary: "M5 4h6a2 2 0 0 1 1 2 2 2 0 0 1 1-2h6v15h-6a2 2 0 0 0-1 1 2 2 0 0 0-1-1H5zM12 6v14",
    insights: "M2.5 12c2-4.5 5.5-7 9.5-7s7.5 2.5 9.5 7c-2 4.5-5.5 7-9.5 7s-7.5-2.5-9.5-7M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6",
    searches: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13M15.5 15.5 20.5 20.5",
    figures: "M4 4v16h16M7 15l4-5 3 3 6-7",
    try: "M5 4l14 8-14 8z",
    applications: "M4 5h16v14H4zM4 9h16M7 7v.1M9.5 7v.1",
    tenants: "M5 21V4h9v17M14 9h5v12M8 8h3M8 12h3M8 16h3M3 21h18",
    keys: "M15 3a6 6 0 1 1-4 10.5L4 20.5H3.5V17l6-6A6 6 0 0 1 15 3M16.5 7.5v.1",
    audit: "M6 3h12v18H6zM9 8h6M9 12h6M9 16h4",
    settings: "M4 7h9M17 7h3M15 4.5v5M4 17h3M11 17h9M9 14.5v5",
    people: "M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8M4 21c.5-4 3.5-6.5 8-6.5s7.5 2.5 8 6.5",
};

/** @param {keyof typeof LINES} name */
export function icon(name) {
    const drawing = document.createElementNS(SVG, "svg");
    for (const [key, value] of [["viewBox", "0 0 24 24"], ["class", `icon icon-${name}`], ["aria-hidden", "true"]]) {
        drawing.setAttribute(key, value);
    }
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", LINES[name]);
    drawing.append(path);
    return drawing;
}
