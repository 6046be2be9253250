//! `PUT` and `GET /v1/users/sync`, and the pictures of people.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    fields::{UserRead, UserWrite},
    pages, prepare, repo,
};
use crate::{
    api::{
        envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals},
        extract::{Identified, JsonBody, PathParameter, QueryParameters},
        sync::{page, write},
    },
    app::App,
    audit::Actor,
    error::{Error, Result},
    platform::common::{ChangesAfter, SyncFailure},
};

/// Synchronises users, each on its own: one that fails leaves the others alone.
///
/// A field that is absent or null means no change, an empty text sets it to null. A row that is what it was already is not
/// written and keeps its `lastUpdatedDate`. A row with a password takes some 12 ms of a core, also when the password is the same.
#[utoipa::path(
    put, path = "/v1/users/sync", tag = "directory", request_body = Vec<UserWrite>,
    params(("indicated-e-code" = Option<String>, Header, description = "The tenant, for domain and admin applications")),
    responses(
        (status = 200, description = "The rows that failed, and why", body = Envelope<Vec<SyncFailure>>),
        Refusals, BodyRefusals,
    )
)]
pub async fn sync_users(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonBody(rows): JsonBody<Vec<Box<RawValue>>>,
) -> Result<Envelope<Vec<SyncFailure>>> {
    let rows = prepare::prepare(&app, caller.tenant.id, rows).await?;
    let (actor, tenant) = (Actor::caller(&caller), Arc::clone(&caller.tenant));
    write(&app, &caller, rows, |transaction, changes| {
        Box::pin(async move { repo::synchronise(transaction, &actor, &tenant, changes).await })
    })
    .await
}

/// Which users are read.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct UsersQuery {
    /// The `lastUpdatedDate` after which to go on, epoch milliseconds; without it from the beginning.
    cursor: Option<i64>,
    /// Rows of a page, 1 to 1,000; default 100.
    limit: Option<i64>,
    /// Users of this type only.
    #[serde(rename = "type")]
    kind: Option<i64>,
}

/// Lists the users that changed after a cursor, oldest change first, deleted ones included.
///
/// Following the last row's `lastUpdatedDate` loses nothing and repeats nothing; a page shorter than `limit` is the last. There
/// is no `total`: what is left is not counted.
#[utoipa::path(
    get, path = "/v1/users/sync", tag = "directory",
    params(UsersQuery, ("indicated-e-code" = Option<String>, Header, description = "The tenant, for domain and admin applications")),
    responses((status = 200, description = "A page of users", body = Envelope<Vec<UserRead>>), Refusals)
)]
pub async fn list_users(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<UsersQuery>,
) -> Result<Envelope<Vec<UserRead>>> {
    let changes = ChangesAfter::new(query.cursor, query.limit).map_err(Error::bad_request)?;
    let public_url = app.config.public_url();
    let users =
        pages::changed_users(app.store.reader(), caller.tenant.id, changes, query.kind, &public_url).await?;
    Ok(page(users))
}

/// Gives the content of an avatar, to whoever knows its address.
///
/// A new avatar has a new address, so what this one gives never changes.
#[utoipa::path(
    get, path = "/storage/pictures/{id}", tag = "directory", security(()),
    params(("id" = String, Path, description = "What the address in `picture` ends with")),
    responses(
        (status = 200, description = "The image", content_type = "image/*", body = Vec<u8>),
        (status = 304, description = "The caller has it already"),
        (status = 404, description = "There is no such picture, or no longer", body = FailureEnvelope),
    )
)]
pub async fn show_picture(
    State(app): State<Arc<App>>,
    PathParameter(id): PathParameter,
    headers: HeaderMap,
) -> Result<Response> {
    let (content_type, content) = pages::find_picture(app.store.reader(), &id)
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
    // Whatever a browser takes it for, it runs nothing of it.
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}
