//! `/v1/users/sync` and avatars.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use trawl_macros::operation;

use super::{
    forms::{UserRead, UserWrite},
    prepare,
    repo::pages,
    service,
};
use crate::{
    audit::Actor,
    auth::extract::Identified,
    error::{Error, Result},
    http::{
        envelope::Envelope,
        extract::{JsonList, PathParameter, QueryParameters},
    },
    platform::{
        shared::{
            patch::{ChangesAfter, SyncFailure},
            sync::{page, write},
        },
        users::UsersState,
    },
};

/// Synchronises users, each row on its own; unchanged rows keep `lastUpdatedDate`.
#[operation(
    directory,
    params(("indicated-e-code" = Option<String>, Header, description = "The tenant, for domain and admin applications")),
    request_body = Vec<UserWrite>,
    200 = "Failed rows with reasons",
)]
pub async fn sync_users(
    State(state): State<UsersState>,
    Identified(caller): Identified,
    JsonList(rows): JsonList<Box<RawValue>>,
) -> Result<Envelope<Vec<SyncFailure>>> {
    let rows = prepare::prepare(&state, caller.tenant.id, rows).await?;
    let (actor, tenant) = (Actor::caller(&caller), Arc::clone(&caller.tenant));
    write(&state.sync, &caller, rows, |transaction, changes| {
        Box::pin(async move { service::synchronise(transaction, &actor, &tenant, changes).await })
    })
    .await
}

/// Page of changed users.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct UsersQuery {
    /// Last `lastUpdatedDate` seen; default: the beginning.
    cursor: Option<i64>,
    /// Page size, 1 to 1,000; default 100.
    limit: Option<i64>,
    /// User type filter.
    #[serde(rename = "type")]
    kind: Option<i64>,
}

/// Lists users changed after a cursor, oldest change first, deleted ones included.
///
/// The last row's `lastUpdatedDate` is the next cursor.
#[operation(
    directory,
    params(("indicated-e-code" = Option<String>, Header, description = "The tenant, for domain and admin applications")),
    200 = "A page of users",
)]
pub async fn list_users(
    State(state): State<UsersState>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<UsersQuery>,
) -> Result<Envelope<Vec<UserRead>>> {
    let changes = ChangesAfter::new(query.cursor, query.limit).map_err(Error::bad_request)?;
    let public_url = state.public_url;
    let users =
        pages::changed_users(state.store.reader(), caller.tenant.id, changes, query.kind, &public_url)
            .await?;
    Ok(page(users))
}

/// Returns an avatar to anyone with its address.
#[operation(
    directory, security(()), id = "Last part of the address in `picture`",
    (status = 200, description = "The image", content_type = "image/*", body = Vec<u8>),
    304 = "The caller has the current image",
    404 = "There is no such picture",
)]
pub async fn show_picture(
    State(state): State<UsersState>,
    PathParameter(id): PathParameter,
    headers: HeaderMap,
) -> Result<Response> {
    let (content_type, content) = pages::find_picture(state.store.reader(), &id)
        .await?
        .ok_or_else(|| Error::not_found("there is no such picture"))?;
    let etag = format!("\"{id}\"");
    let is_known = headers
        .get(header::IF_NONE_MATCH)
        .and_then(|known| known.to_str().ok())
        .is_some_and(|known| known.split(',').any(|known| known.trim().trim_start_matches("W/") == etag));
    let mut response = Response::new(if is_known { Body::empty() } else { Body::from(content) });
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::try_from(content_type).map_err(Error::internal)?);
    headers.insert(header::ETAG, HeaderValue::try_from(etag).map_err(Error::internal)?);
    // Browsers must not execute it.
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}
