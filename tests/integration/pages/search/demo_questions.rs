//! Questions of a person at work, typed into the page over the demo.

use serde_json::{Value, json};

use crate::{
    cli::demo_questions::QUESTIONS,
    util::{
        devtools::Look,
        external::Reply,
        stage::{PERSON, Stage, seen},
    },
};

/// Rows of a module's list among which a person sees the answer at once.
const FIRST: usize = 3;

/// Best results of all modules.
const TOP: usize = 5;

const TYPE: &str = "const box = document.querySelector('#box');
    box.value = KEYWORD;
    box.dispatchEvent(new InputEvent('input', { bubbles: true }));";

/// Id and title of each visible row.
const ROWS: &str = "return [...document.querySelectorAll('.results .row')].filter((row) => row.checkVisibility()).map((row) =>
    [row.dataset.item.slice(row.dataset.item.indexOf('/') + 1), row.querySelector('h3').textContent])";

async fn first_rows(stage: &Stage, most: usize) -> Vec<[String; 2]> {
    stage.wait_until(&seen(".results .row, .results .empty")).await;
    let mut rows: Vec<_> = serde_json::from_value(stage.browser.ask(ROWS).await).unwrap_or_default();
    rows.truncate(most);
    rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typed_questions_have_their_answer_among_the_first_rows() {
    let stage = Stage::start(Look { language: "en", scheme: "light", size: [1280, 800] }).await;
    // The archive finds all it has for any words.
    let nothing = json!({"code": 200, "message": null, "data": [], "total": 0, "count": 0});
    stage.archive.set_reply(Reply::Body(nothing.to_string()));
    stage.sign_in(PERSON, "/", &seen(".start-parts h2")).await;
    let (mut shown, mut failures) = ("", Vec::new());
    for (module, keyword, expected) in QUESTIONS {
        if module != shown {
            shown = module;
            let (path, is_there) = match module {
                "" => ("/".to_owned(), ".start-parts h2"),
                _ => (format!("/?module={module}"), ".list .row"),
            };
            stage.open(&path, &seen(is_there)).await;
        }
        let most = if module.is_empty() { TOP } else { FIRST };
        stage.browser.ask(&TYPE.replace("KEYWORD", &json!(keyword).to_string())).await;
        let mut rows = first_rows(&stage, most).await;
        let is_answer = |row: &[String; 2]| row.iter().any(|text| text.starts_with(expected));
        if !rows.iter().any(is_answer) {
            // The best results do not wait for a slow contract system.
            stage.browser.client.refresh().await.unwrap();
            rows = first_rows(&stage, most).await;
        }
        if !rows.iter().any(is_answer) {
            failures.push(format!("{module} {keyword}: {expected}, not {rows:?}"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
    assert_eq!(
        stage.browser.ask("return document.querySelector('[name=sort]:checked').value").await,
        Value::from("relevance")
    );
    stage.end().await;
}
