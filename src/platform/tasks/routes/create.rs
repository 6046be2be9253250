//! `POST /api/todo/create` and `/api/done/create`, and the batches of both.

use std::sync::Arc;

use axum::extract::State;
use serde_json::value::RawValue;

use crate::{
    api::{
        envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals},
        extract::{Identified, JsonBody, JsonObject},
    },
    app::App,
    auth::caller::Caller,
    error::{Error, Result},
    json,
    platform::tasks::{
        model::{self, BatchResult, CreatedTask, FailedTask, Form, NewTask, Task, TaskStatus},
        repo::{self, Creation},
    },
    store::now_millis,
};

/// Creates a to-do item; the same again answers the same id, whatever became of the item since.
#[utoipa::path(
    post, path = "/api/todo/create", tag = "tasks", request_body = Task,
    responses(
        (status = 200, description = "The item", body = Envelope<CreatedTask>),
        Refusals, BodyRefusals,
        (status = 409, description = "The application has another item of this appTaskId", body = FailureEnvelope),
    )
)]
pub async fn create_todo(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(task): JsonObject<Task>,
) -> Result<Envelope<CreatedTask>> {
    create_one(&app, &caller, Form::ToDo, task).await.map(Envelope::of)
}

/// Creates an item that is done already; the same again answers the same id, whatever became of the item since.
#[utoipa::path(
    post, path = "/api/done/create", tag = "tasks", request_body = Task,
    responses(
        (status = 200, description = "The item", body = Envelope<CreatedTask>),
        Refusals, BodyRefusals,
        (status = 409, description = "The application has another item of this appTaskId", body = FailureEnvelope),
    )
)]
pub async fn create_done(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(task): JsonObject<Task>,
) -> Result<Envelope<CreatedTask>> {
    create_one(&app, &caller, Form::Done, task).await.map(Envelope::of)
}

/// Creates to-do items, each on its own: one that fails leaves the others alone.
#[utoipa::path(
    post, path = "/api/todo/batch_create", tag = "tasks", request_body = Vec<Task>,
    responses(
        (status = 200, description = "What came of each item", body = Envelope<BatchResult>),
        Refusals, BodyRefusals,
    )
)]
pub async fn create_todos(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonBody(items): JsonBody<Vec<Box<RawValue>>>,
) -> Result<Envelope<BatchResult>> {
    create_batch(&app, &caller, Form::ToDo, &items).await.map(Envelope::of)
}

/// Creates items that are done already, each on its own: one that fails leaves the others alone.
#[utoipa::path(
    post, path = "/api/done/batch_create", tag = "tasks", request_body = Vec<Task>,
    responses(
        (status = 200, description = "What came of each item", body = Envelope<BatchResult>),
        Refusals, BodyRefusals,
    )
)]
pub async fn create_dones(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonBody(items): JsonBody<Vec<Box<RawValue>>>,
) -> Result<Envelope<BatchResult>> {
    create_batch(&app, &caller, Form::Done, &items).await.map(Envelope::of)
}

const OTHER_CONTENT: &str = "appTaskId: this application has a task of this id with other content already; send the same \
    content again, or another appTaskId";

async fn create_one(app: &App, caller: &Caller, form: Form, task: Task) -> Result<CreatedTask> {
    let (task, status) = task.checked(form).map_err(Error::bad_request)?;
    let new = NewTask::new(task, status, now_millis())?;
    match create(app, caller, vec![new]).await?.pop() {
        Some(Creation::There(created)) => Ok(created),
        Some(Creation::Other(_)) => Err(Error::conflict(OTHER_CONTENT)),
        None => Err(Error::internal("nothing came of creating a task")),
    }
}

async fn create_batch(
    app: &App,
    caller: &Caller,
    form: Form,
    items: &[Box<RawValue>],
) -> Result<BatchResult> {
    let most = app.config.limits.batch_items;
    if items.len() > most {
        return Err(Error::bad_request(format!("body: must hold at most {most} items, not {}", items.len())));
    }
    let mut new = Vec::with_capacity(items.len());
    // Of each item: its appTaskId, or why it was refused.
    let mut read = Vec::with_capacity(items.len());
    for (raw, created_at) in items.iter().zip(model::spread_times(items.len(), now_millis())) {
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
        app.bulk.wait_for_room(new.len()).await?;
        create(app, caller, new).await?
    }
    .into_iter();
    let mut result = BatchResult::default();
    for one in read {
        match one {
            Err(failed) => result.error.push(failed),
            Ok(app_task_id) => match creations.next() {
                Some(Creation::There(created)) => result.success.push(created),
                Some(Creation::Other(id)) => {
                    let message = OTHER_CONTENT.to_owned();
                    result.error.push(FailedTask { id: Some(id), message, app_task_id });
                }
                None => return Err(Error::internal("nothing came of creating a task")),
            },
        }
    }
    Ok(result)
}

/// Creates the tasks in one write: they become durable and visible together (decisions 2.4).
async fn create(app: &App, caller: &Caller, new: Vec<NewTask>) -> Result<Vec<Creation>> {
    let (tenant_id, application) = (caller.tenant.id, Arc::clone(&caller.client_id));
    app.store
        .write(move |transaction| {
            Box::pin(async move { repo::create(transaction, tenant_id, &application, &new).await })
        })
        .await
}

fn read_task(raw: &RawValue, form: Form) -> Result<(Task, TaskStatus), FailedTask> {
    let failed = |app_task_id: String, message| FailedTask { id: None, message, app_task_id };
    let task: Task = json::read_object(raw.get().as_bytes())
        .map_err(|message| failed(json::field_as_text(raw, "appTaskId"), message))?;
    let app_task_id = task.app_task_id.clone();
    task.checked(form).map_err(|message| failed(app_task_id, message))
}
