//! Generates `docs/screenshots`: `cargo test --test integration -- --ignored screenshots`.

use std::{fs, path::Path};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::json;

use super::reduce::reduce;
use crate::{
    browser::views::{Judge, show_many, walk_console, walk_search},
    util::{devtools::Look, stage::Stage},
};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/screenshots");

const DESK: [u32; 2] = [1280, 800];
const PHONE: [u32; 2] = [390, 844];

const DARK: [&str; 7] = [
    "search-first-visit",
    "search-sections",
    "search-module",
    "search-source-down",
    "console-overview",
    "console-source",
    "console-add-report-failed",
];
const ON_A_PHONE: [&str; 13] = [
    "login",
    "search-first-visit",
    "search-sections",
    "search-module",
    "search-odd-texts",
    "search-not-complete",
    "search-source-down",
    "search-ten-thousand",
    "console-overview",
    "console-sources",
    "console-source",
    "console-add-access",
    "console-add-report-failed",
];
const IN_CHINESE: [&str; 7] = [
    "login",
    "search-first-visit",
    "search-chinese",
    "search-source-down",
    "console-overview",
    "console-source",
    "console-add-report-failed",
];

struct Pictures {
    look: Look,
}

impl Pictures {
    async fn take(&self, stage: &Stage, name: &str, look: Look) {
        stage.browser.set_up(look).await;
        stage.wait_until("return [...document.images].every((image) => image.complete)").await;
        let picture = stage.browser.tell("Page.captureScreenshot", json!({ "format": "png" })).await;
        let picture = BASE64_STANDARD.decode(picture["data"].as_str().unwrap()).unwrap();
        fs::write(Path::new(FOLDER).join(format!("{name}.png")), reduce(&picture)).unwrap();
    }
}

impl Judge for Pictures {
    async fn look_at(&mut self, stage: &Stage, view: &str) {
        let look = self.look;
        if look.language != "en" {
            if IN_CHINESE.contains(&view) {
                self.take(stage, &format!("{view}-chinese"), look).await;
            }
            return;
        }
        self.take(stage, view, look).await;
        if DARK.contains(&view) {
            self.take(stage, &format!("{view}-dark"), Look { scheme: "dark", ..look }).await;
        }
        if ON_A_PHONE.contains(&view) {
            self.take(stage, &format!("{view}-phone"), Look { size: PHONE, ..look }).await;
        }
        stage.browser.set_up(look).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "writes into the project"]
async fn screenshots_of_every_view_are_taken() {
    fs::create_dir_all(FOLDER).unwrap();
    for language in ["en", "zh-CN"] {
        let mut pictures = Pictures { look: Look { language, scheme: "light", size: DESK } };
        let stage = Stage::start(pictures.look).await;
        walk_search(&stage, &mut pictures).await;
        walk_console(&stage, &mut pictures).await;
        show_many(&stage, &mut pictures).await;
        stage.end().await;
    }
}
