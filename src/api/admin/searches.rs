//! `/admin/v1/searches`: which searches were slow.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;

use crate::{
    api::{
        envelope::{Envelope, Refusals},
        extract::{Identified, QueryParameters},
    },
    app::App,
    error::{Error, Result},
    search::slow::SlowSearch,
};

/// Searches that are answered where nothing is said, and at the most.
const LIMIT: usize = 50;
const MOST: usize = 200;

/// How many searches.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SlowQuery {
    /// Searches, 1 to 200; 50 where nothing is said.
    limit: Option<i64>,
}

/// The tenant's searches that took `search.slow_ms` or longer, the newest first: the last 64 since the server started. They say
/// what a search was like, never what it looked for.
#[utoipa::path(
    get, path = "/admin/v1/searches/slow", tag = "admin", params(SlowQuery),
    responses((status = 200, description = "The searches", body = Envelope<Vec<SlowSearch>>), Refusals)
)]
pub async fn list_slow_searches(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<SlowQuery>,
) -> Result<Envelope<Vec<SlowSearch>>> {
    let limit = match query.limit.map(usize::try_from) {
        None => LIMIT,
        Some(Ok(limit)) if (1..=MOST).contains(&limit) => limit,
        Some(_) => return Err(Error::bad_request(format!("limit: must be 1 to {MOST}"))),
    };
    Ok(Envelope::list(app.slow_searches.list(caller.tenant.id, limit)))
}
