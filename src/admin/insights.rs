//! `/admin/v1/insights`: what people look for.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use trawl_macros::operation;

use crate::{
    auth::extract::Identified,
    error::{Error, Result},
    http::{envelope::Envelope, extract::QueryParameters},
    platform::insights::{
        InsightsState,
        service::{self, Insights, WEEKS},
    },
};

const USUAL_WEEKS: i64 = 4;

/// The time of the insights.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct InsightsQuery {
    /// Weeks from Monday to Sunday by UTC, this one included, 1 to 12; default 4.
    weeks: Option<i64>,
}

/// The keywords that people of a tenant look for.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InsightsShown {
    /// Whether the tenant has agreed, by `searchInsights` of its settings.
    enabled: bool,
    /// The weeks.
    weeks: i64,
    #[serde(flatten)]
    #[schema(inline)]
    insights: Insights,
}

/// Shows the keywords that are looked for most, find nothing, or of which nothing is opened.
///
/// Only those that at least three people looked for in a week.
#[operation(admin, 200 = "The keywords")]
pub async fn show_insights(
    State(state): State<InsightsState>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<InsightsQuery>,
) -> Result<Envelope<InsightsShown>> {
    let weeks = query.weeks.unwrap_or(USUAL_WEEKS);
    if !(1..=WEEKS).contains(&weeks) {
        return Err(Error::bad_request(format!("weeks: must be 1 to {WEEKS}")));
    }
    let insights = service::list(&state, caller.tenant.id, weeks).await?;
    Ok(Envelope::of(InsightsShown { enabled: caller.tenant.search_insights, weeks, insights }))
}
