//! Sends searches to the indexes of their scopes.

use std::collections::BTreeSet;
use std::sync::Arc;

use reqwest::StatusCode;
use serde_json::{Value, json};
use trawl_engine::{Failure, Request, Scope};

use crate::client::{Call, RequestBody, failure};
use crate::cluster::Cluster;
use crate::layout::IndexGeneration;
use crate::state::{KnownState, not_filled};

/// A query may have so many clauses, unless a cluster is set otherwise.
const MAX_LISTED: usize = 1_024;

/// The indexes of the generation that is searched.
pub(crate) struct ServedIndexes {
    cluster: Arc<Cluster>,
    /// `None` until it is read.
    state: Option<Arc<KnownState>>,
}

impl ServedIndexes {
    /// Searches the generation that was last read.
    pub(crate) fn new(cluster: &Arc<Cluster>) -> Self {
        Self { cluster: Arc::clone(cluster), state: cluster.known() }
    }

    /// The searched generation.
    ///
    /// # Errors
    /// None is known, or another database has filled it.
    pub(crate) fn generation(&self) -> Result<&IndexGeneration, Failure> {
        self.state.as_ref().ok_or_else(not_filled)?.served_for(&self.cluster.store)
    }

    fn index(&self, scope: &Scope) -> Result<String, Failure> {
        let layout = &self.cluster.layout;
        Ok(layout.index(layout.kind(scope), scope.tenant, self.generation()?))
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
        let mut answer =
            self.cluster.client.call(Call::search("_msearch", RequestBody::Lines(lines))).await?;
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
        let answer = self.cluster.client.call(Call::search(&path, RequestBody::Json(search))).await?;
        if answer["timed_out"] == true {
            return Err(failure(StatusCode::GATEWAY_TIMEOUT, &answer));
        }
        Ok(answer)
    }

    /// Statistics by field and term.
    pub(crate) async fn term_vectors(&self, request: &Request, terms: Value) -> Result<Value, Failure> {
        let path = format!("{}&realtime=false", self.path(request, "_termvectors")?);
        let mut answer = self.cluster.client.call(Call::search(&path, RequestBody::Json(terms))).await?;
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
        let answer = self.cluster.client.call(Call::search(&path, RequestBody::Json(prefix))).await?;
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

    /// The path of a call on the shard of the request's scope.
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
