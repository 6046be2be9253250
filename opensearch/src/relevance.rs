//! Relevance order.
//!
//! OpenSearch ranks all matches by its BM25, with boosts that give words their weight in the scope. The scores of the best
//! are then computed from their words alone, so that no other tenant's texts change their order.

use std::collections::{BTreeMap, HashMap};

use futures::future::try_join;
use serde_json::{Map, Value, json};
use trawl_engine::relevance::parameters::{
    FEEDBACK_DOCUMENTS, HEADING_WEIGHT, MAX_POSITIONS, TITLE_WEIGHT, WHOLE_NAME_WEIGHT,
};
use trawl_engine::relevance::{
    FeedbackDocument, Frequencies, PairCount, RESCORED_MATCHES, Saturation, TypedWords, WeightedWords,
    feedback_candidates, freshness, inverse_document_frequency,
};
use trawl_engine::text::{HEADING, stem};
use trawl_engine::{Failure, Hit, Page, Request};

use crate::document::{SourceWords, read_hit};
use crate::query::{HalfFields, OPEN, RESTRICTED, any, halves, starting_with, term};
use crate::terms::{TermPrefix, placed_words};
use crate::view::{OpenSearchView, total_of};

/// Words of a request, weighed by the frequencies of its scope.
pub(crate) struct Ranking {
    pub(crate) words: WeightedWords,
    prefix: TermPrefix,
    /// What begins with it counts, too.
    start: Option<String>,
    documents: u64,
    body: Saturation,
    title: Saturation,
    /// Term statistics by field.
    statistics: Value,
}

impl Ranking {
    pub(crate) async fn read(view: &OpenSearchView, request: &Request) -> Result<Self, Failure> {
        let prefix = TermPrefix::new(&request.scope);
        let typed = TypedWords::of(&request.query);
        let words: Vec<&str> = typed.terms().collect();
        let start = typed.prefix().map(|prefix| prefix.start.to_owned());
        let marker = prefix.marker().to_owned();
        let mut body = marker.clone();
        let mut title = String::new();
        for word in &words {
            body.push(' ');
            body.push_str(&prefix.term(word));
            for word in [(*word).to_owned(), format!("{HEADING}{word}")] {
                title.push_str(&prefix.term(&word));
                title.push(' ');
            }
        }
        let terms = json!({"open": body, "restricted": body, "open_title": title, "restricted_title": title});
        let lengths = json!({
            "query": term("scope", &marker), "size": 0, "track_total_hits": false,
            "aggs": {"body": {"avg": {"field": "body_length"}}, "title": {"avg": {"field": "title_length"}}},
        });
        let starting = match &start {
            Some(start) => {
                let start = prefix.term(start);
                any(&halves(&request.principals)
                    .map(|half| starting_with(half.body, &start))
                    .collect::<Vec<_>>())
            }
            None => json!({"match_none": {}}),
        };
        let starting = json!({"query": starting, "size": 0, "track_total_hits": true});
        let (statistics, [lengths, starting]) =
            try_join(view.frequencies(request, &terms), view.search_two(request, [&lengths, &starting]))
                .await?;

        let mut frequencies =
            Frequencies { documents: in_both_halves(&statistics, &marker), ..Frequencies::default() };
        for word in words {
            frequencies.by_term.insert(word.to_owned(), in_both_halves(&statistics, &prefix.term(word)));
        }
        // OpenSearch lists no words that begin with another, so they count as one.
        let expansion: BTreeMap<String, u64> = start
            .iter()
            .filter_map(|start| {
                Some((start.clone(), total_of(&starting).ok().filter(|documents| *documents > 0)?))
            })
            .collect();
        let mean =
            |field: &str| Saturation { mean_length: mean_length(&lengths["aggregations"][field]["value"]) };
        Ok(Self {
            documents: frequencies.documents,
            words: typed.weigh(&frequencies, expansion),
            prefix,
            start,
            body: mean("body"),
            title: mean("title"),
            statistics,
        })
    }

    /// Boost that turns the field's own inverse document frequency into the scope's.
    fn boost(&self, field: &str, term: &str, weight: f32) -> Option<f32> {
        let of_field = &self.statistics[field];
        let with_term = of_field["terms"][term]["doc_freq"].as_u64().filter(|documents| *documents > 0)?;
        let documents = of_field["field_statistics"]["doc_count"].as_u64()?;
        Some(weight / inverse_document_frequency(with_term, documents))
    }

