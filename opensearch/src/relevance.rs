//! Relevance order.
//!
//! OpenSearch ranks all matches by its BM25, boosted to the words' weight in the scope. The scores of the best are then
//! computed from their counts and lengths alone, so that no other tenant's texts change their order.

mod clauses;
mod ranked_document;
mod ranking;
mod statistics;

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use futures::future::{try_join, try_join_all};
use serde_json::{Value, json};
use trawl_engine::relevance::parameters::FEEDBACK_DOCUMENTS;
use trawl_engine::relevance::{
    FeedbackDocument, FeedbackTerm, Frequencies, MatchScore, RESCORED_MATCHES, feedback_candidates,
};
use trawl_engine::{Failure, Hit, HitPage, RankedPage, RankedScope, Request, Scope, ScopeStart, Texts};

use self::clauses::{NamedClauses, ScorePart};
use self::ranked_document::RankedDocument;
use self::ranking::{OpenSearchRanking, RankedModule};
use self::statistics::{Statistics, VisibleDocuments};
use crate::counting::Searched;
use crate::document::{document_id, read_hit};
use crate::layout::halves;
use crate::query::matches;
use crate::served_indexes::{ServedIndexes, hits_of, total_of};
use crate::time_order;

/// Best matches of OpenSearch in a module that get the order of the request's scopes.
///
/// More than [`RESCORED_MATCHES`], as OpenSearch takes mean lengths from all scopes of an index. The number is fixed, so pages
/// join without gaps.
const REORDERED_MATCHES: usize = 400;

/// The page after the skipped matches of each scope.
///
/// All replicas search one cluster, so that matches are counted and not placed.
pub(crate) async fn page(
    indexes: &ServedIndexes,
    request: &Request,
    list: &RankedPage,
) -> Result<HitPage, Failure> {
    let RankedPage { start: ScopeStart { skip, .. }, beside, now, recency, .. } = list;
    let (skip, recency) = (*skip, |display_time| recency.factor(*now, display_time));
    if request.query.is_empty() {
        return Ok(HitPage::default());
    }
    let request = &without_missing(indexes, request, beside).await?;
    let ranking = OpenSearchRanking::read(indexes, request, skip, beside).await?;
    let modules = ranking.modules.iter().map(|module| matches(&module.request, Some(&ranking.words)));
    // All modules agree on whether anything can match.
    let Some(matches) = modules.collect::<Option<Vec<Value>>>() else { return Ok(HitPage::default()) };
    if ranking.words.is_empty() {
        return newest(indexes, request.limit, &ranking.modules, &matches).await;
    }
    let count = async |(module, matches): (&RankedModule, &Value)| {
        let query = ranking.counted_matches(module, matches);
        let count = json!({"query": query, "size": 0, "track_total_hits": true});
        total_of(&indexes.search_one(&module.request, &count).await?)
    };
    let in_modules = || ranking.modules.iter().zip(&matches);
    let counted = try_join_all(in_modules().map(count));
    if request.limit == 0 {
        return Ok(page_of(Vec::new(), counted.await?, &ranking.modules));
    }
    let is_alone = beside.is_empty();
    let is_rescored = skip < RESCORED_MATCHES || !is_alone;
    let best = in_modules().enumerate().map(async |(number, (module, matches))| {
        let reordered = if is_alone && skip >= REORDERED_MATCHES { 0 } else { REORDERED_MATCHES };
        let others = module.skip.max(REORDERED_MATCHES)..module.skip.saturating_add(request.limit);
        let (mut best, others) = try_join(
            ranked(indexes, &ranking, (number, module), matches, 0..reordered, is_rescored),
            ranked(indexes, &ranking, (number, module), matches, others, false),
        )
        .await?;
        best.sort_by(RankedDocument::compare);
        best.extend(others);
        let best = best.into_iter().scan(f32::MAX, |least, document| {
            *least = least.min(document.score.total());
            Some(RankedDocument { score: MatchScore::from_words(*least), ..document })
        });
        Ok::<_, Failure>((best.collect::<VecDeque<_>>(), module.skip.min(reordered)))
    });
    let (totals, best) = try_join(counted, try_join_all(best)).await?;
    let (best, mut skipped): (Vec<_>, Vec<_>) = best.into_iter().unzip();
    let mut best = merge(best);
    let mut hits = Hits { indexes, modules: &ranking.modules, read: HashMap::new() };
    if is_rescored {
        let rescored = best.len().min(RESCORED_MATCHES);
        let (best, others) = best.split_at_mut(rescored);
        rescore(&mut hits, &ranking, best, recency).await?;
        let least = best.last().map_or(f32::MAX, |document| document.score.total());
        for document in others {
            document.score.words = document.score.words.min(least);
        }
    }
    best.retain(|document| {
        let left = &mut skipped[document.module];
        let is_skipped = *left > 0;
        *left -= usize::from(is_skipped);
        !is_skipped
    });
    best.truncate(request.limit);
    let page = page_of(hits.take(&best).await?, totals, &ranking.modules);
    Ok(HitPage { statistics: Some(Arc::new(ranking.into_statistics(&request.query))), ..page })
}

