//! A server with the demo's data, a browser, and a scripted external system.

use std::time::Duration;

use secrecy::ExposeSecret;
use serde_json::{Value, json};
use trawl::demo::Demo;

use super::{
    app::{Application, TestApp},
    browser::Browser,
    devtools::Look,
    eventually,
    external::{ExternalSystem, Reply},
    items::NEW_YEAR,
};

pub(crate) const TENANT: &str = "northwind";
pub(crate) const PERSON: &str = "mei.chen";
pub(crate) const OPERATOR: &str = "bram.dekker";

const HOUR: i64 = 3_600_000;

pub(crate) struct Stage {
    pub(crate) app: TestApp,
    pub(crate) browser: Browser,
    pub(crate) archive: ExternalSystem,
    pub(crate) company: Application,
    demo: Demo,
}

impl Stage {
    pub(crate) async fn start(look: Look) -> Self {
        let app = TestApp::start_with(|config| {
            config.console.operators = vec![Demo::operator()];
            config.search.slow_ms = 1;
        })
        .await;
        // Source health covers the last hour.
        let begun = trawl::store::now_millis() - HOUR;
        app.clock.pass(Duration::from_millis(u64::try_from(begun - NEW_YEAR).unwrap()));
        let address = app.app.config.listen;
        let demo = Demo::start(&app.app, address, app.app.index_progress.clone()).await.unwrap();
        let company = app.tenant(TENANT).await;
        let archive = ExternalSystem::start(archive_items()).await;
        let mut registration = archive.registration("archive");
        registration["name"] = "Archive".into();
        app.register_source(&company, registration, "archive", &["archive"]).await;
        let browser = Browser::start().await;
        browser.set_up(look).await;
        Self { app, browser, archive, company, demo }
    }

    /// The contracts answer throughout, the archive until it fails and is suspended.
    pub(crate) async fn pass_an_hour(&self) {
        let words = ["warehouse", "budget", "harbour", "forklift", "umbrella", "board"];
        for minute in 0..=60 {
            if minute == 45 {
                self.archive.set_reply(Reply::Status(503));
            }
            for (place, word) in words.iter().enumerate().skip(minute * 7 % 5) {
                let module = if place % 2 == 0 { "contracts" } else { "archive" };
                self.company.caller.search(&[("moduleId", module), ("keyword", word)]).await;
            }
            if minute < 60 {
                self.app.clock.pass(Duration::from_mins(1));
            }
        }
    }

    pub(crate) async fn open(&self, path: &str, is_there: &str) {
        self.browser.client.goto(&format!("{}{path}", self.app.base)).await.unwrap();
        self.wait_until(is_there).await;
    }

    pub(crate) async fn sign_in(&self, login: &str, path: &str, is_there: &str) {
        self.sign_out().await;
        let mut start = url::Url::parse(&format!("{}/session/start", self.app.base)).unwrap();
        start.query_pairs_mut().append_pair("tenant", TENANT).append_pair("to", path);
        self.browser.client.goto(start.as_str()).await.unwrap();
        self.browser.fill_in_login(login, self.password()).await;
        self.wait_until(is_there).await;
    }

    /// The password of the demo's people.
    pub(crate) fn password(&self) -> &str {
        self.demo.password().expose_secret()
    }

    /// Clears cookies and storage.
    pub(crate) async fn sign_out(&self) {
        self.browser.tell("Network.clearBrowserCookies", json!({})).await;
        let storage = json!({ "origin": self.app.base, "storageTypes": "local_storage" });
        self.browser.tell("Storage.clearDataForOrigin", storage).await;
    }

    pub(crate) async fn end_sessions(&self) {
        self.app.execute("DELETE FROM sessions").await;
        self.app.forget_callers(self.company.tenant_id).await;
    }

    /// The script is truthy and no control is busy.
    pub(crate) async fn wait_until(&self, script: &str) {
        let script = include_str!("scripts/is_settled.js").replace("SCRIPT", script);
        eventually(&script, async || (self.browser.ask(&script).await == true).then_some(())).await;
    }

    pub(crate) async fn wait_for_element(&self, selector: &str) {
        self.wait_until(&seen(selector)).await;
    }

    pub(crate) async fn end(self) {
        self.browser.close().await;
        self.demo.stop().await;
    }
}

pub(crate) fn seen(selector: &str) -> String {
    let selector = Value::from(selector);
    format!("return [...document.querySelectorAll({selector})].some((element) => element.checkVisibility())")
}

/// Some are hard to lay out.
fn archive_items() -> Vec<Value> {
    let now = trawl::store::now_millis();
    let opens = |address: &str| json!({ "web": format!("[OpenUrl]\nurl={address}") }).to_string();
    let text = |id: &str, title: &str, author: &str, brief: &str| {
        let action = opens(&format!("https://archive.example/{id}"));
        json!({ "id": id, "title": title, "author": author, "brief": brief, "action": action })
    };
    let mut items = vec![
        text(
            "warehouse",
            "Warehouse survey, scanned",
            "Archive",
            "Floor plans and load tables of 1987, in three parts.",
        ),
        text("long", &"A title that does not end ".repeat(400), "Archive", "Ten kilobytes of title."),
        text(
            "word",
            &"Donaudampfschifffahrtsgesellschaft".repeat(12),
            "Archive",
            "One word without a place to break it.",
        ),
        text("empty", "", "Archive", "An item without a title, which has a brief."),
        text("nothing", "", "", ""),
        text(
            "arabic",
            "تقرير المستودع السنوي 2024",
            "أحمد الإدريسي",
            "ملخص الجرد السنوي للمستودع في روتردام (Rotterdam).",
        ),
        text("hebrew", "דוח מלאי שנתי (2024)", "נועה לוי", "סיכום המלאי."),
        text(
            "override",
            "invoice\u{202e}fdp.exe",
            "\u{202e}Archive",
            "A name that turns what stands behind it.",
        ),
        text(
            "markup",
            "<script>alert('title')</script><b>bold</b>",
            "<i>Archive</i>",
            "<img src=x onerror=alert(1)>",
        ),
    ];
    items.push(json!({ "id": "script", "title": "An address that would run", "action": opens("javascript:alert(1)") }));
    for (place, item) in items.iter_mut().enumerate() {
        let age = [5, 90, 60 * 24, 60 * 24 * 3, 60 * 24 * 9][place % 5]
            + 60 * 24 * 30 * i64::try_from(place / 5).unwrap();
        item["displayTime"] = (now - age * 60_000).into();
    }
    items.sort_by_key(|item| std::cmp::Reverse(item["displayTime"].as_i64()));
    items
}
