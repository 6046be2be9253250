//! Every view under axe-core, in narrow windows, with large text, by keyboard.

use crate::{
    browser::views::{Judge, walk_console, walk_search},
    util::{devtools::Look, stage::Stage},
};

const WIDE: [u32; 2] = [1280, 800];
const NARROW: [u32; 2] = [320, 640];
const NARROW_FOR_LARGE: [u32; 2] = [640, 800];

const LARGE: &str = "document.documentElement.style.fontSize = '200%'";
const USUAL: &str = "document.documentElement.style.fontSize = ''";

struct Rules {
    look: Look,
    found: Vec<String>,
}

impl Judge for Rules {
    async fn look_at(&mut self, stage: &Stage, view: &str) {
        stage.browser.set_up(self.look).await;
        note(&mut self.found, view, stage.browser.violations().await);
    }
}

struct Usability {
    look: Look,
    found: Vec<String>,
}

impl Judge for Usability {
    async fn look_at(&mut self, stage: &Stage, view: &str) {
        for (size, letters, what) in [(NARROW, USUAL, "narrow"), (NARROW_FOR_LARGE, LARGE, "large letters")] {
            stage.browser.set_up(Look { size, ..self.look }).await;
            stage.browser.ask(letters).await;
            let found = stage.browser.overflowing().await;
            note(&mut self.found, &format!("{view}, {what}"), found);
        }
        stage.browser.ask(USUAL).await;
        stage.browser.set_up(self.look).await;
        note(&mut self.found, view, stage.browser.unreachable_by_keyboard().await);
    }
}

fn note(all: &mut Vec<String>, view: &str, found: Vec<String>) {
    for found in found {
        println!("{view}: {found}");
        all.push(format!("{view}: {found}"));
    }
}

async fn assert_no_rule_is_broken(language: &'static str, scheme: &'static str) {
    let look = Look { language, scheme, size: WIDE };
    let stage = Stage::start(look).await;
    let mut rules = Rules { look, found: Vec::new() };
    walk_search(&stage, &mut rules).await;
    walk_console(&stage, &mut rules).await;
    assert!(rules.found.is_empty(), "\n{}", rules.found.join("\n"));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn views_break_no_rule_in_english_and_light() {
    assert_no_rule_is_broken("en", "light").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn views_break_no_rule_in_chinese_and_dark() {
    assert_no_rule_is_broken("zh-CN", "dark").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn views_fit_narrow_windows_and_large_text_and_keyboards() {
    let look = Look { language: "en", scheme: "light", size: WIDE };
    let stage = Stage::start(look).await;
    let mut used = Usability { look, found: Vec::new() };
    walk_search(&stage, &mut used).await;
    walk_console(&stage, &mut used).await;
    assert!(used.found.is_empty(), "\n{}", used.found.join("\n"));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inaccessible_page_is_reported() {
    let look = Look { language: "en", scheme: "light", size: WIDE };
    let stage = Stage::start(look).await;
    stage.open("/", "return document.querySelector('section.signin')").await;
    stage.browser.ask(include_str!("../util/scripts/inaccessible.js")).await;
    let found = stage.browser.violations().await.join("\n");
    for rule in ["color-contrast:", "label:"] {
        assert!(found.contains(rule), "{rule} in {found}");
    }
    assert!(stage.browser.overflowing().await.join("\n").contains("wide"));
    let found = stage.browser.unreachable_by_keyboard().await.join("\n");
    for reason in ["Tab does not reach", "focus is not seen"] {
        assert!(found.contains(reason), "{reason} in {found}");
    }
    stage.end().await;
}
