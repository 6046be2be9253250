//! Quality of relevance order on the judged collections of `../shared/data/eval`.

#![allow(clippy::cast_precision_loss, reason = "counts of documents, and ranks")]

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use flate2::read::GzDecoder;
use futures::{StreamExt, TryStreamExt, stream};
use serde::Deserialize;
use serde_json::json;
use tokio::runtime::Runtime;
use trawl_engine::{Audience, Document, Query, Request, Scope, Start, View};

use crate::corpus;
use crate::engines::Engines;
use crate::quality::{GAIN_RANKS, Judgements, average_precision, normalised_gain, read_judgements};

/// A lower rank counts as not found.
const DEPTH: usize = 1_000;
const AT_ONCE: usize = 4;
/// Between the engines, of either measure.
const MAX_DISTANCE: f64 = 0.005;

#[derive(Deserialize)]
struct Row {
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

/// Means over all judged questions.
#[derive(Debug, Clone, Copy)]
struct Quality {
    average_precision: f64,
    gain: f64,
}

/// Fails where the engines' measures are apart.
pub(crate) fn engines_rank_equally_well(runtime: &Arc<Runtime>, collection: &str) {
    let Some(data) = corpus::data() else { return };
    let folder = data.join("eval").join(collection);
    let scope = Arc::new(Scope::new(1, "article"));
    let rows =
        rows(&folder.join("docs.jsonl.gz")).filter(|row| !row.title.is_empty() || !row.text.is_empty());
    let documents: Vec<Document> = rows.map(|row| document(&scope, row)).collect();
    let Some(engines) = Engines::load(runtime, &documents) else { return };
    let judgements = read_judgements(&folder.join("qrels.tsv"));
    let questions: Vec<Row> = rows_of_questions(&folder, &judgements);
    let [embedded, opensearch] =
        engines.views().map(|view| runtime.block_on(quality(view, &scope, &questions, &judgements)));
    println!(
        "{collection}: {} documents, {} questions: MAP {:.4} and {:.4}, nDCG@{GAIN_RANKS} {:.4} and {:.4}",
        documents.len(),
        questions.len(),
        embedded.average_precision,
        opensearch.average_precision,
        embedded.gain,
        opensearch.gain
    );
    for (embedded, opensearch) in
        [(embedded.average_precision, opensearch.average_precision), (embedded.gain, opensearch.gain)]
    {
        assert!((embedded - opensearch).abs() <= MAX_DISTANCE, "{collection}: {embedded} and {opensearch}");
    }
}

async fn quality(
    view: Arc<dyn View>,
    scope: &Arc<Scope>,
    questions: &[Row],
    judgements: &Judgements,
) -> Quality {
    let of_question = async |question: &Row| {
        let all = Request::total_of(scope, &Arc::default(), Arc::new(Query::parse(&question.text)));
        let request = Request { start: Start::relevance(0, 0), limit: DEPTH, ..all };
        let page = view.search(&Arc::new(request)).await?;
        let ranked: Vec<String> = page.hits.into_iter().map(|hit| hit.id).collect();
        let judged = &judgements[&question.id];
        Ok::<_, trawl_engine::Failure>((average_precision(&ranked, judged), normalised_gain(&ranked, judged)))
    };
    let measured: Vec<(f64, f64)> =
        stream::iter(questions).map(of_question).buffer_unordered(AT_ONCE).try_collect().await.unwrap();
    let mean = |of: fn(&(f64, f64)) -> f64| measured.iter().map(of).sum::<f64>() / measured.len() as f64;
    Quality { average_precision: mean(|of| of.0), gain: mean(|of| of.1) }
}

fn document(scope: &Scope, Row { id, title, text }: Row) -> Document {
    Document {
        scope: scope.clone(),
        item: json!({"itemId": id, "title": title, "brief": text}).to_string(),
        id,
        title,
        brief: text,
        audience: Audience::Tenant,
        ..Document::default()
    }
}

/// Those with a relevant document.
fn rows_of_questions(folder: &Path, judgements: &Judgements) -> Vec<Row> {
    let is_judged =
        |row: &Row| judgements.get(&row.id).is_some_and(|judged| judged.values().any(|&grade| grade > 0));
    rows(&folder.join("queries.jsonl.gz")).filter(is_judged).collect()
}

fn rows(file: &Path) -> impl Iterator<Item = Row> + use<> {
    let lines = BufReader::new(GzDecoder::new(File::open(file).unwrap())).lines();
    lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}
