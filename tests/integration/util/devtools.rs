//! Chromium's protocol, for emulation beyond `WebDriver`.

use serde_json::{Value, json};

use super::browser::Browser;

/// Clicks on an element that is replaced or covered each time.
const MAX_CLICKS: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// `Accept-Language`.
    pub(crate) language: &'static str,
    /// `light` or `dark`.
    pub(crate) scheme: &'static str,
    /// Size in CSS pixels.
    pub(crate) size: [u32; 2],
}

/// Resolves once the centred element has rested for two frames.
const AT_REST: &str = include_str!("scripts/at_rest.js");

impl Browser {
    /// Waits until the element rests outside the sticky header.
    pub(crate) async fn click(&self, selector: &str) {
        let mut last = String::new();
        for _ in 0..MAX_CLICKS {
            let found = self.client.find(selector).await;
            let element = found.unwrap_or_else(|error| panic!("{selector}: {error}"));
            let clicked = match self.client.execute_async(AT_REST, vec![element.reference.clone()]).await {
                Ok(_) => element.click().await,
                Err(error) => Err(error),
            };
            match clicked {
                Ok(_) => return,
                Err(error) if error.contains("stale element") || error.contains("click intercepted") => {
                    last = error;
                }
                Err(error) => panic!("{selector}: {error}"),
            }
        }
        panic!("{selector}: {last}");
    }

    pub(crate) async fn tell(&self, command: &str, parameters: Value) -> Value {
        let body = json!({ "cmd": command, "params": parameters });
        let answer = self.client.post("/goog/cdp/execute", body).await;
        answer.unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    /// Reads and clears the browser's log; not a standard command.
    pub(crate) async fn take_log(&self) -> Value {
        self.client.post("/se/log", json!({ "type": "browser" })).await.unwrap()
    }

    /// Sets the language from the next page on, others at once; turns animations off.
    pub(crate) async fn set_up(&self, look: Look) {
        let Look { language, scheme, size: [width, height] } = look;
        self.set_language(language).await;
        let features = json!([
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        self.tell("Emulation.setEmulatedMedia", json!({ "features": features })).await;
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.tell("Emulation.setDeviceMetricsOverride", metrics).await;
    }

    /// Sets the language from the next page on.
    pub(crate) async fn set_language(&self, language: &str) {
        let version = self.tell("Browser.getVersion", json!({})).await;
        let agent = json!({ "userAgent": version["userAgent"], "acceptLanguage": language });
        self.tell("Emulation.setUserAgentOverride", agent).await;
    }

    pub(crate) async fn set_offline(&self, offline: bool) {
        self.tell("Network.enable", json!({})).await;
        let conditions =
            json!({ "offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1 });
        self.tell("Network.emulateNetworkConditions", conditions).await;
    }

    pub(crate) async fn ask(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.unwrap_or_else(|error| panic!("{script}: {error}"))
    }
}
