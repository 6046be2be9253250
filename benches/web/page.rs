//! The search page in a browser, with a clock in it.

use std::time::Duration;

use serde::Deserialize;

use crate::{browser::Browser, site::Site, webdriver::Key};

const TIMEOUT: Duration = Duration::from_secs(30);

/// Suggestions may be none, and may come after the first result.
const SETTLED_AFTER: Duration = Duration::from_millis(300);

/// Records the last key and its outcomes.
///
/// Each goal has the times of its request, its first answer and its painted outcome.
///
/// Painted is the task after the frame: layout and paint are done then.
const CLOCK: &str = r#"
    const visible = (selector) => [...document.querySelectorAll(selector)].some((one) => one.checkVisibility());
    const goals = {
        // Results of the previous search do not count.
        results: { call: "contents/search", shown: () => visible(".overview section:not(.old) li.row .open") },
        suggestions: { call: "contents/suggest", shown: () => visible(".suggestions .suggestion") },
        item: { call: "v1/contents/", shown: () => visible(".look .look-facts") },
    };
    const clock = window.__clock = { shown: goals.results.shown };
    addEventListener("keydown", (event) => {
        if ([...event.key].length === 1) {
            clock.press = { pressed: event.timeStamp, results: null, suggestions: null, item: null };
        }
    }, { capture: true });
    const plain = window.fetch;
    window.fetch = (...wanted) => {
        const press = clock.press;
        const answer = plain(...wanted);
        const address = String(wanted[0]?.url ?? wanted[0]);
        for (const [name, { call }] of Object.entries(goals)) {
            if (press && !press[name] && address.includes(call)) {
                const goal = press[name] = { asked: performance.now(), answered: null, painted: null };
                answer.then(() => {
                    goal.answered = performance.now();
                }, () => {});
            }
        }
        return answer;
    };
    new MutationObserver(() => {
        for (const [name, { shown }] of Object.entries(goals)) {
            const goal = clock.press?.[name];
            if (!goal?.answered || goal.isSeen || !shown()) {
                continue;
            }
            goal.isSeen = true;
            requestAnimationFrame(() => {
                const behind = new MessageChannel();
                behind.port1.onmessage = () => {
                    goal.painted = performance.now();
                };
                behind.port2.postMessage(null);
            });
        }
    }).observe(document.body, { attributes: true, characterData: true, childList: true, subtree: true });
"#;

/// The last press: its times, "nothing" without results, null while pending.
const OUTCOME: &str = r#"
    const { press } = window.__clock;
    if (press?.results?.painted) {
        return press;
    }
    const isEmpty = [...document.querySelectorAll(".empty")].some((element) => element.checkVisibility());
    return press?.results?.answered && isEmpty ? "nothing" : null;
"#;

/// The page as it was loaded into an empty cache.
const LOAD: &str = r#"
    const [page] = performance.getEntriesByType("navigation");
    const [paint] = performance.getEntriesByName("first-contentful-paint");
    const loaded = [page, ...performance.getEntriesByType("resource")];
    const bytes = loaded.reduce((sum, { transferSize }) => sum + transferSize, 0);
    // The time starts after the redirects of the sign-in.
    return paint ? { painted: paint.startTime - page.fetchStart, requests: loaded.length, bytes } : null;
"#;

const BOX: &str = "#box";

/// Times in milliseconds of the page's clock.
#[derive(Debug, Deserialize)]
pub(crate) struct Press {
    pub(crate) pressed: f64,
    pub(crate) results: Option<Goal>,
    pub(crate) suggestions: Option<Goal>,
    pub(crate) item: Option<Goal>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Goal {
    pub(crate) asked: f64,
    pub(crate) answered: Option<f64>,
    /// Absent where there was nothing to show.
    pub(crate) painted: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Load {
    /// Milliseconds from the request to the first text.
    pub(crate) painted: f64,
    pub(crate) requests: usize,
    /// Bytes as transferred, until the page is opened.
    pub(crate) bytes: usize,
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
            client.find(&format!("#{field}")).await.unwrap().send_keys(text).await.unwrap();
        }
        client.find("button[type=submit]").await.unwrap().click().await.unwrap();
        client.find(BOX).await.unwrap();
        let page = Self { browser };
        page.until("return document.querySelector('main[aria-busy]') ? null : true").await;
        page
    }

    pub(crate) async fn load(&self) -> Load {
        serde_json::from_value(self.until(LOAD).await).unwrap()
    }

    pub(crate) async fn start_clock(&self) {
        self.browser.client.execute(CLOCK, Vec::new()).await.unwrap();
    }

    /// Returns its times if something was found.
    pub(crate) async fn type_word(&self, word: &str) -> Option<Press> {
        self.press(&[Key::Escape.into()]).await;
        self.until("return window.__clock.shown() ? null : true").await;
        self.press(&word.chars().collect::<Vec<char>>()).await;
        if !self.until(OUTCOME).await.is_object() {
            return None;
        }
        tokio::time::sleep(SETTLED_AFTER).await;
        Some(serde_json::from_value(self.until("return window.__clock.press").await).unwrap())
    }

    /// Opens the first result beside the list by its key, and closes it.
    pub(crate) async fn look(&self) -> Press {
        self.press(&[Key::Down.into(), ' ']).await;
        let press =
            self.until("const { press } = window.__clock; return press.item?.painted ? press : null").await;
        self.press(&[Key::Escape.into()]).await;
        self.until("return document.querySelector('.look').hidden ? true : null").await;
        self.browser.client.execute("document.querySelector('#box').focus()", Vec::new()).await.unwrap();
        serde_json::from_value(press).unwrap()
    }

    async fn press(&self, keys: &[char]) {
        self.browser.client.press(keys.iter().copied()).await.unwrap();
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
