//! Answers requests from the indexes as they are.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::StatusCode;
use serde_json::{Value, json};
use trawl_engine::correction::UnknownWords;
use trawl_engine::{FacetFields, Failure, FieldCounts, Hit, Page, Request, Scope, Start, View};

use crate::client::{Body, Call, failure, lacks_a_part};
use crate::correction;
use crate::engine::OpenSearch;
use crate::facets;
use crate::layout::Generation;
use crate::query::matches;
use crate::relevance;
use crate::state::{KnownState, not_filled};
use crate::time_order;

/// A query may have so many clauses, unless a cluster is set otherwise.
const MAX_LISTED: usize = 1_024;

/// The indexes after one commit, or a later one.
pub(crate) struct OpenSearchView {
    pub(crate) engine: OpenSearch,
    /// `None` until it is read.
    pub(crate) state: Option<Arc<KnownState>>,
    pub(crate) generation: u64,
}

#[async_trait]
impl View for OpenSearchView {
    async fn search(&self, request: &Arc<Request>) -> Result<Page, Failure> {
        match self.page(request).await {
            Err(failure) => self.after_exchange(failure).await?.page(request).await,
            page => page,
        }
    }

    async fn newest(&self, requests: &Arc<[Request]>) -> Result<Vec<Vec<Hit>>, Failure> {
        match time_order::newest_of_each(self, requests).await {
            Err(failure) => {
                let view = self.after_exchange(failure).await?;
                time_order::newest_of_each(&view, requests).await
            }
            found => found,
        }
    }

    async fn count_fields(
        &self,
        requests: &Arc<[Request]>,
        fields: FacetFields,
    ) -> Result<FieldCounts, Failure> {
        match facets::count_fields(self, requests, fields).await {
            Err(failure) => {
                let view = self.after_exchange(failure).await?;
                facets::count_fields(&view, requests, fields).await
            }
            counts => counts,
        }
    }

    async fn unknown_words(
        &self,
        scopes: &Arc<[Arc<Scope>]>,
        principals: &Arc<[String]>,
        keyword: &str,
    ) -> Result<UnknownWords, Failure> {
        match correction::unknown_words(self, scopes, principals, keyword).await {
            Err(failure) => {
                let view = self.after_exchange(failure).await?;
                correction::unknown_words(&view, scopes, principals, keyword).await
            }
            found => found,
        }
    }

    fn generation(&self) -> u64 {
        self.generation
    }
}

impl OpenSearchView {
    async fn page(&self, request: &Request) -> Result<Page, Failure> {
        match &request.start {
            Start::Time { after, whole_ties } => {
                let Some(matches) = matches(request, None) else { return Ok(Page::default()) };
                time_order::page(self, request, &matches, after.as_ref(), *whole_ties).await
            }
            Start::Relevance { skip, beside, now, recency } => {
                let factor = |display_time| recency.factor(*now, display_time);
                relevance::page(self, request, *skip, beside, factor).await
            }
        }
    }

    /// The latest view, if the failure is that another generation has come to be searched; else the failure.
    async fn after_exchange(&self, failure: Failure) -> Result<Self, Failure> {
        let number = |view: &Self| view.served().map(|served| served.number).ok();
        if lacks_a_part(&failure) && self.engine.read_state().await.is_ok() {
            let latest = self.engine.latest();
            if number(&latest) != number(self) {
                return Ok(latest);
            }
        }
        Err(failure)
    }

    fn served(&self) -> Result<&Generation, Failure> {
        self.state.as_ref().ok_or_else(not_filled)?.served_for(self.engine.store())
    }

    fn index(&self, scope: &Scope) -> Result<String, Failure> {
        let layout = self.engine.layout();
        Ok(layout.index(layout.kind(scope), scope.tenant, self.served()?))
    }

    pub(crate) async fn search_one(&self, request: &Request, search: &Value) -> Result<Value, Failure> {
        let [answer] = self.search_all(request, [search]).await?;
        Ok(answer)
    }

    pub(crate) async fn search_two(
        &self,
        request: &Request,
        searches: [&Value; 2],
    ) -> Result<[Value; 2], Failure> {
        self.search_all(request, searches).await
    }

    /// Runs searches of the request's scope together.
    async fn search_all<const COUNT: usize>(
        &self,
        request: &Request,
        searches: [&Value; COUNT],
    ) -> Result<[Value; COUNT], Failure> {
        let index = self.index(&request.scope)?;
        let responses = self.search_many(&index, request.scope.tenant, &request.principals, searches).await?;
        responses.try_into().map_err(|_| miscounted())
    }

    /// Runs searches of a tenant's scopes together.
    pub(crate) async fn search_scopes(
        &self,
        scopes: &[Arc<Scope>],
        principals: &[String],
        searches: &[Value],
    ) -> Result<Vec<Value>, Failure> {
        let Some(first) = scopes.first().filter(|_| !searches.is_empty()) else { return Ok(Vec::new()) };
        let indexes: BTreeSet<String> =
            scopes.iter().map(|scope| self.index(scope)).collect::<Result<_, _>>()?;
        let indexes = indexes.into_iter().collect::<Vec<_>>().join(",");
        self.search_many(&indexes, first.tenant, principals, searches).await
    }

