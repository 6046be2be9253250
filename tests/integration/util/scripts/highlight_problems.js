(module, given) => {
    const problems = [];
    for (const html of given) {
        const made = document.createElement("p");
        made.append(...module.nodes(module.pieces(html)));
        const elements = [...made.querySelectorAll("*")];
        const isOdd = elements.some(({ localName, attributes }) => localName !== "mark" || attributes.length);
        const expected = html.replaceAll("<em>", "").replaceAll("</em>", "").replaceAll("&lt;", "<");
        if (isOdd || made.textContent !== expected) {
            problems.push([html, made.textContent, expected]);
        }
    }
    return problems;
}
