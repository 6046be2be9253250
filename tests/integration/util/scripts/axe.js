const MOST = 3;
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ["violations"], rules: { "target-size": { enabled: true } } }).then(
    ({ violations }) => done(violations.flatMap(({ id, help, nodes }) => nodes.slice(0, MOST).map(({ target, failureSummary }) =>
        `${id}: ${help} (${nodes.length} times)\n    at ${target.join(" ")}\n    ${failureSummary.replaceAll("\n", "\n    ")}`))),
    (error) => done([`axe-core failed: ${error}`]),
);