    async fn search_many(
        &self,
        indexes: &str,
        tenant: i64,
        principals: &[String],
        searches: impl IntoIterator<Item = &Value>,
    ) -> Result<Vec<Value>, Failure> {
        let header = json!({
            "index": indexes,
            "routing": tenant.to_string(),
            // Copies of a shard refresh one after the other; pages of a viewer come from one.
            "preference": preference(tenant, principals),
            // A shard that is away must not pass for nothing found.
            "allow_partial_search_results": false,
        });
        let (mut lines, mut count) = (Vec::new(), 0);
        for search in searches {
            count += 1;
            lines.extend_from_slice(format!("{header}\n{search}\n").as_bytes());
        }
        let mut answer = self.engine.client().call(Call::search("_msearch", Body::Lines(lines))).await?;
        let Value::Array(responses) = answer["responses"].take() else { return Err(miscounted()) };
        if responses.len() != count {
            return Err(miscounted());
        }
        for response in &responses {
            if response.get("error").is_some() {
                let status = response["status"].as_u64().and_then(|status| u16::try_from(status).ok());
                let status = status.and_then(|status| StatusCode::from_u16(status).ok());
                return Err(failure(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), response));
            }
            if response["timed_out"] == true {
                return Err(failure(StatusCode::GATEWAY_TIMEOUT, response));
            }
        }
        Ok(responses)
    }

    /// Runs a search whose hits tell the score of each named clause.
    pub(crate) async fn search_with_scores(
        &self,
        request: &Request,
        search: Value,
    ) -> Result<Value, Failure> {
        let path = format!(
            "{}&allow_partial_search_results=false&include_named_queries_score=true",
            self.path(request, "_search")?,
        );
        let answer = self.engine.client().call(Call::search(&path, Body::Json(search))).await?;
        if answer["timed_out"] == true {
            return Err(failure(StatusCode::GATEWAY_TIMEOUT, &answer));
        }
        Ok(answer)
    }

    /// Statistics by field and term.
    pub(crate) async fn term_vectors(&self, request: &Request, terms: Value) -> Result<Value, Failure> {
        let path = format!("{}&realtime=false", self.path(request, "_termvectors")?);
        let mut answer = self.engine.client().call(Call::search(&path, Body::Json(terms))).await?;
        Ok(answer["term_vectors"].take())
    }

    /// Terms of a field that begin with `start`: the first [`MAX_LISTED`] in lexicographic order.
    pub(crate) async fn terms_starting_with(
        &self,
        request: &Request,
        field: &str,
        start: &str,
    ) -> Result<Vec<String>, Failure> {
        let rewrite = format!("top_terms_{MAX_LISTED}");
        let prefix = json!({"query": {"prefix": {field: {"value": start, "rewrite": rewrite}}}});
        let index = self.index(&request.scope)?;
        // Each shard tells the terms that the query stands for.
        let path = format!("{index}/_validate/query?explain=true&rewrite=true&all_shards=true");
        let answer = self.engine.client().call(Call::search(&path, Body::Json(prefix))).await?;
        if answer["valid"] != true || answer["_shards"]["failed"] != 0 {
            return Err(Failure::Unavailable("OpenSearch could not list its words".to_owned()));
        }
        let shards = answer["explanations"].as_array().into_iter().flatten();
        let queries =
            shards.filter_map(|shard| shard["explanation"].as_str()).flat_map(|query| query.split(' '));
        let terms = queries.filter_map(|query| query.strip_prefix(field)?.strip_prefix(':'));
        let terms: BTreeSet<&str> = terms.filter(|term| term.starts_with(start)).collect();
        Ok(terms.into_iter().map(str::to_owned).collect())
    }

    /// Of a call on the shard of the request's scope.
    fn path(&self, request: &Request, call: &str) -> Result<String, Failure> {
        let (index, tenant) = (self.index(&request.scope)?, request.scope.tenant);
        let preference = preference(tenant, &request.principals);
        Ok(format!("{index}/{call}?routing={tenant}&preference={preference}"))
    }
}

fn preference(tenant: i64, principals: &[String]) -> String {
    let viewer = principals.first().map_or("", String::as_str);
    let viewer: String = viewer.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("t{tenant}{viewer}")
}

fn miscounted() -> Failure {
    Failure::Failed("OpenSearch answered another number of searches".to_owned())
}

/// The hits of an answer.
pub(crate) fn hits_of(mut answer: Value) -> Result<Vec<Value>, Failure> {
    match answer["hits"]["hits"].take() {
        Value::Array(hits) => Ok(hits),
        _ => Err(Failure::Failed("OpenSearch answered a search without hits".to_owned())),
    }
}

/// The exact total of an answer.
pub(crate) fn total_of(answer: &Value) -> Result<u64, Failure> {
    let total = &answer["hits"]["total"]["value"];
    total.as_u64().ok_or_else(|| Failure::Failed("OpenSearch answered a search without a total".to_owned()))
}
