//! Real questions over real texts find something in either order.
//!
//! The texts are not part of the project; without them the test prints a line.

use futures::{StreamExt, stream};
use serde_json::{Value, json};

use super::real_texts::lines;
use crate::util::{app::TestApp, caller::Caller};

/// One of this many questions with a matching word may find nothing.
const MAX_UNANSWERED_SHARE: usize = 50;
const AT_ONCE: usize = 4;
const BRIEF_CHARS: usize = 500;

struct Texts {
    file: &'static str,
    step: usize,
    rows: usize,
}

#[tokio::test]
async fn chinese_questions_find_something_by_time() {
    let texts = [
        Texts { file: "texts/zh_news_xwlb.jsonl.zst", step: 8, rows: 2_000 },
        Texts { file: "texts/zh_weibo_hot_search.jsonl.zst", step: 200, rows: 2_500 },
    ];
    are_answered(&texts, "queries/zh_zhihu_top_search.jsonl.zst", 60).await;
}

#[tokio::test]
async fn english_questions_find_something_by_time() {
    let texts = [
        Texts { file: "texts/en_news_twir_items.jsonl.zst", step: 40, rows: 1_500 },
        Texts { file: "texts/en_feed_ietf_comments.jsonl.zst", step: 20, rows: 1_500 },
    ];
    are_answered(&texts, "queries/en_msmarco_dev_queries.jsonl.zst", 25).await;
}

/// Asks every `step`-th question.
async fn are_answered(texts: &[Texts], questions: &str, step: usize) {
    let Some(questions) = lines(questions) else { return };
    let (app, acme) = TestApp::start_with_acme().await;
    for Texts { file, step, rows } in texts {
        let Some(rows_of_file) = lines(file) else { return };
        let items: Vec<Value> = rows_of_file
            .step_by(*step)
            .take(*rows)
            .map(|row| {
                let row: Value = serde_json::from_str(&row).unwrap();
                let text = row["text"].as_str().unwrap();
                let brief: String = text.chars().take(BRIEF_CHARS).collect();
                let title = row["title"].as_str().filter(|title| !title.is_empty());
                let title: String = title.unwrap_or(text).chars().take(100).collect();
                json!({"id": row["id"], "title": title, "brief": brief})
            })
            .collect();
        app.put_contents(&acme.caller, "article", &items).await;
    }
    let questions: Vec<String> = questions
        .step_by(step)
        .map(|row| serde_json::from_str::<Value>(&row).unwrap()["query"].as_str().unwrap().to_owned())
        .collect();
    let answered: Vec<(&str, [bool; 3])> = stream::iter(&questions)
        .map(|question| async {
            let by_relevance = has_matching_word(&acme.caller, question).await;
            let by_time = finds(&acme.caller, question, ("sort", "time")).await;
            let as_typed = finds(&acme.caller, question, ("exact", "true")).await;
            (question.as_str(), [by_relevance, by_time, as_typed])
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let count = |is: fn(&[bool; 3]) -> bool| answered.iter().filter(|(_, found)| is(found)).count();
    let matching = count(|[by_relevance, ..]| *by_relevance);
    let as_typed = count(|[.., as_typed]| *as_typed);
    let unanswered: Vec<&str> = answered
        .iter()
        .filter(|(_, [by_relevance, by_time, _])| *by_relevance && !by_time)
        .map(|(question, _)| *question)
        .collect();
    println!(
        "{} questions: {matching} with a matching word, of which {} find nothing by time: {unanswered:?}; {as_typed} find something as typed",
        answered.len(),
        unanswered.len()
    );
    assert!(matching * 4 > answered.len(), "too few questions match to tell");
    assert!(as_typed < matching, "no question needs fewer words");
    assert!(unanswered.len() * MAX_UNANSWERED_SHARE <= matching, "{unanswered:?}");
}

async fn finds(caller: &Caller, question: &str, parameter: (&str, &str)) -> bool {
    let parameters = [("keyword", question), ("moduleId", "article"), ("limit", "1"), parameter];
    caller.search(&parameters).await.ok().total() > 0
}

/// Whether an item holds more of a question than single characters.
async fn has_matching_word(caller: &Caller, question: &str) -> bool {
    let parameters = [
        ("keyword", question),
        ("moduleId", "article"),
        ("limit", "20"),
        ("sort", "relevance"),
        ("highlight", "true"),
    ];
    let found = caller.search(&parameters).await.ok();
    let mut texts = found.items().iter().flat_map(|item| {
        ["title", "brief"].map(|field| item["highlight"][field].as_str().unwrap_or_default())
    });
    texts.any(|html| {
        html.split("<em>").skip(1).any(|part| part.split("</em>").next().unwrap().chars().nth(1).is_some())
    })
}
