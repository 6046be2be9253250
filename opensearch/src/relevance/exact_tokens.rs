//! Exact tokens, such as codes, that nothing holds.

use std::sync::Arc;

use trawl_engine::{Failure, Query, RankedScope, Request, Scope};

use crate::counting::Searched;
use crate::view::OpenSearchView;

/// The request without the exact tokens that the viewer finds in no scope.
pub(super) async fn without_missing(
    view: &OpenSearchView,
    request: &Request,
    beside: &[RankedScope],
) -> Result<Request, Failure> {
    let mut tokens: Vec<Query> = request.query.exact_tokens().collect();
    if tokens.is_empty() {
        return Ok(request.clone());
    }
    let beside = beside.iter().map(|beside| &beside.scope);
    let scopes: Vec<Arc<Scope>> = std::iter::once(&request.scope).chain(beside).map(Arc::clone).collect();
    let searched = Searched { view, scopes: &scopes, principals: &request.principals };
    let mut found = searched.count(tokens.iter().map(|token| vec![token.clone()]), 1).await?.into_iter();
    tokens.retain(|_| found.next() == Some(0));
    Ok(Request { query: Arc::new(request.query.with_words_of(&tokens)), ..request.clone() })
}
