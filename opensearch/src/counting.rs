//! Counts what a viewer finds, many queries in one call.

use std::sync::Arc;

use serde_json::{Value, json};
use trawl_engine::{Failure, Query, Request, Scope};

use crate::query::{any, matches};
use crate::served_indexes::{ServedIndexes, total_of};

/// Clauses in a half of one search. A cluster allows 1,024 by default.
const MAX_CLAUSES: usize = 400;
/// Clauses of a half beside the words: marker, principals.
const FILTERS: usize = 2;

/// Scopes of a tenant, as a viewer searches them.
pub(crate) struct Searched<'a> {
    pub(crate) indexes: &'a ServedIndexes,
    pub(crate) scopes: &'a [Arc<Scope>],
    pub(crate) principals: &'a Arc<[String]>,
}

impl Searched<'_> {
    /// Counts what queries of each list find, exactly up to `most`.
    pub(crate) async fn count(
        &self,
        lists: impl Iterator<Item = Vec<Query>>,
        most: i32,
    ) -> Result<Vec<u64>, Failure> {
        let (mut searches, mut counts, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for queries in lists {
            let clauses = queries.iter().flat_map(|query| &query.clauses);
            let pieces: usize = clauses.map(|clause| clause.pieces.len() + FILTERS).sum();
            let queries: Vec<Arc<Query>> = queries.into_iter().map(Arc::new).collect();
            for scopes in self.scopes.chunks((MAX_CLAUSES / pieces.max(1)).max(1)) {
                let requests = scopes.iter().flat_map(|scope| {
                    queries.iter().map(|query| Request::total_of(scope, self.principals, Arc::clone(query)))
                });
                let found: Vec<Value> = requests.filter_map(|request| matches(&request, None)).collect();
                searches.push(json!({"size": 0, "track_total_hits": most, "query": any(&found)}));
                places.push(counts.len());
            }
            counts.push(0);
        }
        let answers = self.indexes.search_scopes(self.scopes, self.principals, &searches).await?;
        for (place, answer) in places.into_iter().zip(&answers) {
            counts[place] += total_of(answer)?;
        }
        Ok(counts)
    }
}
