//! `POST /api/todo/complete`, `/api/todo/parse`, `/api/todo/resume` and `/api/done/remove` (decisions 8.1).

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;

use crate::{
    api::{
        envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals},
        extract::{Identified, JsonObject, QueryParameters},
    },
    app::App,
    auth::caller::Caller,
    error::{Error, Result},
    platform::{
        common::check_id_of,
        tasks::{
            model::Ending,
            moves::{self, Actor},
            states::Move,
        },
    },
};

/// Which task is meant.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct Meant {
    /// The platform's to-do id.
    #[param(required = true)]
    todo_task_id: Option<String>,
}

/// The end of a task.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Completion {
    /// The platform's id of the task that is handled.
    #[schema(required)]
    todo_task_id: String,
    /// 1 complete or 2 withdraw; 1 when absent.
    end_type: Option<i64>,
    /// Handling remark.
    end_comment: Option<String>,
    /// Handling result.
    end_result: Option<String>,
}

/// Ends a to-do or to-read item: it is done or read then, or withdrawn. The person whom it is assigned to may complete it, not
/// withdraw it.
#[utoipa::path(
    post, path = "/api/todo/complete", tag = "tasks", request_body = Completion,
    responses(
        (status = 200, description = "It has ended; its id", body = Envelope<String>),
        Refusals, BodyRefusals,
        (status = 404, description = "There is no such task, or not for this caller", body = FailureEnvelope),
        (status = 409, description = "Its state, which the message names, does not allow it", body = FailureEnvelope),
    )
)]
pub async fn complete_todo(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(completion): JsonObject<Completion>,
) -> Result<Envelope<String>> {
    let Completion { todo_task_id, end_type, end_comment, end_result } = completion;
    let task_move = match end_type {
        None | Some(1) => Move::Complete,
        Some(2) => Move::Withdraw,
        Some(other) => {
            let message = format!("endType: must be 1 (complete) or 2 (withdraw), not {other}");
            return Err(Error::bad_request(message));
        }
    };
    let ending = Ending::checked(end_comment, end_result).map_err(Error::bad_request)?;
    make(&app, &caller, todo_task_id, task_move, ending).await
}

/// Pauses a to-do or to-read item: the person whom it is assigned to can neither see nor handle it until it is resumed.
#[utoipa::path(
    post, path = "/api/todo/parse", tag = "tasks", params(Meant),
    responses(
        (status = 200, description = "It is paused; its id", body = Envelope<String>),
        Refusals,
        (status = 404, description = "There is no such task, or not for this caller", body = FailureEnvelope),
        (status = 409, description = "Its state, which the message names, does not allow it", body = FailureEnvelope),
    )
)]
pub async fn pause_todo(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(meant): QueryParameters<Meant>,
) -> Result<Envelope<String>> {
    make(&app, &caller, meant.todo_task_id.unwrap_or_default(), Move::Pause, Ending::default()).await
}

/// Resumes a paused item: it is what it was before.
#[utoipa::path(
    post, path = "/api/todo/resume", tag = "tasks", params(Meant),
    responses(
        (status = 200, description = "It is what it was; its id", body = Envelope<String>),
        Refusals,
        (status = 404, description = "There is no such task, or not for this caller", body = FailureEnvelope),
        (status = 409, description = "Its state, which the message names, does not allow it", body = FailureEnvelope),
    )
)]
pub async fn resume_todo(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(meant): QueryParameters<Meant>,
) -> Result<Envelope<String>> {
    make(&app, &caller, meant.todo_task_id.unwrap_or_default(), Move::Resume, Ending::default()).await
}

/// Removes a done, read or withdrawn item: from then on it is gone for everyone. Its `appTaskId` stays taken.
#[utoipa::path(
    post, path = "/api/done/remove", tag = "tasks", params(Meant),
    responses(
        (status = 200, description = "It is gone; its id", body = Envelope<String>),
        Refusals,
        (status = 404, description = "There is no such task, or not for this caller", body = FailureEnvelope),
        (status = 409, description = "Its state, which the message names, does not allow it", body = FailureEnvelope),
    )
)]
pub async fn remove_done(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(meant): QueryParameters<Meant>,
) -> Result<Envelope<String>> {
    make(&app, &caller, meant.todo_task_id.unwrap_or_default(), Move::Remove, Ending::default()).await
}

async fn make(
    app: &App,
    caller: &Caller,
    id: String,
    task_move: Move,
    ending: Ending,
) -> Result<Envelope<String>> {
    check_id_of("todoTaskId", &id).map_err(Error::bad_request)?;
    let (tenant_id, actor) = (caller.tenant.id, Actor::of(caller));
    let job = app.store.write(move |transaction| {
        Box::pin(async move {
            moves::make(transaction, tenant_id, &actor, &id, task_move, &ending).await?;
            Ok(id)
        })
    });
    job.await.map(Envelope::of)
}
