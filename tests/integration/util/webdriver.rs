//! Client of `WebDriver`, the protocol of Chromium's driver.

use reqwest::Method;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use url::Url;

/// The field that holds an element's id.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Fails with the driver's words.
type Outcome<T = Value> = Result<T, String>;

/// A session, which is a browser.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    address: String,
}

/// An element of a page. Its clicks and keys are a person's.
pub(crate) struct Element {
    client: Client,
    pub(crate) reference: Value,
}

/// Keys without a character, as the protocol numbers them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Key {
    Tab = 0xe004,
    Enter = 0xe007,
    Escape = 0xe00c,
    Space = 0xe00d,
    End = 0xe010,
    Home = 0xe011,
    Left = 0xe012,
    Up = 0xe013,
    Right = 0xe014,
    Down = 0xe015,
}

impl From<Key> for char {
    fn from(key: Key) -> Self {
        Self::from_u32(key as u32).unwrap()
    }
}

impl Client {
    /// Starts a browser, and returns its capabilities.
    pub(crate) async fn start(driver: &str, capabilities: Value) -> Outcome<(Self, Value)> {
        // Each test has a runtime of its own, with which its connections end.
        let http = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap();
        let mut client = Self { http, address: format!("{driver}/session") };
        let wanted = json!({ "capabilities": { "alwaysMatch": capabilities } });
        let mut session = client.post("", wanted).await?;
        client.address = format!("{driver}/session/{}", session["sessionId"].as_str().unwrap());
        Ok((client, session["capabilities"].take()))
    }

    async fn send(&self, method: Method, command: &str, body: Option<Value>) -> Outcome {
        let mut request = self.http.request(method, format!("{}{command}", self.address));
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.map_err(|error| error.to_string())?;
        let is_success = answer.status().is_success();
        let value = answer.json::<Value>().await.map_err(|error| error.to_string())?["value"].take();
        if is_success { Ok(value) } else { Err(format!("{}: {}", value["error"], value["message"])) }
    }

    async fn get<T: DeserializeOwned>(&self, command: &str) -> Outcome<T> {
        let value = self.send(Method::GET, command, None).await?;
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    pub(crate) async fn post(&self, command: &str, body: Value) -> Outcome {
        self.send(Method::POST, command, Some(body)).await
    }

    /// Returns once the page is loaded, as do `back`, `forward` and `refresh`.
    pub(crate) async fn goto(&self, url: &str) -> Outcome {
        self.post("/url", json!({ "url": url })).await
    }

    pub(crate) async fn back(&self) -> Outcome {
        self.post("/back", json!({})).await
    }

    pub(crate) async fn forward(&self) -> Outcome {
        self.post("/forward", json!({})).await
    }

    pub(crate) async fn refresh(&self) -> Outcome {
        self.post("/refresh", json!({})).await
    }

    pub(crate) async fn current_url(&self) -> Outcome<Url> {
        self.get("/url").await
    }

    pub(crate) async fn window(&self) -> Outcome<String> {
        self.get("/window").await
    }

    pub(crate) async fn windows(&self) -> Outcome<Vec<String>> {
        self.get("/window/handles").await
    }

    pub(crate) async fn switch_to_window(&self, window: String) -> Outcome {
        self.post("/window", json!({ "handle": window })).await
    }

    pub(crate) async fn close_window(&self) -> Outcome {
        self.send(Method::DELETE, "/window", None).await
    }

    pub(crate) async fn get_named_cookie(&self, name: &str) -> Outcome {
        self.get(&format!("/cookie/{name}")).await
    }

    /// Runs the body of a function, and returns what it returns.
    pub(crate) async fn execute(&self, script: &str, arguments: Vec<Value>) -> Outcome {
        self.post("/execute/sync", json!({ "script": script, "args": arguments })).await
    }

    /// Runs the body of a function, and returns what it gives to its last argument.
    pub(crate) async fn execute_async(&self, script: &str, arguments: Vec<Value>) -> Outcome {
        self.post("/execute/async", json!({ "script": script, "args": arguments })).await
    }

    /// Waits for the element if there is none.
    pub(crate) async fn find(&self, selector: &str) -> Outcome<Element> {
        let reference = self.post("/element", json!({ "using": "css selector", "value": selector })).await?;
        Ok(Element { client: self.clone(), reference })
    }

    /// Presses keys, one after the other.
    pub(crate) async fn press(&self, keys: impl IntoIterator<Item = char>) -> Outcome {
        let strokes = |key| ["keyDown", "keyUp"].map(|half| json!({ "type": half, "value": key }));
        let strokes: Vec<Value> = keys.into_iter().flat_map(strokes).collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": strokes });
        self.post("/actions", json!({ "actions": [keyboard] })).await
    }
}

impl Element {
    fn command(&self, name: &str) -> String {
        format!("/element/{}/{name}", self.reference[ELEMENT].as_str().unwrap())
    }

    pub(crate) async fn click(&self) -> Outcome {
        self.client.post(&self.command("click"), json!({})).await
    }

    pub(crate) async fn clear(&self) -> Outcome {
        self.client.post(&self.command("clear"), json!({})).await
    }

    pub(crate) async fn send_keys(&self, text: &str) -> Outcome {
        self.client.post(&self.command("value"), json!({ "text": text })).await
    }

    pub(crate) async fn text(&self) -> Outcome<String> {
        self.client.get(&self.command("text")).await
    }

    pub(crate) async fn prop(&self, name: &str) -> Outcome {
        self.client.get(&self.command(&format!("property/{name}"))).await
    }
}
