//! Queries of OpenSearch for a request.

use serde_json::{Value, json};
use trawl_engine::Request;
use trawl_engine::principal_term;
use trawl_engine::query::{Piece, Target, author_pieces};
use trawl_engine::relevance::WeightedWords;

use crate::document::document_id;
use crate::layout::{RESTRICTED, halves};
use crate::terms::TermPrefix;

const AUTHOR: &str = "author";
const ITEM_ID: &str = "_id";

/// Matches of a request, without scores.
///
/// `words`: relevance order, in which unquoted words are not required here.
///
/// `None` if nothing can match.
pub(crate) fn matches(request: &Request, words: Option<&WeightedWords>) -> Option<Value> {
    let prefix = TermPrefix::new(&request.scope);
    let author = request.author.as_deref().map(author_pieces).unwrap_or_default();
    let is_impossible = request.query.is_empty()
        || author.is_empty() && request.author.is_some()
        || words.is_some_and(WeightedWords::cannot_match);
    if is_impossible {
        return None;
    }
    let are_quotes_required = words.is_none_or(WeightedWords::requires_quotes);
    let branches: Vec<Value> = halves(&request.principals)
        .map(|half| {
            let (mut required, mut excluded) = (Vec::new(), Vec::new());
            let mut is_of_half = false;
            for clause in &request.query.clauses {
                let (field, is_text) = match clause.target {
                    Target::Text => (half.body, true),
                    Target::Title => (half.title, true),
                    Target::Author => (AUTHOR, false),
                    Target::Reading => (half.readings, true),
                    Target::Item => (ITEM_ID, false),
                };
                let is_word = clause.target == Target::Text;
                let pieces = clause.pieces.iter().map(|piece| match piece {
                    Piece::Term(id) if field == ITEM_ID => {
                        term(ITEM_ID, &document_id(&request.scope.prefix(), id))
                    }
                    piece => piece_query(&prefix, field, piece),
                });
                if clause.exclude {
                    excluded.push(all(pieces.collect()));
                } else if !is_word || words.is_none() || clause.quoted && are_quotes_required {
                    is_of_half |= is_text;
                    required.extend(pieces);
                }
            }
            required.extend(author.iter().map(|piece| piece_query(&prefix, AUTHOR, piece)));
            if !is_of_half {
                required.push(term(half.body, prefix.marker()));
            }
            if half.body == RESTRICTED.body {
                required.push(seen_by(request));
            }
            json!({"bool": {"filter": required, "must_not": excluded}})
        })
        .collect();
    let mut filter = vec![any(&branches)];
    if request.from.is_some() || request.to.is_some() {
        let mut times = serde_json::Map::new();
        times.extend(request.from.map(|from| ("gte".to_owned(), from.into())));
        times.extend(request.to.map(|to| ("lt".to_owned(), to.into())));
        filter.push(json!({"range": {"display_time": times}}));
    }
    Some(all(filter))
}

/// Restricted documents of a scope that one of the principals may see.
pub(crate) fn seen_by(request: &Request) -> Value {
    let prefix = request.scope.prefix();
    let principals = request.principals.iter().map(|principal| principal_term(&prefix, principal));
    json!({"terms": {"principals": principals.collect::<Vec<String>>()}})
}

fn piece_query(prefix: &TermPrefix, field: &str, piece: &Piece) -> Value {
    match piece {
        Piece::Term(word) => term(field, &prefix.term(word)),
        Piece::Phrase(words) => json!({"match_phrase": {field: {"query": prefix.phrase(words)}}}),
        Piece::Either(alternatives) => {
            let pieces = |pieces: &Vec<Piece>| {
                all(pieces.iter().map(|piece| piece_query(prefix, field, piece)).collect())
            };
            any(&alternatives.iter().map(pieces).collect::<Vec<Value>>())
        }
        Piece::Prefix { stem, start } => {
            any(&[term(field, &prefix.term(stem)), starting_with(field, &prefix.term(start))])
        }
    }
}

pub(crate) fn term(field: &str, term: &str) -> Value {
    json!({"term": {field: term}})
}

fn starting_with(field: &str, start: &str) -> Value {
    json!({"prefix": {field: {"value": start, "rewrite": "constant_score"}}})
}

fn all(mut queries: Vec<Value>) -> Value {
    match (queries.len(), queries.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            queries.extend(last);
            json!({"bool": {"filter": queries}})
        }
    }
}

pub(crate) fn any(queries: &[Value]) -> Value {
    json!({"bool": {"should": queries, "minimum_should_match": 1}})
}
