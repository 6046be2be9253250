//! The search page in a browser, and the clock in it.

use std::time::Duration;

use fantoccini::{
    Locator,
    actions::{InputSource, KeyAction, KeyActions},
    key::Key,
};
use serde::Deserialize;

use crate::{browser::Browser, site::Site};

/// After so long nothing comes any more.
const PATIENCE: Duration = Duration::from_secs(30);

/// Notes when the last key went down, when the page then asked, when the first event of the answer was there, and when the frame
/// that shows the first result was painted: in the frame after the result came, behind everything that the frame itself does.
const CLOCK: &str = r#"
    const clock = window.__clock = {
        // What was found for the question before stays for a while, and is no result.
        shown: () => [...document.querySelectorAll("li.row .open")].some((row) => row.checkVisibility() && !row.closest(".old")),
    };
    addEventListener("keydown", (event) => {
        if ([...event.key].length === 1) {
            clock.press = { pressed: event.timeStamp };
        }
    }, { capture: true });
    const plain = window.fetch;
    window.fetch = (...wanted) => {
        const press = clock.press;
        const answer = plain(...wanted);
        if (press && !press.asked && String(wanted[0]?.url ?? wanted[0]).includes("contents/search")) {
            press.asked = performance.now();
            answer.then(() => {
                press.answered = performance.now();
            }, () => {});
        }
        return answer;
    };
    new MutationObserver(() => {
        const press = clock.press;
        if (!press?.answered || press.seen || !clock.shown()) {
            return;
        }
        press.seen = true;
        requestAnimationFrame(() => {
            const behind = new MessageChannel();
            behind.port1.onmessage = () => {
                press.painted = performance.now();
            };
            behind.port2.postMessage(null);
        });
    }).observe(document.body, { attributes: true, characterData: true, childList: true, subtree: true });
"#;

/// What came of the last press: its times, or that nothing was found; null as long as nothing came.
const OUTCOME: &str = r#"
    const { press } = window.__clock;
    if (press?.painted) {
        return press;
    }
    const isEmpty = [...document.querySelectorAll(".empty")].some((element) => element.checkVisibility());
    return press?.answered && isEmpty ? "nothing" : null;
"#;

/// Where one types.
const BOX: &str = "#box";

/// One press of the last key of a word, milliseconds of the page's own clock.
#[derive(Debug, Deserialize)]
pub(crate) struct Press {
    pub(crate) pressed: f64,
    pub(crate) asked: f64,
    pub(crate) answered: f64,
    pub(crate) painted: f64,
}

/// The page, signed in.
pub(crate) struct Page {
    browser: Browser,
}

impl Page {
    /// Signs in and opens it.
    pub(crate) async fn open(site: &Site) -> Self {
        let browser = Browser::start().await;
        let client = &browser.client;
        client.goto(&format!("http://{}/session/start?to=/", site.server.address)).await.unwrap();
        for (field, text) in [("login", &site.login), ("password", &site.password)] {
            client.find(Locator::Id(field)).await.unwrap().send_keys(text).await.unwrap();
        }
        client.find(Locator::Css("button[type=submit]")).await.unwrap().click().await.unwrap();
        client.wait().at_most(PATIENCE).for_element(Locator::Css(BOX)).await.unwrap();
        client.execute(CLOCK, Vec::new()).await.unwrap();
        Self { browser }
    }

    /// Empties the box and types a word into it; what then happened, where something was found.
    pub(crate) async fn type_word(&self, word: &str) -> Option<Press> {
        self.press(&[Key::Escape.into()]).await;
        self.until("return window.__clock.shown() ? null : true").await;
        self.press(&word.chars().collect::<Vec<char>>()).await;
        let press = self.until(OUTCOME).await;
        press.is_object().then(|| serde_json::from_value(press).unwrap())
    }

    async fn press(&self, keys: &[char]) {
        let mut actions = KeyActions::new("keyboard".to_owned());
        for value in keys.iter().copied() {
            actions = actions.then(KeyAction::Down { value }).then(KeyAction::Up { value });
        }
        self.browser.client.perform_actions(actions).await.unwrap();
    }

    /// Waits until a script in the page gives something.
    async fn until(&self, script: &str) -> serde_json::Value {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let found = self.browser.client.execute(script, Vec::new()).await.unwrap();
            if !found.is_null() {
                return found;
            }
            assert!(tokio::time::Instant::now() < deadline, "nothing came of {script}");
            // A look takes time of the page's own.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Ends the browser.
    pub(crate) async fn close(self) {
        self.browser.close().await;
    }
}
