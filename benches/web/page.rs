//! The search page in a browser, with a clock in it.

use std::time::Duration;

use fantoccini::{
    Locator,
    actions::{InputSource, KeyAction, KeyActions},
    key::Key,
};
use serde::Deserialize;

use crate::{browser::Browser, site::Site};

const TIMEOUT: Duration = Duration::from_secs(30);

/// Records the last key, the request, its first event, and the painted result.
///
/// Painted is the task after the frame: layout and paint are done then.
const CLOCK: &str = r#"
    const clock = window.__clock = {
        // Results of the previous search do not count.
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

/// The last press: its times, "nothing" if nothing was found, null while pending.
const OUTCOME: &str = r#"
    const { press } = window.__clock;
    if (press?.painted) {
        return press;
    }
    const isEmpty = [...document.querySelectorAll(".empty")].some((element) => element.checkVisibility());
    return press?.answered && isEmpty ? "nothing" : null;
"#;

const BOX: &str = "#box";

/// In milliseconds of the page's clock.
#[derive(Debug, Deserialize)]
pub(crate) struct Press {
    pub(crate) pressed: f64,
    pub(crate) asked: f64,
    pub(crate) answered: f64,
    pub(crate) painted: f64,
}

pub(crate) struct Page {
    browser: Browser,
}

impl Page {
    pub(crate) async fn open(site: &Site) -> Self {
        let browser = Browser::start().await;
        let client = &browser.client;
        client.goto(&format!("http://{}/session/start?to=/", site.server.address)).await.unwrap();
        for (field, text) in [("login", &site.login), ("password", &site.password)] {
            client.find(Locator::Id(field)).await.unwrap().send_keys(text).await.unwrap();
        }
        client.find(Locator::Css("button[type=submit]")).await.unwrap().click().await.unwrap();
        client.wait().at_most(TIMEOUT).for_element(Locator::Css(BOX)).await.unwrap();
        client.execute(CLOCK, Vec::new()).await.unwrap();
        Self { browser }
    }

    /// Returns its times if something was found.
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

    async fn until(&self, script: &str) -> serde_json::Value {
        let deadline = tokio::time::Instant::now() + TIMEOUT;
        loop {
            let found = self.browser.client.execute(script, Vec::new()).await.unwrap();
            if !found.is_null() {
                return found;
            }
            assert!(tokio::time::Instant::now() < deadline, "nothing came of {script}");
            // Each look costs the page time.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) async fn close(self) {
        self.browser.close().await;
    }
}
