//! Creation of tasks.

use axum::extract::State;
use serde_json::value::RawValue;
use trawl_macros::operation;

use crate::{
    auth::extract::Identified,
    error::Result,
    http::{
        envelope::Envelope,
        extract::{JsonList, JsonObject},
    },
    platform::tasks::{
        TasksState,
        forms::{BatchResult, CreatedTask, Task, TaskForm},
    },
};

/// Creates a to-do item; repeated requests return the same id.
#[operation(tasks, 200 = "The item", 409 = "The application has a different item with this appTaskId")]
pub async fn create_todo(
    State(state): State<TasksState>,
    Identified(caller): Identified,
    JsonObject(task): JsonObject<Task>,
) -> Result<Envelope<CreatedTask>> {
    state.creations.create_one(&caller, TaskForm::ToDo, task).await.map(Envelope::of)
}

/// Creates a done item; repeated requests return the same id.
#[operation(tasks, 200 = "The item", 409 = "The application has a different item with this appTaskId")]
pub async fn create_done(
    State(state): State<TasksState>,
    Identified(caller): Identified,
    JsonObject(task): JsonObject<Task>,
) -> Result<Envelope<CreatedTask>> {
    state.creations.create_one(&caller, TaskForm::Done, task).await.map(Envelope::of)
}

/// Creates to-do items, each independent of failing ones.
#[operation(tasks, request_body = Vec<Task>, 200 = "Result of each item")]
pub async fn create_todos(
    State(state): State<TasksState>,
    Identified(caller): Identified,
    JsonList(items): JsonList<Box<RawValue>>,
) -> Result<Envelope<BatchResult>> {
    state.creations.create_batch(&caller, TaskForm::ToDo, &items).await.map(Envelope::of)
}

/// Creates done items, each independent of failing ones.
#[operation(tasks, request_body = Vec<Task>, 200 = "Result of each item")]
pub async fn create_dones(
    State(state): State<TasksState>,
    Identified(caller): Identified,
    JsonList(items): JsonList<Box<RawValue>>,
) -> Result<Envelope<BatchResult>> {
    state.creations.create_batch(&caller, TaskForm::Done, &items).await.map(Envelope::of)
}
