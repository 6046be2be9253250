//! `/v1/badge`: create, read, change and delete.

use std::sync::Arc;

use axum::extract::State;
use sea_orm::{ConnectionTrait, DatabaseConnection};
use serde::Deserialize;

use super::{
    model::{Badge, CreatedBadgeRequest, DeletedBadges, ModifyBadgeRequest, Texts},
    repo::{self, Wanted},
};
use crate::{
    api::{
        dated::{DatedBodyRefusals, DatedEnvelope, DatedFailure, DatedRefusals},
        extract::{Identified, JsonObject, PathParameter, QueryParameters},
    },
    app::App,
    auth::{applications, caller::Caller},
    error::{Error, Result},
    platform::narrowing::fold_keyword,
};

/// Badges of a page where nothing is said, and at the most.
const LIMIT: u64 = 100;
const MOST: u64 = 1_000;

/// Badges of one enterprise at the most: a keyword is looked for in each.
const MOST_BADGES: u64 = 10_000;

/// Which badges.
#[derive(Clone, Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// What the name or the description holds, in any case.
    keyword: Option<String>,
    /// Badges to leave out at the beginning, behind the cursor where there is one.
    offset: Option<u32>,
    /// Badges of a page.
    #[param(value_type = Option<u16>, minimum = 1, maximum = 1000, default = 100)]
    limit: Option<i64>,
    /// Whether the answer tells the total; default true.
    is_count: Option<bool>,
    /// The owning tenant; another one than the one that is acted on has no badges here.
    e_code: Option<String>,
    /// What the page before gave as its `cursor`: pages that follow it are exact while badges come and go.
    cursor: Option<i64>,
}

impl ListQuery {
    fn limit(&self) -> Result<u64> {
        match self.limit.map(u64::try_from) {
            None => Ok(LIMIT),
            Some(Ok(limit)) if (1..=MOST).contains(&limit) => Ok(limit),
            Some(_) => Err(Error::bad_request(format!("limit: must be 1 to {MOST}"))),
        }
    }
}

fn unknown() -> Error {
    Error::not_found("badgeId: there is no such badge")
}

/// One badge.
#[utoipa::path(
    get, path = "/v1/badge/{badgeId}", tag = "badges", params(("badgeId" = String, Path, description = "Badge id")),
    responses(
        (status = 200, description = "The badge", body = DatedEnvelope<Badge>),
        DatedRefusals,
        (status = 404, description = "There is no such badge", body = DatedFailure),
    )
)]
pub async fn find_badge(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
) -> Result<DatedEnvelope<Badge>> {
    let row = repo::find(app.store.reader(), caller.tenant.id, &id).await?.ok_or_else(unknown)?;
    Ok(DatedEnvelope::of(row.into_badge(&caller.tenant)))
}

/// Changes a badge; answers its id.
#[utoipa::path(
    post, path = "/v1/badge/{badgeId}", tag = "badges", request_body = ModifyBadgeRequest,
    params(("badgeId" = String, Path, description = "Badge id")),
    responses(
        (status = 200, description = "It is so", body = DatedEnvelope<String>),
        DatedRefusals, DatedBodyRefusals,
        (status = 404, description = "There is no such badge", body = DatedFailure),
    )
)]
pub async fn change_badge(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
    JsonObject(form): JsonObject<ModifyBadgeRequest>,
) -> Result<DatedEnvelope<String>> {
    let tenant_id = caller.tenant.id;
    let job = app.store.write(move |transaction| {
        Box::pin(async move {
            let row = repo::find(&**transaction, tenant_id, &id).await?.ok_or_else(unknown)?;
            let known = row.into_texts();
            let texts = form.over(&known).checked().map_err(Error::bad_request)?;
            if texts != known {
                repo::update(transaction, tenant_id, &id, texts).await?;
            }
            Ok(id)
        })
    });
    Ok(DatedEnvelope::of(job.await?))
}

