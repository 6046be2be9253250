//! `GET /v1/groups/{groupId}/messages`: what was said in a group.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;

use crate::{
    api::{
        envelope::{Envelope, FailureEnvelope, Refusals},
        extract::{Identified, PathParameter, QueryParameters},
    },
    app::App,
    error::{Error, Result},
    platform::{
        groups::model::{Role, SeenGroup},
        robots::repo::messages::{self, SentMessage},
    },
};

/// Messages of a page where nothing is said, and at the most.
const PAGE_MESSAGES: i64 = 100;
const MOST_PAGE_MESSAGES: i64 = 1_000;

/// Which page.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Part {
    /// Messages of before this `createdDate`, epoch milliseconds: that of the last one of the page before.
    cursor: Option<i64>,
    /// Messages, 1 to 1,000; 100 where nothing is said.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i64>,
}

/// The messages of a group, for its members, the newest first.
#[utoipa::path(
    get, path = "/v1/groups/{groupId}/messages", tag = "robots",
    params(("groupId" = String, Path, description = "The group's id"), Part),
    responses(
        (status = 200, description = "The messages", body = Envelope<Vec<SentMessage>>),
        Refusals,
        (status = 404, description = "There is no such group", body = FailureEnvelope),
    )
)]
pub async fn list_messages(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
    QueryParameters(part): QueryParameters<Part>,
) -> Result<Envelope<Vec<SentMessage>>> {
    let limit = part.limit.unwrap_or(PAGE_MESSAGES);
    if !(1..=MOST_PAGE_MESSAGES).contains(&limit) {
        return Err(Error::bad_request(format!("limit: must be 1 to {MOST_PAGE_MESSAGES}, not {limit}")));
    }
    let group = SeenGroup::find(app.store.reader(), &caller, &group_id).await?;
    group.require(Role::Member)?;
    let before = part.cursor.unwrap_or(i64::MAX);
    let messages = messages::list(app.store.reader(), &group.id, before, limit).await?;
    let count = messages.len();
    Ok(Envelope { count: Some(count), ..Envelope::of(messages) })
}