/// Queries of the matches, one for each scope.
pub(crate) async fn selections(
    indexes: &ServedIndexes,
    request: &Request,
    beside: &[RankedScope],
) -> Result<Vec<(Arc<Scope>, Value)>, Failure> {
    if request.query.is_empty() {
        return Ok(Vec::new());
    }
    let request = &without_missing(indexes, request, beside).await?;
    let ranking = OpenSearchRanking::read(indexes, request, 0, beside).await?;
    let selection = |module: &RankedModule| {
        let matches = matches(&module.request, Some(&ranking.words))?;
        let is_wordless = ranking.words.is_empty();
        let selected = if is_wordless { matches } else { ranking.counted_matches(module, &matches) };
        Some((Arc::clone(&module.request.scope), selected))
    };
    Ok(ranking.modules.iter().filter_map(selection).collect())
}

/// All matches are equal, so the newest come first.
async fn newest(
    indexes: &ServedIndexes,
    limit: usize,
    modules: &[RankedModule],
    matches: &[Value],
) -> Result<HitPage, Failure> {
    let pages = modules.iter().zip(matches).enumerate().map(async |(scope, (module, matches))| {
        let limit = module.skip.saturating_add(limit);
        let request = Request { limit, ..module.request.clone() };
        let page = time_order::page(indexes, &request, matches, None, None).await?;
        let hits = page.hits.into_iter().skip(module.skip).map(move |hit| Hit { scope, ..hit });
        Ok::<_, Failure>((hits.collect::<Vec<Hit>>(), page.total))
    });
    let (hits, totals): (Vec<_>, Vec<_>) = try_join_all(pages).await?.into_iter().unzip();
    let mut hits = hits.concat();
    hits.sort_by(|left, right| {
        right.display_time.cmp(&left.display_time).then_with(|| left.id.cmp(&right.id))
    });
    hits.truncate(limit);
    Ok(page_of(hits, totals, modules))
}

fn page_of(hits: Vec<Hit>, totals: Vec<u64>, modules: &[RankedModule]) -> HitPage {
    let more_by_scope = totals.iter().zip(modules).enumerate().map(|(scope, (total, module))| {
        let shown = hits.iter().filter(|hit| hit.scope == scope).count();
        (module.skip.saturating_add(shown) as u64) < *total
    });
    let more_by_scope: Vec<bool> = more_by_scope.collect();
    let more = more_by_scope.contains(&true);
    let mut totals = totals.into_iter();
    let total = totals.next().unwrap_or(0);
    HitPage { hits, total, totals_beside: totals.collect(), more, more_by_scope, ..HitPage::default() }
}

/// Matches of a module at these ranks of OpenSearch, with their scores.
async fn ranked(
    indexes: &ServedIndexes,
    ranking: &OpenSearchRanking,
    (number, module): (usize, &RankedModule),
    matches: &Value,
    ranks: Range<usize>,
    is_counted: bool,
) -> Result<Vec<RankedDocument>, Failure> {
    if ranks.is_empty() {
        return Ok(Vec::new());
    }
    let (query, named) = ranking.scored_matches(module, matches, is_counted);
    let search = json!({
        "query": query, "from": ranks.start, "size": ranks.len(), "track_total_hits": false,
        "sort": ["_score", {"display_time": "desc"}, {"id": "asc"}],
    });
    let mut documents = documents(indexes, (number, module), search, &named).await?;
    for document in &mut documents {
        document.score = MatchScore::from_words(ranking.score(document));
    }
    Ok(documents)
}

