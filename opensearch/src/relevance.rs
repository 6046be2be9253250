//! Relevance order.
//!
//! OpenSearch ranks all matches by its BM25, with boosts that give words their weight in the scope. The scores of the best
//! are then computed from their counts and lengths alone, so that no other tenant's texts change their order.

mod clauses;
mod ranking;
mod statistics;

use std::collections::HashMap;
use std::ops::Range;

use futures::future::try_join3;
use serde_json::{Value, json};
use trawl_engine::relevance::parameters::FEEDBACK_DOCUMENTS;
use trawl_engine::relevance::{FeedbackDocument, RESCORED_MATCHES, feedback_candidates, freshness};
use trawl_engine::{Failure, Hit, Page, Request};

use self::clauses::{Counts, Lengths, NamedClauses, Part};
pub(crate) use self::ranking::Ranking;
use self::statistics::Statistics;
use crate::document::{document_id, read_hit};
use crate::query::halves;
use crate::view::{OpenSearchView, hits_of, total_of};

/// Best matches of OpenSearch that get the scope's own order.
///
/// More than [`RESCORED_MATCHES`], as OpenSearch takes mean lengths from all scopes of an index. The number is fixed, so pages
/// join without gaps.
const REORDERED_MATCHES: usize = 400;

/// One of the best matches.
struct RankedDocument {
    id: String,
    display_time: i64,
    score: f32,
    lengths: Lengths,
    counts: Counts,
}

impl RankedDocument {
    fn read(found: &Value, named: &NamedClauses<'_>) -> Option<Self> {
        let [.., display_time, id] = found["sort"].as_array()?.as_slice() else { return None };
        let length = |field: &str| u32::try_from(found["fields"][field][0].as_u64()?).ok();
        let lengths = Lengths { body: length("body_length")?, title: length("title_length")? };
        Some(Self {
            id: id.as_str()?.to_owned(),
            display_time: display_time.as_i64()?,
            score: 0.0,
            lengths,
            counts: named.counts(found, lengths),
        })
    }

    fn count(&self, part: Part) -> u32 {
        self.counts.get(&part).copied().unwrap_or(0)
    }
}

/// The page of a request in relevance order, with the total.
pub(crate) async fn page(
    view: &OpenSearchView,
    request: &Request,
    ranking: &Ranking,
    matches: &Value,
    skip: usize,
    now: i64,
) -> Result<Page, Failure> {
    let count =
        json!({"query": ranking.counted_matches(request, matches), "size": 0, "track_total_hits": true});
    if request.limit == 0 {
        let total = total_of(&view.search_one(request, &count).await?)?;
        return Ok(Page { total, more: (skip as u64) < total, ..Page::default() });
    }
    let is_rescored = skip < RESCORED_MATCHES;
    let ranked = async |ranks: Range<usize>, is_counted: bool| {
        if ranks.is_empty() {
            return Ok(Vec::new());
        }
        let (query, named) = ranking.scored_matches(request, matches, is_counted);
        let search = json!({
            "query": query, "from": ranks.start, "size": ranks.len(), "track_total_hits": false,
            "sort": ["_score", {"display_time": "desc"}, {"id": "asc"}],
        });
        documents(view, request, search, &named).await
    };
    let end = skip.saturating_add(request.limit);
    let reordered = if skip < REORDERED_MATCHES { 0..REORDERED_MATCHES } else { 0..0 };
    let (counted, mut best, others) = try_join3(
        view.search_one(request, &count),
        ranked(reordered, is_rescored),
        ranked(skip.max(REORDERED_MATCHES)..end, false),
    )
    .await?;
    let total = total_of(&counted)?;
    for document in &mut best {
        document.score = ranking.score(document);
    }
    sort(&mut best);
    let mut hits = Hits { view, request, read: HashMap::new() };
    if is_rescored {
        let count = best.len().min(RESCORED_MATCHES);
        rescore(&mut hits, ranking, &mut best[..count], now).await?;
    }
    let page = best.iter().skip(skip).chain(&others).take(request.limit);
    let page: Vec<&str> = page.map(|document| document.id.as_str()).collect();
    let end = skip.saturating_add(page.len());
    Ok(Page { hits: hits.take(&page).await?, total, more: (end as u64) < total, cut: false })
}

/// Runs a search with named clauses, and reads what they say of its hits.
async fn documents(
    view: &OpenSearchView,
    request: &Request,
    mut search: Value,
    named: &NamedClauses<'_>,
) -> Result<Vec<RankedDocument>, Failure> {
    // Items are read of the few that need them.
    search["stored_fields"] = "_none_".into();
    search["docvalue_fields"] = json!(["body_length", "title_length"]);
    let found = hits_of(view.search_with_scores(request, search).await?)?;
    let documents = found.iter().map(|hit| RankedDocument::read(hit, named)).collect::<Option<_>>();
    documents.ok_or_else(|| Failure::Failed("OpenSearch answered a hit without its document".to_owned()))
}

