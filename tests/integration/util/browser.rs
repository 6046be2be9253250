//! Headless Chromium: a browser for each running test, with a new context.

use std::{
    io::{BufRead, BufReader},
    net::TcpStream,
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    sync::{LazyLock, Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket, stream::MaybeTlsStream};

use super::webdriver::Client;

/// No display, no sandbox (tests may run as root), no network traffic of its own.
const ARGUMENTS: [&str; 8] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

/// Limit of the wait for an element.
const TIMEOUT: Duration = Duration::from_secs(30);

const STARTED: &str = "was started successfully on port ";

/// A driver fails when the IPv6 port of its free IPv4 port is taken.
const MAX_STARTS: usize = 10;

/// Ends the driver, its browsers and their files once this process has ended, for whatever reason.
const RUN_DRIVER: &str = "profiles=$(mktemp -d) && export TMPDIR=$profiles; setsid chromedriver --port=0 & driver=$!; \
    cat; env kill -KILL -- -$driver; rm -rf $profiles";

/// The driver of all browsers.
static DRIVER: LazyLock<Driver> =
    LazyLock::new(|| (0..MAX_STARTS).find_map(|_| start_driver()).expect("chromedriver says its port"));

/// Browsers that no test uses.
static IDLE: Mutex<Vec<Chromium>> = Mutex::new(Vec::new());

struct Driver {
    /// Its standard input ends with this process.
    _process: Child,
    address: String,
}

/// A browser process.
struct Chromium {
    client: Client,
    /// Its own connection, which alone may create contexts.
    devtools: Mutex<WebSocket<MaybeTlsStream<TcpStream>>>,
}

/// A context of a browser, with a window.
pub(crate) struct Browser {
    pub(crate) client: Client,
    chromium: Chromium,
    context: Value,
}

/// Starts a driver, or returns none if it failed.
fn start_driver() -> Option<Driver> {
    let mut command = Command::new("sh");
    command.args(["-c", RUN_DRIVER]).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut process = command.spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let port = lines.find_map(|line| {
        line.unwrap().split_once(STARTED).map(|(_, port)| port.trim_end_matches('.').to_owned())
    });
    let Some(port) = port else {
        process.kill().unwrap();
        process.wait().unwrap();
        return None;
    };
    std::thread::spawn(move || lines.for_each(drop));
    Some(Driver { _process: process, address: format!("http://127.0.0.1:{port}") })
}

impl Chromium {
    async fn start() -> Self {
        let capabilities = json!({
            "goog:chromeOptions": { "args": ARGUMENTS },
            "goog:loggingPrefs": { "browser": "ALL" },
            "timeouts": { "implicit": TIMEOUT.as_millis() },
        });
        let (client, capabilities) = Client::start(&DRIVER.address, capabilities).await.unwrap();
        let address = capabilities["goog:chromeOptions"]["debuggerAddress"].as_str().unwrap();
        let version = format!("http://{address}/json/version");
        let version: Value = reqwest::get(version).await.unwrap().json().await.unwrap();
        let (devtools, _) = tungstenite::connect(version["webSocketDebuggerUrl"].as_str().unwrap()).unwrap();
        Self { client, devtools: Mutex::new(devtools) }
    }

    /// Opens a window, in a context or in none of them.
    fn open_window(&self, context: Option<&Value>) -> String {
        let mut target = json!({ "url": "about:blank" });
        if let Some(context) = context {
            target["browserContextId"] = context.clone();
        }
        self.tell("Target.createTarget", &target)["targetId"].as_str().unwrap().to_owned()
    }

    /// Answers a command to the browser, which takes milliseconds.
    fn tell(&self, command: &str, parameters: &Value) -> Value {
        let request = json!({ "id": 1, "method": command, "params": parameters });
        let mut devtools = self.devtools.lock().unwrap();
        devtools.send(Message::text(request.to_string())).unwrap();
        loop {
            let message: Value = serde_json::from_str(devtools.read().unwrap().to_text().unwrap()).unwrap();
            if message["id"] == 1 {
                assert!(message["error"].is_null(), "{command}: {}", message["error"]);
                return message["result"].clone();
            }
        }
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let devtools = self.devtools.get_mut().unwrap_or_else(PoisonError::into_inner);
        _ = devtools.send(Message::text(r#"{ "id": 0, "method": "Browser.close" }"#));
    }
}

impl Browser {
    pub(crate) async fn start() -> Self {
        Self::start_in("en-US").await
    }

    pub(crate) async fn start_in(language: &str) -> Self {
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let chromium = match idle {
            Some(chromium) => chromium,
            None => Chromium::start().await,
        };
        let context = chromium.tell("Target.createBrowserContext", &json!({}))["browserContextId"].clone();
        let client = chromium.client.clone();
        let window = chromium.open_window(Some(&context));
        client.close_window().await.unwrap();
        client.switch_to_window(window).await.unwrap();
        let browser = Self { client, chromium, context };
        browser.set_language(language).await;
        browser
    }

    /// Opens another window in the context.
    pub(crate) fn open_window(&self) -> String {
        self.chromium.open_window(Some(&self.context))
    }

    /// Ends the context; the next test has another.
    pub(crate) async fn close(self) {
        let window = self.chromium.open_window(None);
        self.client.switch_to_window(window).await.unwrap();
        self.chromium.tell("Target.disposeBrowserContext", &json!({ "browserContextId": self.context }));
        self.take_log().await;
        IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(self.chromium);
    }
}
