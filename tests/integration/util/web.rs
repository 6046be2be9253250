use std::time::Duration;

use serde_json::{Value, json};

use super::{
    TIMEOUT,
    app::TestApp,
    browser::Browser,
    caller::Caller,
    webdriver::{Element, Key},
};

const PAGE: &str = include_str!("scripts/page.js");
/// After some frames nothing is pending.
const FRAMES: &str = "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))";

pub(crate) const SIZES: [(u32, u32); 3] = [(320, 640), (768, 1024), (1440, 900)];

pub(crate) struct Page {
    pub(crate) browser: Browser,
    pub(crate) base: String,
}

impl Page {
    pub(crate) async fn open(session: &Caller, path: &str) -> Self {
        Self::open_in(session, path, "en-US").await
    }

    pub(crate) async fn open_in(session: &Caller, path: &str, language: &str) -> Self {
        let browser = Browser::start_in(language).await;
        browser.hold(session).await;
        let page = Self { browser, base: session.base.clone() };
        page.run_on_load(PAGE).await;
        page.go(path).await;
        page
    }

    pub(crate) async fn open_as_nobody(app: &TestApp, path: &str) -> Self {
        let page = Self { browser: Browser::start().await, base: app.base.clone() };
        page.run_on_load(PAGE).await;
        page.go(path).await;
        page
    }

    pub(crate) async fn go(&self, path: &str) {
        self.browser.client.goto(&format!("{}{path}", self.base)).await.unwrap();
    }

    pub(crate) async fn run(&self, script: &str, arguments: &[Value]) -> Value {
        self.browser.client.execute(script, arguments.to_vec()).await.unwrap_or_else(|error| {
            panic!("{script}: {error}");
        })
    }

    pub(crate) async fn run_later(&self, script: &str, arguments: &[Value]) -> Value {
        self.browser.client.execute_async(script, arguments.to_vec()).await.unwrap()
    }

    /// Runs a function of a script module of the page.
    pub(crate) async fn run_in_module(&self, module: &str, function: &str, argument: Value) -> Value {
        let script = include_str!("scripts/module.js").replace("FUNCTION", function);
        self.run_later(&script, &[json!(module), argument]).await
    }

    /// Returns the truthy value.
    pub(crate) async fn wait_until(&self, expression: &str) -> Value {
        // Evaluated on each mutation and frame.
        let script = include_str!("scripts/wait_until.js").replace("EXPRESSION", expression);
        let deadline = tokio::time::Instant::now() + TIMEOUT;
        while tokio::time::Instant::now() < deadline {
            // Navigation ends the script; the next page starts it again.
            let asked = self.browser.client.execute_async(&script, Vec::new());
            if let Ok(Ok(seen)) = tokio::time::timeout(Duration::from_secs(20), asked).await {
                return seen;
            }
        }
        let page = self.run("return document.body.innerText", &[]).await;
        panic!("{expression}: not within {TIMEOUT:?}; the page shows {page}")
    }

    pub(crate) async fn wait_for_text(&self, text: &str) {
        self.wait_until(&format!("document.body.innerText.includes({})", json!(text))).await;
    }

    pub(crate) async fn shows_text(&self, text: &str) -> bool {
        let said = self.run("return document.body.innerText.includes(arguments[0])", &[json!(text)]).await;
        said == true
    }

    pub(crate) async fn wait_for_paint(&self) {
        self.run_later(FRAMES, &[]).await;
    }

    pub(crate) async fn texts(&self, selector: &str) -> Vec<String> {
        let script = "return [...document.querySelectorAll(arguments[0])].filter((one) => one.checkVisibility()) \
            .map((one) => one.textContent)";
        serde_json::from_value(self.run(script, &[json!(selector)]).await).unwrap()
    }

    pub(crate) async fn find(&self, selector: &str) -> Element {
        self.wait_until(&format!("document.querySelector({})?.checkVisibility()", json!(selector))).await;
        self.browser.client.find(selector).await.unwrap()
    }

    pub(crate) async fn click(&self, selector: &str) {
        self.find(selector).await;
        self.browser.click(selector).await;
    }

    pub(crate) async fn press(&self, text: &str) {
        self.browser.client.press(text.chars()).await.unwrap();
    }

    pub(crate) async fn press_key(&self, key: Key) {
        self.browser.client.press([key.into()]).await.unwrap();
    }

    pub(crate) async fn address(&self) -> String {
        let url = self.browser.client.current_url().await.unwrap();
        url.as_str().strip_prefix(&self.base).unwrap_or(url.as_str()).to_owned()
    }

    pub(crate) async fn tell(&self, command: &str, parameters: Value) -> Value {
        self.browser.tell(command, parameters).await
    }

    pub(crate) async fn run_on_load(&self, script: &str) {
        self.tell("Page.addScriptToEvaluateOnNewDocument", json!({"source": script})).await;
    }

    pub(crate) async fn set_offline(&self, offline: bool) {
        self.browser.set_offline(offline).await;
    }

    pub(crate) async fn set_size(&self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.tell("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// Except failed requests.
    pub(crate) async fn console_errors(&self) -> Vec<String> {
        let log = self.browser.take_log().await;
        let entries = log.as_array().unwrap().iter();
        let texts = entries.map(|entry| entry["message"].as_str().unwrap().to_owned());
        texts.filter(|text| !text.contains("Failed to load resource")).collect()
    }

    /// The log must be empty.
    pub(crate) async fn sign_out(&self) {
        self.click(".person-button").await;
        self.click("#person-menu button:last-child").await;
        self.wait_until("document.querySelector('.signin')").await;
    }

    pub(crate) async fn close(self) {
        assert_eq!(self.console_errors().await, [""; 0]);
        self.browser.close().await;
    }
}

/// Views are name, path, ready expression.
pub(crate) async fn fit_every_screen(session: &Caller, views: &[(String, String, String)]) {
    for language in ["en-US", "zh-CN"] {
        let page = Page::open_in(session, &views[0].1, language).await;
        for (name, address, is_there) in views {
            page.go(address).await;
            for (width, height) in SIZES {
                page.set_size(width, height).await;
                page.wait_until(is_there).await;
                page.wait_for_paint().await;
                let fits = "return document.documentElement.scrollWidth <= innerWidth";
                assert_eq!(page.run(fits, &[]).await, true, "{name} at {width} in {language}");
            }
        }
        page.close().await;
    }
}
