//! Everybody can use the pages: no view breaks a rule of axe-core in either language or colour scheme, all of it fits a narrow
//! window and large letters, and a keyboard is enough.

use crate::{
    util::{devtools::Look, stage::Stage},
    views::{Judge, walk_console, walk_search},
};

const WIDE: [u32; 2] = [1280, 800];
/// The narrowest window that the pages are made for.
const NARROW: [u32; 2] = [320, 640];
/// What is left of a small screen's width to letters of twice the size, as many of them as in [`NARROW`].
const NARROW_FOR_LARGE: [u32; 2] = [640, 800];

const LARGE: &str = "document.documentElement.style.fontSize = '200%'";
const USUAL: &str = "document.documentElement.style.fontSize = ''";

/// Runs axe-core in both colour schemes.
struct Rules {
    look: Look,
    found: Vec<String>,
}

impl Judge for Rules {
    async fn look_at(&mut self, stage: &Stage, view: &str) {
        for scheme in ["light", "dark"] {
            stage.browser.set_up(Look { scheme, ..self.look }).await;
            let found = stage.browser.violations().await;
            note(&mut self.found, &format!("{view}, {scheme}"), found);
        }
    }
}

/// Makes the window narrow, and the letters large.
struct Room {
    look: Look,
    found: Vec<String>,
}

impl Judge for Room {
    async fn look_at(&mut self, stage: &Stage, view: &str) {
        for (size, letters, what) in [(NARROW, USUAL, "narrow"), (NARROW_FOR_LARGE, LARGE, "large letters")] {
            stage.browser.set_up(Look { size, ..self.look }).await;
            stage.browser.ask(letters).await;
            let found = stage.browser.too_wide().await;
            note(&mut self.found, &format!("{view}, {what}"), found);
        }
        stage.browser.ask(USUAL).await;
        stage.browser.set_up(self.look).await;
    }
}

/// Goes through all that can be reached by Tab.
struct Keyboard {
    found: Vec<String>,
}

impl Judge for Keyboard {
    async fn look_at(&mut self, stage: &Stage, view: &str) {
        let found = stage.browser.out_of_reach().await;
        note(&mut self.found, view, found);
    }
}

/// Says what is wrong at once, also where a later view never comes.
fn note(all: &mut Vec<String>, view: &str, found: Vec<String>) {
    for found in found {
        println!("{view}: {found}");
        all.push(format!("{view}: {found}"));
    }
}

async fn no_rule_is_broken(language: &'static str) {
    let look = Look { language, scheme: "light", size: WIDE };
    let stage = Stage::start(look).await;
    let mut rules = Rules { look, found: Vec::new() };
    walk_search(&stage, &mut rules).await;
    walk_console(&stage, &mut rules).await;
    assert!(rules.found.is_empty(), "\n{}", rules.found.join("\n"));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_view_breaks_a_rule_in_english() {
    no_rule_is_broken("en").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_view_breaks_a_rule_in_chinese() {
    no_rule_is_broken("zh-CN").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_view_fits_a_narrow_window_and_large_letters() {
    let look = Look { language: "en", scheme: "light", size: WIDE };
    let stage = Stage::start(look).await;
    let mut room = Room { look, found: Vec::new() };
    walk_search(&stage, &mut room).await;
    walk_console(&stage, &mut room).await;
    assert!(room.found.is_empty(), "\n{}", room.found.join("\n"));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_keyboard_reaches_everything_in_every_view() {
    let stage = Stage::start(Look { language: "en", scheme: "light", size: WIDE }).await;
    let mut keyboard = Keyboard { found: Vec::new() };
    walk_search(&stage, &mut keyboard).await;
    walk_console(&stage, &mut keyboard).await;
    assert!(keyboard.found.is_empty(), "\n{}", keyboard.found.join("\n"));
    stage.end().await;
}

/// What judges is judged: a page that breaks all of it is told so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_nobody_can_use_is_noticed() {
    let look = Look { language: "en", scheme: "light", size: WIDE };
    let stage = Stage::start(look).await;
    stage.open("/", "return document.querySelector('section.signin')").await;
    let break_it = r#"
        const add = (name, attributes, text) => {
            const added = document.body.appendChild(document.createElement(name));
            Object.assign(added.style, attributes);
            added.textContent = text;
            return added;
        };
        add("p", { color: "silver", background: "white" }, "faint");
        add("input", {}, "");
        add("div", { width: "2000px" }, "wide");
        add("button", { outline: "none" }, "unseen");
        add("button", {}, "trap").addEventListener("keydown", (event) => event.preventDefault());
    "#;
    stage.browser.ask(break_it).await;
    let found = stage.browser.violations().await.join("\n");
    for rule in ["color-contrast:", "label:"] {
        assert!(found.contains(rule), "{rule} in {found}");
    }
    assert!(stage.browser.too_wide().await.join("\n").contains("wide"));
    let found = stage.browser.out_of_reach().await.join("\n");
    for reason in ["Tab does not reach", "focus is not seen"] {
        assert!(found.contains(reason), "{reason} in {found}");
    }
    stage.end().await;
}
