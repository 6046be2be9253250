//! `/admin/v1/searches`: slow searches.

use axum::extract::State;
use serde::Deserialize;
use trawl_macros::operation;
use trawl_search::slow::SlowSearch;

use crate::{
    admin::AdminState,
    auth::extract::Identified,
    error::{Error, Result},
    http::{envelope::Envelope, extract::QueryParameters},
};

const LIMIT: usize = 50;
const MAX_ITEMS: usize = 200;

/// Limit of the list.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SlowQuery {
    /// Searches, 1 to 200; default 50.
    limit: Option<i64>,
}

/// Lists the tenant's last 64 searches above `search.slow_ms`, newest first, without keywords.
#[operation(admin, 200 = "The searches")]
pub async fn list_slow_searches(
    State(state): State<AdminState>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<SlowQuery>,
) -> Result<Envelope<Vec<SlowSearch>>> {
    let limit = match query.limit.map(usize::try_from) {
        None => LIMIT,
        Some(Ok(limit)) if (1..=MAX_ITEMS).contains(&limit) => limit,
        Some(_) => return Err(Error::bad_request(format!("limit: must be 1 to {MAX_ITEMS}"))),
    };
    Ok(Envelope::list(state.slow_searches.list(caller.tenant.id, limit)))
}
