//! What a browser is told beyond the `WebDriver` protocol, in Chromium's own: before whom it is to pretend to stand.

use fantoccini::{Locator, wd::WebDriverCompatibleCommand};
use reqwest::Method;
use serde_json::{Value, json};
use url::{ParseError, Url};

use super::browser::Browser;

/// A command of Chromium's protocol, which its driver passes on.
#[derive(Debug)]
struct Command(Value);

impl WebDriverCompatibleCommand for Command {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.0.to_string()))
    }
}

/// How a person has their browser set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// What they read, as `Accept-Language` says it.
    pub(crate) language: &'static str,
    /// `light` or `dark`.
    pub(crate) scheme: &'static str,
    /// Width and height of the window in CSS pixels.
    pub(crate) size: [u32; 2],
}

/// Answers once an element, in the middle of what is seen, is where it was two frames before: what comes late moves what is there,
/// and a click would meet something else.
const AT_REST: &str = "const [element, done] = arguments; let before = null; \
    const look = () => { \
        element.scrollIntoView({ block: 'center', behavior: 'instant' }); \
        const { x, y, width, height } = element.getBoundingClientRect(); \
        const now = [x, y, width, height].join(); \
        if (now === before) { done(true); } else { before = now; requestAnimationFrame(() => requestAnimationFrame(look)); } \
    }; look();";

impl Browser {
    /// Clicks, once it stands still and what is kept at the top of the page is not before it.
    pub(crate) async fn click(&self, selector: &str) {
        let found = self.client.find(Locator::Css(selector)).await;
        let element = found.unwrap_or_else(|error| panic!("{selector}: {error}"));
        let argument = serde_json::to_value(&element).unwrap();
        self.client.execute_async(AT_REST, vec![argument]).await.unwrap();
        element.click().await.unwrap_or_else(|error| panic!("{selector}: {error}"));
    }

    /// Has the browser carry out a command of Chromium's protocol.
    pub(crate) async fn tell(&self, command: &str, parameters: Value) -> Value {
        let body = Command(json!({ "cmd": command, "params": parameters }));
        self.client.issue_cmd(body).await.unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    /// Sets the browser up so: its language from the next page on, the rest at once. Nothing moves, so that what is looked at
    /// has come to rest.
    pub(crate) async fn set_up(&self, look: Look) {
        let Look { language, scheme, size: [width, height] } = look;
        let version = self.tell("Browser.getVersion", json!({})).await;
        let agent = json!({ "userAgent": version["userAgent"], "acceptLanguage": language });
        self.tell("Emulation.setUserAgentOverride", agent).await;
        let features = json!([
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        self.tell("Emulation.setEmulatedMedia", json!({ "features": features })).await;
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.tell("Emulation.setDeviceMetricsOverride", metrics).await;
    }

    /// Takes the network away from the page, or gives it back.
    pub(crate) async fn set_offline(&self, offline: bool) {
        self.tell("Network.enable", json!({})).await;
        let conditions =
            json!({ "offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1 });
        self.tell("Network.emulateNetworkConditions", conditions).await;
    }

    /// What a script in the page answers.
    pub(crate) async fn ask(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.unwrap_or_else(|error| panic!("{script}: {error}"))
    }
}
