//! Single tasks, for their application, assignee and creator.

use axum::extract::State;
use trawl_macros::operation;

use crate::{
    auth::{caller::Caller, extract::Identified},
    error::{Error, Result},
    http::{envelope::Envelope, extract::PathParameter},
    platform::{
        shared::patch::check_id,
        tasks::{
            TasksState,
            forms::{TaskDetails, TaskForm},
            service::{self, TaskActor},
        },
    },
};

/// Returns an open or paused item to its application, assignee (unless paused) and creator.
#[operation(
    tasks, id = "The platform's to-do id", 200 = "The item",
    404 = "There is no such to-do item, or not for this caller",
)]
pub async fn show_todo(
    State(state): State<TasksState>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
) -> Result<Envelope<TaskDetails>> {
    show(&state, &caller, &id, TaskForm::ToDo, "there is no such to-do item").await
}

/// Returns a done, read or withdrawn item to its application, assignee and creator.
#[operation(
    tasks, id = "The platform's to-do id", 200 = "The item",
    404 = "There is no such done item, or not for this caller",
)]
pub async fn show_done(
    State(state): State<TasksState>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
) -> Result<Envelope<TaskDetails>> {
    show(&state, &caller, &id, TaskForm::Done, "there is no such done item").await
}

async fn show(
    state: &TasksState,
    caller: &Caller,
    id: &str,
    form: TaskForm,
    absent: &str,
) -> Result<Envelope<TaskDetails>> {
    check_id(id).map_err(Error::bad_request)?;
    let (reader, actor) = (state.store.reader(), TaskActor::of(caller));
    let details = service::show(reader, caller.tenant.id, &actor, id, form).await?;
    details.map(Envelope::of).ok_or_else(|| Error::not_found(absent))
}
