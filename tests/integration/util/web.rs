//! A page of the server in a browser, used as a person does: by keys and clicks, and by what there is to see.

use std::{
    env, fs,
    path::{Path, PathBuf},
    time::Duration,
};

use axum::http::Method;
use base64::{Engine, prelude::BASE64_STANDARD};
use fantoccini::{
    Locator,
    actions::{InputSource, KeyAction, KeyActions},
    elements::Element,
    key::Key,
    wd::WebDriverCompatibleCommand,
};
use serde_json::{Value, json};
use url::{ParseError, Url};

use super::{PATIENCE, app::TestApp, browser::Browser, session::WebSession};

/// What no page does: waited for to see that nothing happens, by frames and not by the clock.
const FRAMES: &str = "const done = arguments[arguments.length - 1]; \
    requestAnimationFrame(() => requestAnimationFrame(() => done(true)));";

/// Widths and heights of a phone, a tablet and a desk.
pub(crate) const SIZES: [(u32, u32); 3] = [(320, 640), (768, 1024), (1440, 900)];

/// A browser at a page.
pub(crate) struct Page {
    pub(crate) browser: Browser,
    pub(crate) base: String,
}

/// What the browser has been told of its pages since it was asked last; beside the standard's commands.
#[derive(Debug)]
struct TakeLog;

impl WebDriverCompatibleCommand for TakeLog {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/se/log", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(json!({"type": "browser"}).to_string()))
    }
}

impl Page {
    /// Opens a page in a browser of its own, as whoever holds this session.
    pub(crate) async fn open(session: &WebSession, path: &str) -> Self {
        Self::open_in(session, path, "en-US").await
    }

    /// The same, in the browser of somebody who reads this language.
    pub(crate) async fn open_in(session: &WebSession, path: &str, language: &str) -> Self {
        let browser = Browser::start_in(language).await;
        browser.hold(session).await;
        let page = Self { browser, base: session.base.clone() };
        page.go(path).await;
        page
    }

    /// Opens a page in a browser that holds no session.
    pub(crate) async fn open_as_nobody(app: &TestApp, path: &str) -> Self {
        let page = Self { browser: Browser::start().await, base: app.base.clone() };
        page.go(path).await;
        page
    }

    /// Goes to an address of the server.
    pub(crate) async fn go(&self, path: &str) {
        self.browser.client.goto(&format!("{}{path}", self.base)).await.unwrap();
    }

    /// What a script answers: a function's body.
    pub(crate) async fn run(&self, script: &str, arguments: &[Value]) -> Value {
        self.browser.client.execute(script, arguments.to_vec()).await.unwrap_or_else(|error| {
            panic!("{script}: {error}");
        })
    }

    /// The same of a script that answers later, by calling its last argument.
    pub(crate) async fn run_later(&self, script: &str, arguments: &[Value]) -> Value {
        self.browser.client.execute_async(script, arguments.to_vec()).await.unwrap()
    }

    /// Waits until an expression of the page's is truthy, and answers it.
    pub(crate) async fn until(&self, expression: &str) -> Value {
        // Looked at within the page, at each change of it and each frame.
        let script = format!(
            "const done = arguments[arguments.length - 1]; const look = () => {{ \
                let seen; try {{ seen = {expression}; }} catch {{ seen = null; }} \
                if (seen) {{ done(seen); }} else {{ setTimeout(look, 10); }} }}; look();"
        );
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while tokio::time::Instant::now() < deadline {
            // A page that is left takes its script along; the next one is asked again.
            let asked = self.browser.client.execute_async(&script, Vec::new());
            if let Ok(Ok(seen)) = tokio::time::timeout(Duration::from_secs(20), asked).await {
                return seen;
            }
        }
        let page = self.run("return document.body.innerText", &[]).await;
        panic!("{expression} did not come about within {PATIENCE:?}; the page says {page}")
    }

    /// Waits until the text of the page holds this.
    pub(crate) async fn says(&self, text: &str) {
        self.until(&format!("document.body.innerText.includes({})", json!(text))).await;
    }

    /// Whether the text of the page holds this now.
    pub(crate) async fn says_now(&self, text: &str) -> bool {
        let said = self.run("return document.body.innerText.includes(arguments[0])", &[json!(text)]).await;
        said == true
    }

    /// Waits until the page has been painted after what was done last.
    pub(crate) async fn painted(&self) {
        self.run_later(FRAMES, &[]).await;
    }

