//! Exact tokens, such as codes, and dictionary words that nothing holds.

use std::sync::Arc;

use trawl_engine::{Failure, RankedScope, Request, Scope};

use crate::counting::Searched;
use crate::served_indexes::ServedIndexes;

/// The request with the parts of those [`Query::wholes`] that the viewer finds in no scope.
pub(super) async fn without_missing(
    indexes: &ServedIndexes,
    request: &Request,
    beside: &[RankedScope],
) -> Result<Request, Failure> {
    let mut wholes = request.query.whole_token_queries();
    if wholes.is_empty() {
        return Ok(request.clone());
    }
    let beside = beside.iter().map(|beside| &beside.scope);
    let scopes: Vec<Arc<Scope>> = std::iter::once(&request.scope).chain(beside).map(Arc::clone).collect();
    let searched = Searched { indexes, scopes: &scopes, principals: &request.principals };
    let mut found = searched.count(wholes.iter().map(|whole| vec![whole.clone()]), 1).await?.into_iter();
    wholes.retain(|_| found.next() == Some(0));
    Ok(Request { query: Arc::new(request.query.with_parts_of(&wholes)), ..request.clone() })
}
