//! Every view under axe-core, in narrow windows, with large text, by keyboard.

use crate::{
    browser::views::{Judge, walk_account, walk_console, walk_search},
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

/// Rules, and use in small windows and by keyboard.
struct Usability(Rules);

impl Judge for Usability {
    async fn look_at(&mut self, stage: &Stage, view: &str) {
        self.0.look_at(stage, view).await;
        let Rules { look, found: all } = &mut self.0;
        for (size, letters, what) in [(NARROW, USUAL, "narrow"), (NARROW_FOR_LARGE, LARGE, "large letters")] {
            stage.browser.set_up(Look { size, ..*look }).await;
            stage.browser.ask(letters).await;
            note(all, &format!("{view}, {what}"), stage.browser.overflowing().await);
        }
        stage.browser.ask(USUAL).await;
        stage.browser.set_up(*look).await;
        note(all, view, stage.browser.unreachable_by_keyboard().await);
    }
}

fn note(all: &mut Vec<String>, view: &str, found: Vec<String>) {
    for found in found {
        println!("{view}: {found}");
        all.push(format!("{view}: {found}"));
    }
}

async fn judge_every_view(look: Look, judge: &mut impl Judge) {
    let stage = Stage::start(look).await;
    walk_search(&stage, judge).await;
    walk_account(&stage, judge).await;
    walk_console(&stage, judge).await;
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn views_break_no_rule_in_chinese_and_dark() {
    let look = Look { language: "zh-CN", scheme: "dark", size: WIDE };
    let mut rules = Rules { look, found: Vec::new() };
    judge_every_view(look, &mut rules).await;
    assert!(rules.found.is_empty(), "\n{}", rules.found.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn views_break_no_rule_in_english_and_fit_narrow_windows() {
    let look = Look { language: "en", scheme: "light", size: WIDE };
    let mut usability = Usability(Rules { look, found: Vec::new() });
    judge_every_view(look, &mut usability).await;
    let Rules { found, .. } = usability.0;
    assert!(found.is_empty(), "\n{}", found.join("\n"));
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