async fn rescore(
    hits: &mut Hits<'_>,
    ranking: &Ranking,
    best: &mut [RankedDocument],
    now: i64,
) -> Result<(), Failure> {
    for document in best.iter_mut() {
        document.score = ranking.rescored(document);
    }
    sort(best);
    if ranking.words.takes_feedback(best.len()) {
        add_feedback(hits, ranking, best).await?;
    }
    for document in best.iter_mut() {
        document.score *= freshness(now, document.display_time);
    }
    sort(best);
    Ok(())
}

async fn add_feedback(
    hits: &mut Hits<'_>,
    ranking: &Ranking,
    best: &mut [RankedDocument],
) -> Result<(), Failure> {
    let (view, request) = (hits.view, hits.request);
    let first = &best[..best.len().min(FEEDBACK_DOCUMENTS)];
    hits.read(first.iter().map(|document| document.id.as_str())).await?;
    let read: Vec<FeedbackDocument> = first
        .iter()
        .filter_map(|document| {
            let item = &hits.read.get(&document.id)?.item;
            Some(FeedbackDocument::read(item, document.score, document.lengths.body))
        })
        .collect();
    let candidates = feedback_candidates(&read, &ranking.body);
    if candidates.is_empty() {
        return Ok(());
    }
    let prefix = &ranking.prefix;
    let mut terms = vec![prefix.marker().to_owned()];
    terms.extend(candidates.iter().map(|candidate| prefix.term(&candidate.word)));
    let statistics = Statistics::read(view, request, &terms, &[]).await?;
    let words = candidates.iter().map(|candidate| candidate.word.as_str());
    let mut frequencies = statistics.frequencies(prefix, words);
    frequencies.documents = ranking.documents;
    let feedback = ranking.words.feedback_terms(candidates, &frequencies);

    let mut named = NamedClauses::new(&statistics);
    let mut should = Vec::new();
    for half in halves(&request.principals) {
        for (number, term) in feedback.iter().enumerate() {
            let part = Part::Feedback(number);
            should.extend(named.plain_term(part, half.body, &prefix.term(&term.word)));
        }
    }
    let scope_prefix = request.scope.prefix();
    let ids = best.iter().map(|document| document_id(&scope_prefix, &document.id));
    let search = json!({
        "query": {"bool": {"filter": {"ids": {"values": ids.collect::<Vec<_>>()}}, "should": should}},
        "size": best.len(), "track_total_hits": false,
        "sort": [{"display_time": "desc"}, {"id": "asc"}],
    });
    let counted = documents(view, request, search, &named).await?;
    let counted: HashMap<&str, &RankedDocument> =
        counted.iter().map(|document| (document.id.as_str(), document)).collect();
    for document in best {
        let Some(counted) = counted.get(document.id.as_str()) else { continue };
        for (number, term) in feedback.iter().enumerate() {
            let count = counted.count(Part::Feedback(number));
            if count > 0 {
                document.score += term.score(ranking.body.of(count, document.lengths.body));
            }
        }
    }
    Ok(())
}

/// Documents of a search by their ids, read once.
struct Hits<'a> {
    view: &'a OpenSearchView,
    request: &'a Request,
    read: HashMap<String, Hit>,
}

impl Hits<'_> {
    async fn read(&mut self, ids: impl Iterator<Item = &str>) -> Result<(), Failure> {
        let prefix = self.request.scope.prefix();
        let missing = ids.filter(|id| !self.read.contains_key(*id));
        let missing: Vec<String> = missing.map(|id| document_id(&prefix, id)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let search = json!({
            "query": {"ids": {"values": missing}}, "size": missing.len(), "track_total_hits": false,
            "sort": [{"display_time": "desc"}, {"id": "asc"}],
        });
        for mut hit in hits_of(self.view.search_one(self.request, &search).await?)? {
            if let Some(hit) = read_hit(&mut hit) {
                self.read.insert(hit.id.clone(), hit);
            }
        }
        Ok(())
    }

    /// In the order of the ids; those that were removed meanwhile are left out.
    async fn take(mut self, ids: &[&str]) -> Result<Vec<Hit>, Failure> {
        self.read(ids.iter().copied()).await?;
        Ok(ids.iter().filter_map(|id| self.read.remove(*id)).collect())
    }
}

/// By score, time and id.
fn sort(documents: &mut [RankedDocument]) {
    documents.sort_by(|left, right| {
        let by_score = right.score.total_cmp(&left.score);
        let by_time = by_score.then_with(|| right.display_time.cmp(&left.display_time));
        by_time.then_with(|| left.id.cmp(&right.id))
    });
}
