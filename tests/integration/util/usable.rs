//! Accessibility of a page.

use std::{fs, iter, path::Path};

use serde_json::Value;

use super::{browser::Browser, webdriver::Key};

const AXE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/axe/node_modules/axe-core/axe.min.js");

/// The default rules, and the one on target size.
const RUN_AXE: &str = include_str!("scripts/axe.js");

/// Innermost elements wider than the window, except scrollable ones.
const OVERFLOW: &str = include_str!("scripts/overflow.js");

const WATCH_FOCUS: &str = include_str!("scripts/keyboard.js");

/// Only long lists exceed it.
const MAX_STOPS: usize = 150;

/// Between the page's last and first stop.
const STOPS_OUTSIDE: usize = 3;

/// Loaded rows and scrollable lists add stops.
const ROUNDS: usize = 2;

impl Browser {
    pub(crate) async fn violations(&self) -> Vec<String> {
        assert!(
            Path::new(AXE).exists(),
            "axe-core is not installed: run `npm ci --prefix tests/axe`, or ./tests/run, which does so"
        );
        if self.ask("return typeof axe === 'undefined'").await == true {
            self.ask(&fs::read_to_string(AXE).unwrap()).await;
        }
        texts(&self.client.execute_async(RUN_AXE, Vec::new()).await.unwrap())
    }

    pub(crate) async fn overflowing(&self) -> Vec<String> {
        texts(&self.ask(OVERFLOW).await)
    }

    pub(crate) async fn unreachable_by_keyboard(&self) -> Vec<String> {
        let stops = self.ask(WATCH_FOCUS).await.as_u64().unwrap();
        let stops = usize::try_from(stops).unwrap();
        assert!(stops <= MAX_STOPS, "{stops} stops exceed the limit");
        let mut missed = Vec::new();
        for _ in 0..ROUNDS {
            let tabs = iter::repeat_n(Key::Tab.into(), stops + STOPS_OUTSIDE);
            self.client.press(tabs).await.unwrap();
            missed = texts(&self.ask("return window.__reached()").await);
            if missed.is_empty() {
                break;
            }
        }
        missed
    }
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}
