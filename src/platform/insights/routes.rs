//! `POST /contents/searches`.

use axum::extract::State;
use serde::Deserialize;
use trawl_macros::operation;

use super::{InsightsState, repo::KeywordRow, rules, service};
use crate::{
    auth::extract::Identified,
    error::{Error, Result},
    http::{envelope::Envelope, extract::JsonObject},
};

/// A finished search.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
pub struct FinishedSearch {
    /// The words that were searched for. Required.
    keyword: Option<String>,
    /// Whether anything was found. Required.
    found: Option<bool>,
    /// The item that was opened; absent or null if none was.
    opened: Option<OpenedItem>,
}

/// An opened item; only that one was opened is counted.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
pub struct OpenedItem {
    /// The module's code. Required.
    module: Option<String>,
    /// The item's id. Required.
    id: Option<String>,
}

/// Reports a finished search, for `GET /admin/v1/insights`.
///
/// It is counted if the tenant has agreed (`searchInsights`), by keyword and week, without the person. Keywords of more
/// than 100 characters, e-mail addresses and numbers of seven or more digits are left out.
#[operation(search, 200 = "It was counted or left out")]
pub async fn report_search(
    State(state): State<InsightsState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<FinishedSearch>,
) -> Result<Envelope<()>> {
    let keyword = form.keyword.filter(|keyword| !keyword.trim().is_empty());
    let keyword = keyword.ok_or_else(|| Error::bad_request("keyword: is required and must not be blank"))?;
    let found = form.found.ok_or_else(|| Error::bad_request("found: is required, true or false"))?;
    let is_given = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    if form.opened.as_ref().is_some_and(|opened| !is_given(&opened.module) || !is_given(&opened.id)) {
        return Err(Error::bad_request("opened: must have `module` and `id`, or be null"));
    }
    if caller.tenant.search_insights
        && let Some(keyword) = rules::countable(&keyword)
    {
        let (without_results, openings) = ((!found).into(), form.opened.is_some().into());
        let search = KeywordRow { keyword, searches: 1, without_results, openings, people: 0 };
        service::count(&state, &caller, search).await?;
    }
    Ok(Envelope::of(()))
}
