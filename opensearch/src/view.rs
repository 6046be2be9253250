//! Answers requests from the indexes as they are.

use std::sync::Arc;

use async_trait::async_trait;
use trawl_engine::correction::UnknownWords;
use trawl_engine::{FacetFields, Failure, FieldCounts, Hit, HitPage, Request, Scope, Start, View};

use crate::client::lacks_a_part;
use crate::cluster::Cluster;
use crate::query::matches;
use crate::served_indexes::ServedIndexes;
use crate::{correction, facets, relevance, time_order};

/// The indexes after one commit, or a later one.
pub(crate) struct OpenSearchView {
    cluster: Arc<Cluster>,
    indexes: ServedIndexes,
    generation: u64,
}

#[async_trait]
impl View for OpenSearchView {
    async fn search(&self, request: &Arc<Request>) -> Result<HitPage, Failure> {
        match page(&self.indexes, request).await {
            Err(failure) => page(&self.after_swap(failure).await?, request).await,
            page => page,
        }
    }

    async fn newest(&self, requests: &Arc<[Request]>) -> Result<Vec<Vec<Hit>>, Failure> {
        match time_order::newest_of_each(&self.indexes, requests).await {
            Err(failure) => time_order::newest_of_each(&self.after_swap(failure).await?, requests).await,
            found => found,
        }
    }

    async fn count_fields(
        &self,
        requests: &Arc<[Request]>,
        fields: FacetFields,
    ) -> Result<FieldCounts, Failure> {
        match facets::count_fields(&self.indexes, requests, fields.clone()).await {
            Err(failure) => facets::count_fields(&self.after_swap(failure).await?, requests, fields).await,
            counts => counts,
        }
    }

    async fn unknown_words(
        &self,
        scopes: &Arc<[Arc<Scope>]>,
        principals: &Arc<[String]>,
        keyword: &str,
    ) -> Result<UnknownWords, Failure> {
        match correction::unknown_words(&self.indexes, scopes, principals, keyword).await {
            Err(failure) => {
                let latest = self.after_swap(failure).await?;
                correction::unknown_words(&latest, scopes, principals, keyword).await
            }
            found => found,
        }
    }

    fn generation(&self) -> u64 {
        self.generation
    }
}

impl OpenSearchView {
    /// The last commit, for one search.
    pub(crate) fn latest(cluster: &Arc<Cluster>) -> Self {
        // Read first, so that a page of an earlier commit is never kept as one of a later.
        let generation = cluster.generation();
        Self { cluster: Arc::clone(cluster), indexes: ServedIndexes::new(cluster), generation }
    }

    /// Returns the latest generation, if its swap caused the failure.
    ///
    /// # Errors
    /// The failure, if it has another cause.
    async fn after_swap(&self, failure: Failure) -> Result<ServedIndexes, Failure> {
        let number = |indexes: &ServedIndexes| indexes.generation().map(|generation| generation.number).ok();
        if lacks_a_part(&failure) && self.cluster.read_state().await.is_ok() {
            let latest = ServedIndexes::new(&self.cluster);
            if number(&latest) != number(&self.indexes) {
                return Ok(latest);
            }
        }
        Err(failure)
    }
}

async fn page(indexes: &ServedIndexes, request: &Request) -> Result<HitPage, Failure> {
    match &request.start {
        Start::Time { after, whole_ties } => {
            let Some(matches) = matches(request, None) else { return Ok(HitPage::default()) };
            time_order::page(indexes, request, &matches, after.as_ref(), *whole_ties).await
        }
        Start::Relevance(list) => relevance::page(indexes, request, list).await,
    }
}
