const MOST = 3;
const done = arguments[arguments.length - 1];
// A link that a sticky head covers in part counts as too small, though people scroll.
const sticky = [...document.querySelectorAll("*")].filter((element) => getComputedStyle(element).position === "sticky");
sticky.forEach(({ style }) => style.setProperty("position", "static"));
axe.run(document, { resultTypes: ["violations"], rules: { "target-size": { enabled: true } } }).then(
    ({ violations }) => violations.flatMap(({ id, help, nodes }) => nodes.slice(0, MOST).map(({ target, failureSummary }) =>
        `${id}: ${help} (${nodes.length} times)\n    at ${target.join(" ")}\n    ${failureSummary.replaceAll("\n", "\n    ")}`)),
    (error) => [`axe-core failed: ${error}`],
).then((found) => {
    sticky.forEach(({ style }) => style.removeProperty("position"));
    done(found);
});