/// Runs a search with named clauses, and reads what they say of its hits.
async fn documents(
    indexes: &ServedIndexes,
    (number, module): (usize, &RankedModule),
    mut search: Value,
    named: &NamedClauses<'_>,
) -> Result<Vec<RankedDocument>, Failure> {
    // Items are read of the few that need them.
    search["stored_fields"] = "_none_".into();
    search["docvalue_fields"] = json!(["body_length", "title_length"]);
    let found = hits_of(indexes.search_with_scores(&module.request, search).await?)?;
    let documents = found.iter().map(|hit| RankedDocument::read(number, hit, named)).collect::<Option<_>>();
    documents.ok_or_else(|| Failure::Failed("OpenSearch answered a hit without its document".to_owned()))
}

/// The request with the parts of whole tokens that the viewer lacks.
async fn without_missing(
    indexes: &ServedIndexes,
    request: &Request,
    beside: &[RankedScope],
) -> Result<Request, Failure> {
    let mut whole_tokens = request.query.whole_token_queries();
    if whole_tokens.is_empty() {
        return Ok(request.clone());
    }
    let beside = beside.iter().map(|beside| &beside.scope);
    let scopes: Vec<Arc<Scope>> = std::iter::once(&request.scope).chain(beside).map(Arc::clone).collect();
    let searched = Searched { indexes, scopes: &scopes, principals: &request.principals };
    let mut found =
        searched.count(whole_tokens.iter().map(|whole| vec![whole.clone()]), 1).await?.into_iter();
    whole_tokens.retain(|_| found.next() == Some(0));
    Ok(Request { query: Arc::new(request.query.with_parts_of(&whole_tokens)), ..request.clone() })
}

/// Merges matches of modules, and keeps the order within each.
fn merge(mut modules: Vec<VecDeque<RankedDocument>>) -> Vec<RankedDocument> {
    let mut merged = Vec::with_capacity(modules.iter().map(VecDeque::len).sum());
    loop {
        let fronts = modules.iter().enumerate().filter_map(|(place, module)| Some((place, module.front()?)));
        let Some((place, _)) = fronts.min_by(|(_, left), (_, right)| left.compare(right)) else {
            return merged;
        };
        merged.extend(modules[place].pop_front());
    }
}

async fn rescore(
    hits: &mut Hits<'_>,
    ranking: &OpenSearchRanking,
    best: &mut [RankedDocument],
    recency: impl Fn(i64) -> f32,
) -> Result<(), Failure> {
    for document in best.iter_mut() {
        ranking.rescore(document);
    }
    best.sort_by(RankedDocument::compare);
    if ranking.words.prefers_a_spelling() {
        let first = best.len().min(FEEDBACK_DOCUMENTS);
        hits.read(&best[..first]).await?;
        for document in &mut best[..first] {
            let hit = hits.read.get(&(document.module, document.id.clone()));
            let texts = hit.map(|hit| Texts::read(&hit.item)).unwrap_or_default();
            document.score.nearness += ranking.words.typed_spelling_score(&texts);
        }
        best.sort_by(RankedDocument::compare);
    }
    if ranking.words.takes_feedback(best.len()) {
        add_feedback(hits, ranking, best).await?;
    }
    for document in best.iter_mut() {
        document.score.recency = recency(document.display_time);
    }
    best.sort_by(RankedDocument::compare);
    Ok(())
}

