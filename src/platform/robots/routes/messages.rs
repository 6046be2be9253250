//! `GET /v1/groups/{groupId}/messages`.

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};
use trawl_macros::operation;

use crate::{
    auth::extract::Identified,
    error::{Error, Result},
    http::{
        envelope::{Envelope, json},
        extract::{PathParameter, QueryParameters},
    },
    platform::{
        groups::{rules::GroupRole, service::SeenGroup},
        robots::{
            RobotsState,
            repo::messages::{self, SentMessage},
        },
    },
};

const PAGE_MESSAGES: usize = 100;
const MAX_PAGE_MESSAGES: usize = 1_000;

/// Message list parameters.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MessageListQuery {
    /// `cursor` of the previous page: an epoch millisecond `createdDate`, exclusive.
    cursor: Option<i64>,
    /// Page size, 1 to 1,000; default 100.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i64>,
}

/// A page of messages.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct MessagePage {
    #[serde(flatten)]
    envelope: Envelope<Vec<SentMessage>>,
    /// `createdDate` of the last message, for the next page; null on the last page.
    #[schema(required)]
    cursor: Option<i64>,
}

impl IntoResponse for MessagePage {
    fn into_response(self) -> Response {
        json(StatusCode::OK, &self)
    }
}

/// Lists messages of a group, newest first; for its members.
///
/// Pages hold at most 2 MiB of `content`; only a null `cursor` marks the end.
#[operation(robots, group_id = "The group's id", 200 = "The messages", 404 = "There is no such group")]
pub async fn list_messages(
    State(state): State<RobotsState>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
    QueryParameters(query): QueryParameters<MessageListQuery>,
) -> Result<MessagePage> {
    let limit = match query.limit.map(usize::try_from) {
        None => PAGE_MESSAGES,
        Some(Ok(limit)) if (1..=MAX_PAGE_MESSAGES).contains(&limit) => limit,
        Some(_) => {
            return Err(Error::bad_request(format!(
                "limit: must be 1 to {MAX_PAGE_MESSAGES}, not {}",
                query.limit.unwrap_or_default()
            )));
        }
    };
    let group = SeenGroup::find(state.store.reader(), &caller, &group_id).await?;
    group.require(GroupRole::Member)?;
    let before = query.cursor.unwrap_or(i64::MAX);
    let page = messages::list(state.store.reader(), &group.id, before, limit).await?;
    let cursor = page.messages.last().filter(|_| page.has_more).map(|message| message.created_date);
    let count = Some(page.messages.len());
    Ok(MessagePage { envelope: Envelope { count, ..Envelope::of(page.messages) }, cursor })
}
