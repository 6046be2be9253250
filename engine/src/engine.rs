//! The seam between searches and the engine that answers them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;

use crate::correction::UnknownWords;
use crate::{FacetFields, FieldCounts, Hit, HitPage, Request, Scope};

/// A full-text index that can be searched.
#[async_trait]
pub trait Engine: Send + Sync {
    /// The last commit, for one search.
    fn view(&self) -> Arc<dyn View>;

    /// Counts the documents of all tenants.
    async fn documents(&self) -> Result<u64, Failure>;

    /// Size of the searched index, with its copies.
    async fn bytes(&self) -> Result<u64, Failure>;

    /// Whether searches take this machine's processors.
    fn works_here(&self) -> bool {
        false
    }

    /// Whether all parts of the index can be searched.
    async fn health(&self) -> Health {
        Health::Good
    }
}

/// Number of a commit, unique among all engines of the process.
///
/// Pages that one engine found never pass for those of another.
pub fn next_generation() -> u64 {
    static GENERATIONS: AtomicU64 = AtomicU64::new(0);
    GENERATIONS.fetch_add(1, Ordering::Relaxed)
}

/// How well an engine can answer. The texts are shown to callers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Health {
    /// Every part is there.
    #[default]
    Good,
    /// Searches are complete; a further failure may end that.
    Degraded(String),
    /// Searches fail.
    Unavailable(String),
}

/// An index at one commit.
#[async_trait]
pub trait View: Send + Sync {
    /// Searches for a few hundred microseconds at most; `None` if that does not suffice.
    fn search_at_once(&self, _request: &Request) -> Result<Option<HitPage>, Failure> {
        Ok(None)
    }

    /// Answers the request.
    async fn search(&self, request: &Arc<Request>) -> Result<HitPage, Failure>;

    /// The newest hits of each request, uncounted.
    ///
    /// Requests are of one viewer; their `start` is not read.
    async fn newest(&self, requests: &Arc<[Request]>) -> Result<Vec<Vec<Hit>>, Failure>;

    /// Counts all matches of the requests by their fields.
    ///
    /// Requests are of one viewer; their places and limits are not read.
    async fn count_fields(
        &self,
        requests: &Arc<[Request]>,
        fields: FacetFields,
    ) -> Result<FieldCounts, Failure>;

    /// Looks up words that none of a tenant's scopes shows, and visible words one edit away.
    ///
    /// An edit inserts, deletes, replaces or swaps letters.
    async fn unknown_words(
        &self,
        scopes: &Arc<[Arc<Scope>]>,
        principals: &Arc<[String]>,
        keyword: &str,
    ) -> Result<UnknownWords, Failure>;

    /// Number that grows with every visible commit, by [`next_generation`].
    fn generation(&self) -> u64;
}

/// Why an engine did not answer.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It cannot be reached, or lacks a part of the index.
    ///
    /// The text is shown to callers.
    #[error("{0}")]
    Unavailable(String),
    /// Its indexes are another database's. The text is shown to callers.
    #[error("{0}")]
    Foreign(String),
    /// It failed, for a reason that is logged and not shown.
    #[error("{0}")]
    Failed(String),
}