    fn scored_matches(&self, request: &Request, matches: &Value) -> Value {
        let mut should = Vec::new();
        for HalfFields { body, title } in halves(&request.principals) {
            for (number, word) in self.words.indexed.iter().enumerate().filter(|(_, word)| word.selects) {
                let weight = word.weight * word.idf;
                let in_body = self.prefix.term(&word.term);
                let in_heading = self.prefix.term(&format!("{HEADING}{}", word.term));
                let name = Some(number.to_string());
                for (field, term, weight, name) in [
                    (body, &in_body, weight, name),
                    (title, &in_body, weight * TITLE_WEIGHT, None),
                    (title, &in_heading, weight * HEADING_WEIGHT, None),
                ] {
                    // Terms without a frequency match nothing.
                    if let Some(boost) = self.boost(field, term, weight) {
                        let mut query = json!({"value": term, "boost": boost});
                        if let Some(name) = name {
                            query["_name"] = name.into();
                        }
                        should.push(json!({"term": {field: query}}));
                    }
                }
            }
            if let (Some(words), Some(start)) = (&self.words.prefix_words, &self.start) {
                let weight = words.weight
                    * inverse_document_frequency(words.documents.min(self.documents), self.documents);
                let filter = starting_with(body, &self.prefix.term(start));
                should.push(json!({"constant_score": {"filter": filter, "boost": weight}}));
            }
            if let Some(whole) = &self.words.whole_name {
                let weight = WHOLE_NAME_WEIGHT * inverse_document_frequency(1, self.documents);
                let filter = term(body, &self.prefix.term(whole));
                should.push(json!({"constant_score": {"filter": filter, "boost": weight}}));
            }
        }
        // Required quotes select all matches.
        let least = u8::from(!self.words.requires_quotes());
        json!({"bool": {"filter": matches, "should": should, "minimum_should_match": least}})
    }

    /// BM25 of the words in one document, as the embedded engine's first step computes it.
    fn score(&self, document: &RankedDocument) -> f32 {
        let in_body = |word: &str| self.body.of(document.count(word), document.words.body_length);
        let in_title = |word: &str| self.title.of(document.title_count(word), document.words.title_length);
        let mut score = 0.0;
        for (number, word) in self.words.indexed.iter().enumerate().filter(|(_, word)| word.selects) {
            let count = document.word_count(number, &word.term);
            let heading = in_title(&format!("{HEADING}{}", word.term));
            let of_title = TITLE_WEIGHT * in_title(&word.term) + HEADING_WEIGHT * heading;
            score += word.weight * word.idf * (self.body.of(count, document.words.body_length) + of_title);
        }
        if let (Some(words), Some(start)) = (&self.words.prefix_words, &self.start) {
            let idf = inverse_document_frequency(words.documents.min(self.documents), self.documents);
            let starting = document.words_starting_with(start);
            score += starting.map(|word| words.weight * idf * in_body(word)).sum::<f32>();
        }
        if let Some(whole) = &self.words.whole_name {
            let idf = inverse_document_frequency(1, self.documents);
            score += WHOLE_NAME_WEIGHT * idf * in_body(whole);
        }
        rounded(score)
    }

    fn rescored(&self, document: &RankedDocument) -> f32 {
        let none = Vec::new();
        let positions = |number: usize| {
            let word = self.words.indexed.get(number).map_or("", |word| word.term.as_str());
            let positions = document.body.get(word).unwrap_or(&none);
            if positions.len() <= MAX_POSITIONS as usize { positions.as_slice() } else { &[] }
        };
        self.words.rescored(
            self.score(document),
            |count| self.body.of(count, document.words.body_length),
            |number| document.word_count(number, &self.words.indexed[number].term),
            |pair| PairCount::of(positions(pair.first), positions(pair.second), pair.distance),
        )
    }
}

/// Rounds, as equal documents need equal scores.
fn rounded(score: f32) -> f32 {
    const KEPT_BITS: u32 = !0xfff;
    f32::from_bits(score.to_bits() & KEPT_BITS)
}

#[expect(clippy::cast_possible_truncation, reason = "a mean length")]
fn mean_length(mean: &Value) -> f32 {
    mean.as_f64().map_or(1.0, |mean| mean as f32)
}

fn in_both_halves(statistics: &Value, term: &str) -> u64 {
    [OPEN, RESTRICTED]
        .iter()
        .filter_map(|half| statistics[half.body]["terms"][term]["doc_freq"].as_u64())
        .sum()
}

/// One of the best matches.
struct RankedDocument {
    hit: Hit,
    score: f32,
    words: SourceWords,
    /// Ascending positions.
    body: HashMap<String, Vec<u32>>,
    title: HashMap<String, u32>,
    /// Numbers of query words that match somewhere in the text.
    matched: Vec<usize>,
}

impl RankedDocument {
    fn read(mut found: Value) -> Option<Self> {
        let score = found["sort"].get(0)?.as_f64()?;
        let names = found["matched_queries"].as_array().into_iter().flatten();
        let matched = names.filter_map(|name| name.as_str()?.parse().ok()).collect();
        let (hit, words) = read_hit(&mut found)?;
        let mut body: HashMap<String, Vec<u32>> = HashMap::new();
        for (position, word) in placed_words(&words.body) {
            body.entry(word).or_default().push(position);
        }
        let mut title: HashMap<String, u32> = HashMap::new();
        for (_, word) in placed_words(&words.title) {
            *title.entry(word).or_default() += 1;
        }
        #[expect(clippy::cast_possible_truncation, reason = "it was one")]
        Some(Self { hit, score: score as f32, words, body, title, matched })
    }

    fn count(&self, word: &str) -> u32 {
        self.body.get(word).map_or(0, |positions| u32::try_from(positions.len()).unwrap_or(u32::MAX))
    }

