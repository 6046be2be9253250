//! Both engines answer alike over real texts. [`differences`] lists what they do not.

#![allow(clippy::unwrap_used, reason = "tests say what they expect by unwrapping it")]

mod comparison;
mod corpus;
mod differences;
mod engines;
mod judged;
#[path = "../node/mod.rs"]
mod node;
#[path = "../../../engine/tests/suite/quality.rs"]
mod quality;
mod questions;

use std::sync::{Arc, LazyLock};
use std::time::Instant;

use tokio::runtime::Runtime;
use trawl_engine::Document;

use comparison::{Answered, ask, correct, print};
use engines::Engines;
use judged::engines_rank_equally_well;

/// Distance between the queries, or documents, that questions are made of.
#[derive(Debug, Clone, Copy)]
struct Steps {
    queries: usize,
    documents: usize,
}

static RUNTIME: LazyLock<Arc<Runtime>> = LazyLock::new(|| Arc::new(Runtime::new().unwrap()));

fn texts_are_answered_alike(steps: Steps) {
    let Some(data) = corpus::data() else { return };
    let documents: Vec<Document> = corpus::documents(&data);
    let Some(engines) = Engines::load(&RUNTIME, &documents) else { return };
    println!(
        "{} documents in {}, {:?}, {steps:?}",
        documents.len(),
        engines.layout.index_prefix,
        engines.loading
    );
    let mut questions = questions::list_questions(&data, steps.queries);
    questions.extend(questions::document_questions(&documents, steps.documents));
    let started = Instant::now();
    let answered = RUNTIME.block_on(ask(&engines.views(), questions));
    println!("{} pages in {:.1?}", answered.len(), started.elapsed());
    let (by_time, by_relevance): (Vec<&Answered>, Vec<&Answered>) =
        answered.iter().partition(|answered| answered.is_by_time());
    print("by time", &by_time);
    print("by relevance", &by_relevance);
    differences::are_expected(&documents, &answered);
    RUNTIME.block_on(correct(&engines.views(), questions::misspelt(&documents, steps.documents)));
}

#[test]
fn sampled_questions_are_answered_alike() {
    texts_are_answered_alike(Steps { queries: 15, documents: 200 });
}

#[test]
fn english_abstracts_are_ranked_equally_well() {
    engines_rank_equally_well(&RUNTIME, "cranfield");
}

#[test]
fn long_questions_on_titles_are_ranked_equally_well() {
    engines_rank_equally_well(&RUNTIME, "cacm");
}

#[test]
fn chinese_news_is_ranked_equally_well() {
    engines_rank_equally_well(&RUNTIME, "rgb_zh");
}