async fn add_feedback(
    hits: &mut Hits<'_>,
    ranking: &OpenSearchRanking,
    best: &mut [RankedDocument],
) -> Result<(), Failure> {
    let indexes = hits.indexes;
    let first = &best[..best.len().min(FEEDBACK_DOCUMENTS)];
    hits.read(first).await?;
    let read: Vec<FeedbackDocument> = first
        .iter()
        .filter_map(|document| {
            let item = &hits.read.get(&(document.module, document.id.clone()))?.item;
            Some(FeedbackDocument::read(item, document.score.total(), document.lengths.body))
        })
        .collect();
    let candidates = feedback_candidates(&read, &ranking.body);
    if candidates.is_empty() {
        return Ok(());
    }
    let words: Vec<&str> = candidates.iter().map(|candidate| candidate.word.as_str()).collect();
    let statistics_of_modules = ranking.modules.iter().map(async |module| {
        let mut terms = vec![module.prefix.marker().to_owned()];
        terms.extend(words.iter().map(|word| module.prefix.term(word)));
        let statistics = Statistics::read(indexes, &module.request, &terms, &[]).await?;
        let restricted = VisibleDocuments::count(indexes, &module.request, &statistics, &terms).await?;
        let frequencies = statistics.frequencies(&restricted, &module.prefix, words.iter().copied());
        Ok::<_, Failure>((statistics, frequencies))
    });
    let mut frequencies = Frequencies::default();
    let mut statistics = Vec::with_capacity(ranking.modules.len());
    for (of_module, in_module) in try_join_all(statistics_of_modules).await? {
        statistics.push(of_module);
        frequencies.add(in_module);
    }
    let feedback = ranking.words.feedback_terms(candidates, &frequencies);

    let modules = ranking.modules.iter().zip(&statistics).enumerate();
    let counted = modules.map(|(number, (module, statistics))| {
        let of_module = best.iter().filter(|document| document.module == number);
        let ids: Vec<&str> = of_module.map(|document| document.id.as_str()).collect();
        count_feedback(indexes, (number, module), statistics, &feedback, ids)
    });
    let counted = try_join_all(counted).await?;
    let counted: HashMap<(usize, &str), &RankedDocument> = counted
        .iter()
        .flatten()
        .map(|document| ((document.module, document.id.as_str()), document))
        .collect();
    for document in best {
        let Some(counted) = counted.get(&(document.module, document.id.as_str())) else { continue };
        for (number, term) in feedback.iter().enumerate() {
            let count = counted.count(ScorePart::Feedback(number));
            if count > 0 {
                document.score.feedback += term.score(ranking.body.of(count, document.lengths.body));
            }
        }
    }
    Ok(())
}

/// Counts terms of the feedback in documents of a module.
async fn count_feedback(
    indexes: &ServedIndexes,
    (number, module): (usize, &RankedModule),
    statistics: &Statistics,
    feedback: &[FeedbackTerm],
    ids: Vec<&str>,
) -> Result<Vec<RankedDocument>, Failure> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut named = NamedClauses::new(statistics);
    let mut should = Vec::new();
    for half in halves(&module.request.principals) {
        for (number, term) in feedback.iter().enumerate() {
            let part = ScorePart::Feedback(number);
            should.extend(named.plain_term(part, half.body, &module.prefix.term(&term.word)));
        }
    }
    let scope_prefix = module.request.scope.prefix();
    let documents: Vec<String> = ids.iter().map(|id| document_id(&scope_prefix, id)).collect();
    let search = json!({
        "query": {"bool": {"filter": {"ids": {"values": documents}}, "should": should}},
        "size": ids.len(), "track_total_hits": false,
        "sort": [{"display_time": "desc"}, {"id": "asc"}],
    });
    self::documents(indexes, (number, module), search, &named).await
}

/// Hits by the place of their module and their ids, read once.
struct Hits<'a> {
    indexes: &'a ServedIndexes,
    modules: &'a [RankedModule],
    read: HashMap<(usize, String), Hit>,
}

impl Hits<'_> {
    async fn read(&mut self, documents: &[RankedDocument]) -> Result<(), Failure> {
        let reading = self.modules.iter().enumerate().map(async |(number, module)| {
            let prefix = module.request.scope.prefix();
            let missing = documents.iter().filter(|document| {
                document.module == number && !self.read.contains_key(&(number, document.id.clone()))
            });
            let missing: Vec<String> = missing.map(|document| document_id(&prefix, &document.id)).collect();
            if missing.is_empty() {
                return Ok(Vec::new());
            }
            let search = json!({
                "query": {"ids": {"values": missing}}, "size": missing.len(), "track_total_hits": false,
                "sort": [{"display_time": "desc"}, {"id": "asc"}],
            });
            let found = hits_of(self.indexes.search_one(&module.request, &search).await?)?;
            let hits = found.into_iter().filter_map(|mut hit| read_hit(&mut hit));
            Ok::<_, Failure>(hits.map(|hit| Hit { scope: number, ..hit }).collect::<Vec<Hit>>())
        });
        let read = try_join_all(reading).await?.concat();
        self.read.extend(read.into_iter().map(|hit| ((hit.scope, hit.id.clone()), hit)));
        Ok(())
    }

    /// Reads hits in the order of the documents, except removed ones.
    async fn take(mut self, documents: &[RankedDocument]) -> Result<Vec<Hit>, Failure> {
        self.read(documents).await?;
        let hit = |document: &RankedDocument| {
            let hit = self.read.remove(&(document.module, document.id.clone()))?;
            Some(Hit { score: Some(document.score), ..hit })
        };
        Ok(documents.iter().filter_map(hit).collect())
    }
}
