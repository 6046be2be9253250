//! `GET /v1/groups/{groupId}/messages`: what was said in a group.

use std::sync::Arc;

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};

use crate::{
    api::{
        envelope::{Envelope, FailureEnvelope, Refusals, json},
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
const PAGE_MESSAGES: usize = 100;
const MOST_PAGE_MESSAGES: usize = 1_000;

/// Which page.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Part {
    /// Messages of before this `createdDate`, epoch milliseconds: the `cursor` of the page before.
    cursor: Option<i64>,
    /// Messages at the most, 1 to 1,000; 100 where nothing is said.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i64>,
}

/// A page of messages.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct MessagePage {
    #[serde(flatten)]
    envelope: Envelope<Vec<SentMessage>>,
    /// What the next page is asked for with: the `createdDate` of the last message. Null where there are no older ones.
    #[schema(required)]
    cursor: Option<i64>,
}

impl IntoResponse for MessagePage {
    fn into_response(self) -> Response {
        json(StatusCode::OK, &self)
    }
}

/// The messages of a group, for its members, the newest first.
///
/// A page holds 2 MiB of `content` at the most, so it may be shorter than `limit` while there are more: the end is where
/// `cursor` is null.
#[utoipa::path(
    get, path = "/v1/groups/{groupId}/messages", tag = "robots",
    params(("groupId" = String, Path, description = "The group's id"), Part),
    responses(
        (status = 200, description = "The messages", body = MessagePage),
        Refusals,
        (status = 404, description = "There is no such group", body = FailureEnvelope),
    )
)]
pub async fn list_messages(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
    QueryParameters(part): QueryParameters<Part>,
) -> Result<MessagePage> {
    let limit = match part.limit.map(usize::try_from) {
        None => PAGE_MESSAGES,
        Some(Ok(limit)) if (1..=MOST_PAGE_MESSAGES).contains(&limit) => limit,
        Some(_) => return Err(Error::bad_request(format!("limit: must be 1 to {MOST_PAGE_MESSAGES}"))),
    };
    let group = SeenGroup::find(app.store.reader(), &caller, &group_id).await?;
    group.require(Role::Member)?;
    let before = part.cursor.unwrap_or(i64::MAX);
    let page = messages::list(app.store.reader(), &group.id, before, limit).await?;
    let cursor = page.messages.last().filter(|_| page.has_more).map(|message| message.created_date);
    let count = Some(page.messages.len());
    Ok(MessagePage { envelope: Envelope { count, ..Envelope::of(page.messages) }, cursor })
}
