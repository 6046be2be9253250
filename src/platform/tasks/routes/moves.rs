//! Moves of tasks (book: reference/tasks.md).

use axum::extract::State;
use serde::Deserialize;
use trawl_macros::operation;

use crate::{
    auth::{caller::Caller, extract::Identified},
    error::{Error, Result},
    http::{
        envelope::Envelope,
        extract::{JsonObject, QueryParameters},
    },
    platform::{
        shared::patch::check_id_of,
        tasks::{
            TasksState,
            forms::Ending,
            service::{self, TaskActor},
            states::TaskMove,
        },
    },
};

/// Selects a task.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct TaskQuery {
    /// Platform's to-do id.
    #[param(required = true)]
    todo_task_id: Option<String>,
}

/// Ending of a task.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Completion {
    /// Platform's id of the task.
    #[schema(required)]
    todo_task_id: String,
    /// 1 complete (default) or 2 withdraw.
    end_type: Option<i64>,
    /// Handling remark.
    end_comment: Option<String>,
    /// Handling result.
    end_result: Option<String>,
}

/// Ends a to-do or to-read item as done, read or withdrawn. The assignee may complete but not withdraw it.
#[operation(
    tasks, 200 = "Id of the ended item",
    404 = "There is no such task, or not for this caller",
    409 = "Not allowed in the item's current state",
)]
pub async fn complete_todo(
    State(state): State<TasksState>,
    Identified(caller): Identified,
    JsonObject(completion): JsonObject<Completion>,
) -> Result<Envelope<String>> {
    let Completion { todo_task_id, end_type, end_comment, end_result } = completion;
    let task_move = match end_type {
        None | Some(1) => TaskMove::Complete,
        Some(2) => TaskMove::Withdraw,
        Some(other) => {
            let message = format!("endType: must be 1 (complete) or 2 (withdraw), not {other}");
            return Err(Error::bad_request(message));
        }
    };
    let ending = Ending::checked(end_comment, end_result).map_err(Error::bad_request)?;
    make(&state, &caller, Some(todo_task_id), task_move, ending).await
}

/// Pauses a to-do or to-read item: until resumed, the assignee can neither see nor handle it.
#[operation(
    tasks, 200 = "Id of the paused item",
    404 = "There is no such task, or not for this caller",
    409 = "Not allowed in the item's current state",
)]
pub async fn pause_todo(
    State(state): State<TasksState>,
    Identified(caller): Identified,
    QueryParameters(selector): QueryParameters<TaskQuery>,
) -> Result<Envelope<String>> {
    make(&state, &caller, selector.todo_task_id, TaskMove::Pause, Ending::default()).await
}

/// Resumes a paused item in its previous status.
#[operation(
    tasks, 200 = "Id of the resumed item",
    404 = "There is no such task, or not for this caller",
    409 = "Not allowed in the item's current state",
)]
pub async fn resume_todo(
    State(state): State<TasksState>,
    Identified(caller): Identified,
    QueryParameters(selector): QueryParameters<TaskQuery>,
) -> Result<Envelope<String>> {
    make(&state, &caller, selector.todo_task_id, TaskMove::Resume, Ending::default()).await
}

/// Removes a done, read or withdrawn item for everyone. Its `appTaskId` stays taken.
#[operation(
    tasks, 200 = "Id of the removed item",
    404 = "There is no such task, or not for this caller",
    409 = "Not allowed in the item's current state",
)]
pub async fn remove_done(
    State(state): State<TasksState>,
    Identified(caller): Identified,
    QueryParameters(selector): QueryParameters<TaskQuery>,
) -> Result<Envelope<String>> {
    make(&state, &caller, selector.todo_task_id, TaskMove::Remove, Ending::default()).await
}

/// Calls the task's `quickDealCallback` and marks it done or read on 2xx. Concurrent requests share one result.
#[operation(
    tasks, 200 = "Id of the task, now done or read",
    404 = "There is no such task, or it is paused",
    409 = "Neither to-do nor to-read, or without quick handling",
    502 = "The callback failed, as the message says; nothing changed",
)]
pub async fn handle_quickly(
    State(state): State<TasksState>,
    Identified(caller): Identified,
    QueryParameters(selector): QueryParameters<TaskQuery>,
) -> Result<Envelope<String>> {
    let task_id = selector.todo_task_id.unwrap_or_default();
    check_id_of("todoTaskId", &task_id).map_err(Error::bad_request)?;
    state.quick_deals.handle(&caller, &task_id).await?;
    Ok(Envelope::of(task_id))
}

async fn make(
    state: &TasksState,
    caller: &Caller,
    id: Option<String>,
    task_move: TaskMove,
    ending: Ending,
) -> Result<Envelope<String>> {
    let id = id.unwrap_or_default();
    check_id_of("todoTaskId", &id).map_err(Error::bad_request)?;
    let (tenant_id, actor) = (caller.tenant.id, TaskActor::of(caller));
    let job = state.store.write_for(tenant_id, move |transaction| {
        Box::pin(async move {
            service::make(transaction, tenant_id, &actor, &id, task_move, &ending).await?;
            Ok(id)
        })
    });
    job.await.map(Envelope::of)
}