/// The tenant's badges, oldest first, page by page: by `cursor`, or by `offset`.
#[utoipa::path(
    get, path = "/v1/badge/list", tag = "badges", params(ListQuery),
    responses((status = 200, description = "The badges", body = DatedEnvelope<Vec<Badge>>), DatedRefusals)
)]
pub async fn list_badges(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<ListQuery>,
) -> Result<DatedEnvelope<Vec<Badge>>> {
    let limit = query.limit()?;
    let is_counted = query.is_count.unwrap_or(true);
    let keyword = fold_keyword(query.keyword, app.config.limits.keyword_chars)?;
    let wanted = Wanted { tenant_id: caller.tenant.id, keyword };
    if query.e_code.is_some_and(|code| !code.is_empty() && code != caller.tenant.code) {
        return Ok(DatedEnvelope::page(Vec::new(), is_counted.then_some(0), None));
    }
    let (after, offset) = (query.cursor.unwrap_or(i64::MIN), query.offset.unwrap_or_default());
    let has_keyword = wanted.keyword.is_some();
    let read = |reader: DatabaseConnection| async move {
        let total = if is_counted { Some(repo::count(&reader, &wanted).await?) } else { None };
        Ok::<_, Error>((total, repo::list(&reader, &wanted, after, offset, limit + 1).await?))
    };
    // A keyword is looked for in every one of them.
    let (total, mut rows) =
        if has_keyword { app.store.scan(read).await? } else { read(app.store.reader().clone()).await? };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let cursor = rows.last().filter(|_| has_more).map(|row| row.created_at.to_string());
    let badges = rows.into_iter().map(|row| row.into_badge(&caller.tenant)).collect();
    Ok(DatedEnvelope::page(badges, total, cursor))
}

/// Creates a badge.
#[utoipa::path(
    post, path = "/v1/badge", tag = "badges", request_body = CreatedBadgeRequest,
    responses(
        (status = 200, description = "The badge", body = DatedEnvelope<Badge>),
        DatedRefusals, DatedBodyRefusals,
        (status = 409, description = "There are as many as may be", body = DatedFailure),
    )
)]
pub async fn create_badge(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<CreatedBadgeRequest>,
) -> Result<DatedEnvelope<Badge>> {
    let texts = Texts::from(form).checked().map_err(Error::bad_request)?;
    let creator = Arc::clone(&caller);
    let job = app.store.write(move |transaction| {
        Box::pin(async move {
            let name = name_of(&**transaction, &creator).await?;
            if repo::has(transaction, creator.tenant.id, MOST_BADGES).await? {
                let refusal =
                    format!("there are {MOST_BADGES} badges already, the most that an enterprise may have");
                return Err(Error::conflict(refusal));
            }
            Ok(repo::insert(transaction, creator.tenant.id, texts, name).await?)
        })
    });
    Ok(DatedEnvelope::of(job.await?.into_badge(&caller.tenant)))
}

/// The name of the application that calls; its client id where it has none.
async fn name_of<C: ConnectionTrait>(reader: &C, caller: &Caller) -> Result<String> {
    let application = applications::find(reader, &caller.client_id).await?;
    let name = application.map(|application| application.name).filter(|name| !name.is_empty());
    Ok(name.unwrap_or_else(|| caller.client_id.to_string()))
}

/// Deletes badges; ids of none are passed over. Answers how many were deleted, as text.
#[utoipa::path(
    delete, path = "/v1/badge", tag = "badges", request_body = DeletedBadges,
    responses(
        (status = 200, description = "How many were deleted", body = DatedEnvelope<String>),
        DatedRefusals, DatedBodyRefusals,
    )
)]
pub async fn delete_badges(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(DeletedBadges { ids }): JsonObject<DeletedBadges>,
) -> Result<DatedEnvelope<String>> {
    let most = app.config.limits.batch_items;
    if ids.len() > most {
        return Err(Error::bad_request(format!("ids: must hold at most {most} ids, not {}", ids.len())));
    }
    let tenant_id = caller.tenant.id;
    let job = app.store.write(move |transaction| {
        Box::pin(async move { Ok(repo::delete(transaction, tenant_id, &ids).await?) })
    });
    Ok(DatedEnvelope::of(job.await?.to_string()))
}
