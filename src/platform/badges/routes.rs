//! `/v1/badge`.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use trawl_macros::operation;

use super::{
    forms::{Badge, BadgeTexts, CreatedBadgeRequest, DeletedBadges, ModifyBadgeRequest},
    repo::{self, BadgeFilter},
};
use crate::{
    auth::{applications, caller::Caller, extract::Identified},
    error::{Error, Result},
    http::{
        badge_envelope::DatedEnvelope,
        extract::{JsonObject, PathParameter, QueryParameters},
    },
    platform::{badges::BadgesState, shared::keyword_filter::fold_keyword},
    store::{Connection, Store},
};

const LIMIT: u64 = 100;
const MAX_LIMIT: u64 = 1_000;

const MAX_BADGES: u64 = 10_000;

/// Badge list parameters.
#[derive(Clone, Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct BadgeListQuery {
    /// Text in the name or description, case-insensitive.
    keyword: Option<String>,
    /// Badges to skip, counted from the cursor if there is one.
    offset: Option<u32>,
    /// Page size.
    #[param(value_type = Option<u16>, minimum = 1, maximum = 1000, default = 100)]
    limit: Option<i64>,
    /// Whether to return the total; default true.
    is_count: Option<bool>,
    /// Owning tenant; any other than the acting tenant gives an empty list.
    e_code: Option<String>,
    /// `cursor` of the previous page; unlike `offset` exact while badges change.
    cursor: Option<i64>,
}

impl BadgeListQuery {
    fn limit(&self) -> Result<u64> {
        match self.limit.map(u64::try_from) {
            None => Ok(LIMIT),
            Some(Ok(limit)) if (1..=MAX_LIMIT).contains(&limit) => Ok(limit),
            Some(_) => Err(Error::bad_request(format!(
                "limit: must be 1 to {MAX_LIMIT}, not {}",
                self.limit.unwrap_or_default()
            ))),
        }
    }
}

fn unknown() -> Error {
    Error::not_found("badgeId: there is no such badge")
}

/// Returns one badge.
#[operation(badges, 200 = "The badge", 404 = "There is no such badge")]
pub async fn find_badge(
    State(state): State<BadgesState>,
    Identified(caller): Identified,
    PathParameter(badge_id): PathParameter,
) -> Result<DatedEnvelope<Badge>> {
    let row = repo::find(state.store.reader(), caller.tenant.id, &badge_id).await?.ok_or_else(unknown)?;
    Ok(DatedEnvelope::of(row.into_badge(&caller.tenant)))
}

/// Changes a badge and returns its id.
#[operation(badges, 200 = "Id of the badge", 404 = "There is no such badge")]
pub async fn change_badge(
    State(state): State<BadgesState>,
    Identified(caller): Identified,
    PathParameter(badge_id): PathParameter,
    JsonObject(form): JsonObject<ModifyBadgeRequest>,
) -> Result<DatedEnvelope<String>> {
    let tenant_id = caller.tenant.id;
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let row = repo::find(transaction, tenant_id, &badge_id).await?.ok_or_else(unknown)?;
            let known = row.into_texts();
            let texts = form.over(&known).checked().map_err(Error::bad_request)?;
            if texts != known {
                repo::update(transaction, tenant_id, &badge_id, texts).await?;
            }
            Ok(badge_id)
        })
    });
    Ok(DatedEnvelope::of(job.await?))
}

/// Lists the tenant's badges, oldest first, paged by `cursor` or `offset`.
#[operation(badges, 200 = "The badges")]
pub async fn list_badges(
    State(state): State<BadgesState>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<BadgeListQuery>,
) -> Result<DatedEnvelope<Vec<Badge>>> {
    let limit = query.limit()?;
    let is_counted = query.is_count.unwrap_or(true);
    let keyword = fold_keyword(query.keyword, state.limits.keyword_chars)?;
    let filter = BadgeFilter { tenant_id: caller.tenant.id, keyword };
    if query.e_code.is_some_and(|code| !code.is_empty() && code != caller.tenant.code) {
        return Ok(DatedEnvelope::page(Vec::new(), is_counted.then_some(0), None));
    }
    let (after, offset) = (query.cursor.unwrap_or(i64::MIN), query.offset.unwrap_or_default());
    let has_keyword = filter.keyword.is_some();
    let read = |store: Store| async move {
        let total = if is_counted { Some(repo::count(store.reader(), &filter).await?) } else { None };
        Ok::<_, Error>((total, repo::list(store.reader(), &filter, after, offset, limit + 1).await?))
    };
    let (total, mut rows) =
        if has_keyword { state.store.scan(read).await? } else { read(state.store.clone()).await? };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let cursor = rows.last().filter(|_| has_more).map(|row| row.created_at.to_string());
    let badges = rows.into_iter().map(|row| row.into_badge(&caller.tenant)).collect();
    Ok(DatedEnvelope::page(badges, total, cursor))
}

/// Creates a badge.
#[operation(badges, 200 = "The badge", 409 = "Maximum reached")]
pub async fn create_badge(
    State(state): State<BadgesState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<CreatedBadgeRequest>,
) -> Result<DatedEnvelope<Badge>> {
    let texts = BadgeTexts::from(form).checked().map_err(Error::bad_request)?;
    let creator = Arc::clone(&caller);
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let name = name_of(transaction, &creator).await?;
            if repo::has(transaction, creator.tenant.id, MAX_BADGES).await? {
                let refusal = format!("the enterprise already has {MAX_BADGES} badges, the maximum");
                return Err(Error::conflict(refusal));
            }
            Ok(repo::insert(transaction, creator.tenant.id, texts, name).await?)
        })
    });
    Ok(DatedEnvelope::of(job.await?.into_badge(&caller.tenant)))
}

async fn name_of(reader: &Connection, caller: &Caller) -> Result<String> {
    let application = applications::find(reader, &caller.client_id).await?;
    let name = application.map(|application| application.name).filter(|name| !name.is_empty());
    Ok(name.unwrap_or_else(|| caller.client_id.to_string()))
}

/// Deletes badges and returns their number as text; unknown ids are ignored.
#[operation(badges, 200 = "Number of deleted badges")]
pub async fn delete_badges(
    State(state): State<BadgesState>,
    Identified(caller): Identified,
    JsonObject(DeletedBadges { ids }): JsonObject<DeletedBadges>,
) -> Result<DatedEnvelope<String>> {
    let ids = ids.read("ids", state.limits.batch_items).map_err(Error::bad_request)?;
    let tenant_id = caller.tenant.id;
    let job = state.store.write(move |transaction| {
        Box::pin(async move { Ok(repo::delete(transaction, tenant_id, &ids).await?) })
    });
    Ok(DatedEnvelope::of(job.await?.to_string()))
}
