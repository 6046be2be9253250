//! Creation of tasks.

use std::sync::Arc;

use axum::extract::State;
use serde_json::value::RawValue;
use trawl_macros::operation;

use crate::{
    auth::{caller::Caller, extract::Identified},
    error::{Error, Result},
    http::{
        envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals},
        extract::{JsonBody, JsonObject},
    },
    json,
    platform::tasks::{
        TasksState,
        forms::{self, BatchResult, CreatedTask, FailedTask, NewTask, Task, TaskForm, TaskStatus},
        repo::{self, CreationOutcome},
    },
    store::now_millis,
};

/// Creates a to-do item; repeated requests return the same id.
#[operation(
    tag = "tasks", request_body = Task,
    responses(
        (status = 200, description = "The item", body = Envelope<CreatedTask>),
        Refusals, BodyRefusals,
        (status = 409, description = "The application has a different item with this appTaskId", body = FailureEnvelope),
    )
)]
pub async fn create_todo(
    State(state): State<TasksState>,
    Identified(caller): Identified,
    JsonObject(task): JsonObject<Task>,
) -> Result<Envelope<CreatedTask>> {
    create_one(&state, &caller, TaskForm::ToDo, task).await.map(Envelope::of)
}

/// Creates a done item; repeated requests return the same id.
#[operation(
    tag = "tasks", request_body = Task,
    responses(
        (status = 200, description = "The item", body = Envelope<CreatedTask>),
        Refusals, BodyRefusals,
        (status = 409, description = "The application has a different item with this appTaskId", body = FailureEnvelope),
    )
)]
pub async fn create_done(
    State(state): State<TasksState>,
    Identified(caller): Identified,
    JsonObject(task): JsonObject<Task>,
) -> Result<Envelope<CreatedTask>> {
    create_one(&state, &caller, TaskForm::Done, task).await.map(Envelope::of)
}

/// Creates to-do items, each independent of failing ones.
#[operation(
    tag = "tasks", request_body = Vec<Task>,
    responses(
        (status = 200, description = "Result of each item", body = Envelope<BatchResult>),
        Refusals, BodyRefusals,
    )
)]
pub async fn create_todos(
    State(state): State<TasksState>,
    Identified(caller): Identified,
    JsonBody(items): JsonBody<Vec<Box<RawValue>>>,
) -> Result<Envelope<BatchResult>> {
    create_batch(&state, &caller, TaskForm::ToDo, &items).await.map(Envelope::of)
}

/// Creates done items, each independent of failing ones.
#[operation(
    tag = "tasks", request_body = Vec<Task>,
    responses(
        (status = 200, description = "Result of each item", body = Envelope<BatchResult>),
        Refusals, BodyRefusals,
    )
)]
pub async fn create_dones(
    State(state): State<TasksState>,
    Identified(caller): Identified,
    JsonBody(items): JsonBody<Vec<Box<RawValue>>>,
) -> Result<Envelope<BatchResult>> {
    create_batch(&state, &caller, TaskForm::Done, &items).await.map(Envelope::of)
}

const OTHER_CONTENT: &str = "appTaskId: this application has a task of this id with other content; send the same content or another appTaskId";

async fn create_one(state: &TasksState, caller: &Caller, form: TaskForm, task: Task) -> Result<CreatedTask> {
    let (task, status) = task.checked(form).map_err(Error::bad_request)?;
    let new = NewTask::new(task, status, now_millis())?;
    match state.creations.write(caller.tenant.id, &caller.client_id, new).await? {
        CreationOutcome::There(created) => Ok(created),
        CreationOutcome::Other(_) => Err(Error::conflict(OTHER_CONTENT)),
    }
}

async fn create_batch(
    state: &TasksState,
    caller: &Caller,
    form: TaskForm,
    items: &[Box<RawValue>],
) -> Result<BatchResult> {
    let most = state.limits.batch_items;
    if items.len() > most {
        return Err(Error::bad_request(format!("body: must hold at most {most} items, not {}", items.len())));
    }
    let mut new = Vec::with_capacity(items.len());
    let mut read = Vec::with_capacity(items.len());
    for (raw, created_at) in items.iter().zip(forms::spread_times(items.len(), now_millis())) {
        read.push(match read_task(raw, form) {
            Ok((task, status)) => {
                let app_task_id = task.app_task_id.clone();
                new.push(NewTask::new(task, status, created_at)?);
                Ok(app_task_id)
            }
            Err(failed) => Err(failed),
        });
    }
    let mut creations = if new.is_empty() {
        Vec::new()
    } else {
        state.bulk.wait_for_room(new.len()).await?;
        create(state, caller, new).await?
    }
    .into_iter();
    let mut result = BatchResult::default();
    for one in read {
        match one {
            Err(failed) => result.error.push(failed),
            Ok(app_task_id) => match creations.next() {
                Some(CreationOutcome::There(created)) => result.success.push(created),
                Some(CreationOutcome::Other(id)) => {
                    let message = OTHER_CONTENT.to_owned();
                    result.error.push(FailedTask { id: Some(id), message, app_task_id });
                }
                None => return Err(Error::internal("creating a task returned no outcome")),
            },
        }
    }
    Ok(result)
}

/// Durable and visible together (decisions 2.4).
async fn create(state: &TasksState, caller: &Caller, new: Vec<NewTask>) -> Result<Vec<CreationOutcome>> {
    let (tenant_id, application) = (caller.tenant.id, Arc::clone(&caller.client_id));
    state
        .store
        .write_for(tenant_id, move |transaction| {
            Box::pin(async move { repo::create(transaction, tenant_id, &application, &new).await })
        })
        .await
}

fn read_task(raw: &RawValue, form: TaskForm) -> Result<(Task, TaskStatus), FailedTask> {
    let failed = |app_task_id: String, message| FailedTask { id: None, message, app_task_id };
    let task: Task = json::read_object(raw.get().as_bytes())
        .map_err(|message| failed(json::field_as_text(raw, "appTaskId"), message))?;
    let app_task_id = task.app_task_id.clone();
    task.checked(form).map_err(|message| failed(app_task_id, message))
}
