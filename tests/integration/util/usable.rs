//! Whether everybody can use a page: what axe-core finds, whether all of it fits a narrow window, whether a keyboard is enough.

use std::{fs, path::Path};

use fantoccini::{
    actions::{InputSource, KeyAction, KeyActions},
    key::Key,
};
use serde_json::Value;

use super::browser::Browser;

const AXE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/axe/node_modules/axe-core/axe.min.js");

/// Runs every rule that axe-core has switched on, and the one on the size of what is pressed; names the first elements that break
/// each.
const JUDGE: &str = r#"
    const MOST = 3;
    const done = arguments[arguments.length - 1];
    axe.run(document, { resultTypes: ["violations"], rules: { "target-size": { enabled: true } } }).then(
        ({ violations }) => done(violations.flatMap(({ id, help, nodes }) => nodes.slice(0, MOST).map(({ target, failureSummary }) =>
            `${id}: ${help} (${nodes.length} times)\n    at ${target.join(" ")}\n    ${failureSummary.replaceAll("\n", "\n    ")}`))),
        (error) => done([`axe-core failed: ${error}`]),
    );
"#;

/// What is wider than the window, the innermost elements only. What scrolls by itself may be.
const TOO_WIDE: &str = r#"
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) {
        return [];
    }
    const scrolls = (element) => element !== document.documentElement && element !== document.body
        && getComputedStyle(element).overflowX !== "visible";
    const isHeld = (element) => {
        for (let at = element.parentElement; at; at = at.parentElement) {
            if (scrolls(at)) {
                return true;
            }
        }
        return false;
    };
    const wide = [...document.body.querySelectorAll("*")].filter((element) =>
        element.getBoundingClientRect().right > width + 0.5 && !isHeld(element));
    const innermost = wide.filter((element) => !wide.some((other) => other !== element && element.contains(other)));
    return [`the page is ${document.documentElement.scrollWidth} wide in a window of ${width}`].concat(
        innermost.slice(0, 5).map((element) => element.outerHTML.slice(0, 160)));
"#;

/// Notes everything that can be reached by Tab, and what is then reached.
const LISTEN: &str = r#"
    const dialog = [...document.querySelectorAll("dialog[open]")].find((dialog) => dialog.matches(":modal"));
    const controls = "a[href], button, input, select, textarea, summary, [tabindex], [contenteditable]";
    const isChosen = (element) => element.type !== "radio" || element.checked
        || !document.querySelector(`input[type=radio][name="${CSS.escape(element.name)}"]:checked`);
    const wanted = [...(dialog ?? document).querySelectorAll(controls)].filter((element) =>
        element.tabIndex >= 0 && !element.disabled && !element.closest("[inert]") && isChosen(element)
        && element.checkVisibility({ visibilityProperty: true }));
    const reached = new Map();
    document.activeElement?.blur();
    window.__keyboard?.abort();
    window.__keyboard = new AbortController();
    document.addEventListener("focusin", ({ target }) => {
        const isMarked = (element, part) => {
            const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element, part);
            return (outlineStyle !== "none" && outlineWidth !== "0px") || boxShadow !== "none";
        };
        // Where a whole row opens, it is the row that is marked.
        const around = [target, target.parentElement, target.closest("li")].filter(Boolean);
        reached.set(target, around.some((element) => [null, "::before", "::after"].some((part) => isMarked(element, part))));
    }, { signal: window.__keyboard.signal });
    window.__reached = () => {
        const shown = (element) => element.outerHTML.slice(0, 160);
        return [
            ...wanted.filter((element) => element.isConnected && !reached.has(element)).map((element) =>
                `Tab does not reach ${shown(element)}`),
            ...[...reached].filter(([, visible]) => !visible).map(([element]) => `focus is not seen on ${shown(element)}`),
        ];
    };
    // Within a date, day, month, year and calendar are stops of their own.
    return wanted.reduce((sum, { type }) => sum + (type === "date" ? 4 : 1), 0);
"#;

/// The most that is walked through by Tab; a view shows fewer, but for the rows of long lists.
const MOST_STOPS: usize = 150;

/// Stops between the last of a page and its first.
const STOPS_OUTSIDE: usize = 3;

/// How often one goes around, from where one is: rows that were fetched, and lists that scroll, are stops that were not counted.
const ROUNDS: usize = 2;

impl Browser {
    /// What axe-core finds wrong with the page: rule, element and how to mend it.
    pub(crate) async fn violations(&self) -> Vec<String> {
        assert!(
            Path::new(AXE).exists(),
            "axe-core is not installed: run `npm ci --prefix tests/axe`, or ./tests/run, which does so"
        );
        if self.ask("return typeof axe === 'undefined'").await == true {
            self.ask(&fs::read_to_string(AXE).unwrap()).await;
        }
        texts(&self.client.execute_async(JUDGE, Vec::new()).await.unwrap())
    }

    /// What does not fit the width of the window.
    pub(crate) async fn too_wide(&self) -> Vec<String> {
        texts(&self.ask(TOO_WIDE).await)
    }

    /// What a keyboard alone does not reach, and where one does not see that it did.
    pub(crate) async fn out_of_reach(&self) -> Vec<String> {
        let stops = self.ask(LISTEN).await.as_u64().unwrap();
        let stops = usize::try_from(stops).unwrap();
        assert!(stops <= MOST_STOPS, "{stops} stops are more than this walks through");
        let mut missed = Vec::new();
        for _ in 0..ROUNDS {
            self.press_tab(stops + STOPS_OUTSIDE).await;
            missed = texts(&self.ask("return window.__reached()").await);
            if missed.is_empty() {
                break;
            }
        }
        missed
    }

    async fn press_tab(&self, times: usize) {
        let value = char::from(Key::Tab);
        let keys = (0..times).fold(KeyActions::new("keyboard".to_owned()), |keys, _| {
            keys.then(KeyAction::Down { value }).then(KeyAction::Up { value })
        });
        self.client.perform_actions(keys).await.unwrap();
    }
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}
