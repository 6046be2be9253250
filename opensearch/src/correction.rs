//! Corrects words that find nothing by one edit (decisions 5.7).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use trawl_engine::correction::{
    CorrectableWord, MAX_CANDIDATES, by_likelihood, whole_word, with_corrections,
};
use trawl_engine::{Failure, Request, Scope, View};

use crate::query::halves;
use crate::terms::TermPrefix;
use crate::view::OpenSearchView;

/// `None` if nothing changes.
pub(crate) async fn correct(
    view: &OpenSearchView,
    scope: &Arc<Scope>,
    principals: &Arc<[String]>,
    keyword: &str,
) -> Result<Option<String>, Failure> {
    let mut corrections = Vec::new();
    for CorrectableWord { word, query } in CorrectableWord::all_of(keyword) {
        let request = Arc::new(Request::total_of(scope, principals, query));
        corrections.push(if finds(view, &request).await? {
            None
        } else {
            correction(view, &request, &word).await?
        });
    }
    Ok(with_corrections(keyword, corrections))
}

async fn correction(view: &OpenSearchView, request: &Request, word: &str) -> Result<Option<String>, Failure> {
    // They may occur in invisible or deleted documents only.
    for candidate in candidates(view, request, word).await? {
        let whole = Request::total_of(&request.scope, &request.principals, whole_word(&candidate));
        if finds(view, &Arc::new(whole)).await? {
            return Ok(Some(candidate));
        }
    }
    Ok(None)
}

async fn finds(view: &OpenSearchView, request: &Arc<Request>) -> Result<bool, Failure> {
    Ok(view.search(request).await?.total > 0)
}

/// Words of the scope one edit away, likeliest first.
async fn candidates(view: &OpenSearchView, request: &Request, word: &str) -> Result<Vec<String>, Failure> {
    let prefix = TermPrefix::new(&request.scope);
    let suggestions: serde_json::Map<String, Value> = halves(&request.principals)
        .map(|half| {
            let suggestion = json!({
                "text": prefix.term(word),
                "term": {
                    "field": half.body,
                    "analyzer": "keyword",
                    "suggest_mode": "always",
                    "max_edits": 1,
                    "min_word_length": 1,
                    // Words of other scopes are never candidates.
                    "prefix_length": prefix.marker().chars().count(),
                    "string_distance": "damerau_levenshtein",
                    "accuracy": 0,
                    "max_term_freq": i32::MAX,
                    "size": MAX_CANDIDATES,
                    "shard_size": MAX_CANDIDATES,
                },
            });
            (half.body.to_owned(), suggestion)
        })
        .collect();
    let search = json!({"size": 0, "track_total_hits": false, "suggest": suggestions});
    let answer = view.search_one(request, &search).await?;
    let mut candidates: BTreeMap<String, u64> = BTreeMap::new();
    for half in halves(&request.principals) {
        let options = answer["suggest"][half.body][0]["options"].as_array().into_iter().flatten();
        for option in options {
            let candidate = option["text"].as_str().and_then(|term| prefix.word_of(term));
            // Skips whole names.
            if let Some(candidate) = candidate.filter(|word| word.starts_with(char::is_alphanumeric)) {
                *candidates.entry(candidate).or_insert(0) += option["freq"].as_u64().unwrap_or(0);
            }
        }
    }
    Ok(by_likelihood(word, &candidates))
}