    /// The texts of all that a selector finds.
    pub(crate) async fn texts(&self, selector: &str) -> Vec<String> {
        let script = "return [...document.querySelectorAll(arguments[0])].filter((one) => one.checkVisibility()) \
            .map((one) => one.textContent)";
        serde_json::from_value(self.run(script, &[json!(selector)]).await).unwrap()
    }

    /// Waits for an element that can be seen.
    pub(crate) async fn find(&self, selector: &str) -> Element {
        self.until(&format!("document.querySelector({})?.checkVisibility()", json!(selector))).await;
        self.browser.client.find(Locator::Css(selector)).await.unwrap()
    }

    pub(crate) async fn click(&self, selector: &str) {
        self.find(selector).await;
        self.browser.click(selector).await;
    }

    /// Types into what has the focus.
    pub(crate) async fn press(&self, text: &str) {
        let keys = text.chars().fold(KeyActions::new("keyboard".to_owned()), |keys, value| {
            keys.then(KeyAction::Down { value }).then(KeyAction::Up { value })
        });
        self.browser.client.perform_actions(keys).await.unwrap();
    }

    pub(crate) async fn press_key(&self, key: Key) {
        self.press(&char::from(key).to_string()).await;
    }

    /// The address below the server's.
    pub(crate) async fn address(&self) -> String {
        let url = self.browser.client.current_url().await.unwrap();
        url.as_str().strip_prefix(&self.base).unwrap_or(url.as_str()).to_owned()
    }

    /// A command of the protocol by which developers' tools speak with Chromium.
    pub(crate) async fn tell(&self, command: &str, parameters: Value) -> Value {
        self.browser.tell(command, parameters).await
    }

    /// Has a script run on every page from the next one on, before its own.
    pub(crate) async fn begin_with(&self, script: &str) {
        self.tell("Page.addScriptToEvaluateOnNewDocument", json!({"source": script})).await;
    }

    /// Takes the browser's network away, or gives it back.
    pub(crate) async fn set_offline(&self, offline: bool) {
        self.browser.set_offline(offline).await;
    }

    /// The size of what can be seen, in CSS pixels.
    pub(crate) async fn set_size(&self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.tell("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// Whether the reader likes it dark.
    pub(crate) async fn set_dark(&self, dark: bool) {
        let value = if dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": value}]});
        self.tell("Emulation.setEmulatedMedia", features).await;
    }

    /// A picture of what can be seen, as PNG, at this path.
    async fn keep_picture(&self, path: &Path) {
        let answer = self.tell("Page.captureScreenshot", json!({"format": "png"})).await;
        fs::write(path, BASE64_STANDARD.decode(answer["data"].as_str().unwrap()).unwrap()).unwrap();
    }

    /// What the browser has complained of since it was asked last, but for requests that were answered by a failure or not at all.
    pub(crate) async fn complaints(&self) -> Vec<String> {
        let log = self.browser.client.issue_cmd(TakeLog).await.unwrap();
        let entries = log.as_array().unwrap().iter();
        let texts = entries.map(|entry| entry["message"].as_str().unwrap().to_owned());
        texts.filter(|text| !text.contains("Failed to load resource")).collect()
    }

    /// Ends the browser, which must not have complained.
    pub(crate) async fn close(self) {
        assert_eq!(self.complaints().await, [""; 0]);
        self.browser.close().await;
    }
}

/// Goes to each view, given as its name, its address and an expression that is truthy once it is there, on every screen, by day in
/// English and by night in Chinese: none is wider than the screen. Where `TRAWL_PICTURES` names a folder, a picture of each is kept
/// there, to be looked at.
pub(crate) async fn fit_every_screen(session: &WebSession, views: &[(String, String, String)]) {
    let pictures = env::var_os("TRAWL_PICTURES").map(PathBuf::from);
    for (language, dark) in [("en-US", false), ("zh-CN", true)] {
        let page = Page::open_in(session, &views[0].1, language).await;
        page.set_dark(dark).await;
        for (width, height) in SIZES {
            page.set_size(width, height).await;
            for (name, address, is_there) in views {
                page.go(address).await;
                page.until(is_there).await;
                page.painted().await;
                let fits = "return document.documentElement.scrollWidth <= innerWidth";
                assert_eq!(page.run(fits, &[]).await, true, "{name} at {width} in {language}");
                if let Some(pictures) = &pictures {
                    page.keep_picture(&pictures.join(format!("{name}-{language}-{width}.png"))).await;
                }
            }
        }
        page.close().await;
    }
}