    /// A word after the kept beginning counts once.
    fn word_count(&self, number: usize, word: &str) -> u32 {
        let is_later = self.words.is_cut && self.matched.contains(&number);
        self.count(word).max(u32::from(is_later))
    }

    fn title_count(&self, word: &str) -> u32 {
        self.title.get(word).copied().unwrap_or(0)
    }

    /// Distinct words without those that a stem covers.
    fn words_starting_with<'a>(&'a self, start: &'a str) -> impl Iterator<Item = &'a str> {
        let own_stem = stem(start);
        self.body.keys().map(String::as_str).filter(move |word| {
            let covering = stem(word);
            let is_covered = covering != *word && covering.starts_with(start);
            word.starts_with(start) && *word != own_stem && covering != own_stem && !is_covered
        })
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
    let query = ranking.scored_matches(request, matches);
    let count = json!({"query": query, "size": 0, "track_total_hits": true});
    if request.limit == 0 {
        let total = total_of(&view.search_one(request, &count).await?)?;
        return Ok(Page { total, more: (skip as u64) < total, ..Page::default() });
    }
    let is_rescored = skip < RESCORED_MATCHES;
    let (from, size) = if is_rescored {
        (0, skip.saturating_add(request.limit).max(RESCORED_MATCHES))
    } else {
        (skip, request.limit)
    };
    let source: &[&str] =
        if is_rescored { &["item", "title_is_name", "words"] } else { &["item", "title_is_name"] };
    let first = json!({
        "query": query, "from": from, "size": size, "track_total_hits": false,
        "sort": ["_score", {"display_time": "desc"}, {"id": "asc"}],
        "_source": source,
    });
    let [counted, mut found] = view.search_two(request, [&count, &first]).await?;
    let total = total_of(&counted)?;
    let Value::Array(found) = found["hits"]["hits"].take() else {
        return Err(Failure::Failed("OpenSearch answered a search without hits".to_owned()));
    };
    let best: Option<Vec<RankedDocument>> = found.into_iter().map(RankedDocument::read).collect();
    let mut best =
        best.ok_or_else(|| Failure::Failed("OpenSearch answered a hit without its document".to_owned()))?;
    if is_rescored {
        let count = best.len().min(RESCORED_MATCHES);
        rescore(view, request, ranking, &mut best[..count], now).await?;
    }
    let skipped = if is_rescored { skip } else { 0 };
    let hits: Vec<Hit> =
        best.into_iter().skip(skipped).take(request.limit).map(|document| document.hit).collect();
    let end = skip.saturating_add(hits.len());
    Ok(Page { more: (end as u64) < total, hits, total, cut: false })
}

async fn rescore(
    view: &OpenSearchView,
    request: &Request,
    ranking: &Ranking,
    best: &mut [RankedDocument],
    now: i64,
) -> Result<(), Failure> {
    for document in best.iter_mut() {
        document.score = ranking.rescored(document);
    }
    sort(best);
    if ranking.words.takes_feedback(best.len()) {
        add_feedback(view, request, ranking, best).await?;
    }
    for document in best.iter_mut() {
        document.score *= freshness(now, document.hit.display_time);
    }
    sort(best);
    Ok(())
}

async fn add_feedback(
    view: &OpenSearchView,
    request: &Request,
    ranking: &Ranking,
    best: &mut [RankedDocument],
) -> Result<(), Failure> {
    let documents: Vec<FeedbackDocument> = best
        .iter()
        .take(FEEDBACK_DOCUMENTS)
        .map(|document| {
            FeedbackDocument::read(&document.hit.item, document.score, document.words.body_length)
        })
        .collect();
    let candidates = feedback_candidates(&documents, &ranking.body);
    if candidates.is_empty() {
        return Ok(());
    }
    let terms: Vec<String> =
        candidates.iter().map(|candidate| ranking.prefix.term(&candidate.word)).collect();
    let terms_of_fields: Map<String, Value> =
        [OPEN, RESTRICTED].iter().map(|half| (half.body.to_owned(), terms.join(" ").into())).collect();
    let statistics = view.frequencies(request, &terms_of_fields.into()).await?;
    let mut frequencies = Frequencies { documents: ranking.documents, ..Frequencies::default() };
    for (candidate, term) in candidates.iter().zip(&terms) {
        frequencies.by_term.insert(candidate.word.clone(), in_both_halves(&statistics, term));
    }
    let feedback = ranking.words.feedback_terms(candidates, &frequencies);
    for document in best {
        for term in &feedback {
            let count = document.count(&term.word);
            if count > 0 {
                document.score += term.score(ranking.body.of(count, document.words.body_length));
            }
        }
    }
    Ok(())
}

/// By score, time and id.
fn sort(documents: &mut [RankedDocument]) {
    documents.sort_by(|left, right| {
        let by_score = right.score.total_cmp(&left.score);
        let by_time = by_score.then_with(|| right.hit.display_time.cmp(&left.hit.display_time));
        by_time.then_with(|| left.hit.id.cmp(&right.hit.id))
    });
}
