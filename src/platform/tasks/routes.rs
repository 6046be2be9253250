//! `POST /api/todo/create` and `/api/todo/batch_create`.

use std::sync::Arc;

use axum::extract::State;
use serde_json::value::RawValue;

use super::{
    model::{self, BatchResult, CreatedTask, FailedTask, NewTask, Task, TaskStatus},
    repo::{self, Creation},
};
use crate::{
    api::{
        envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals},
        extract::{Identified, JsonBody, JsonObject},
    },
    app::App,
    error::{Error, Result},
    json,
    store::now_millis,
};

/// Creates a to-do item; the same again answers the same id.
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
    let (task, status) = task.checked().map_err(Error::bad_request)?;
    let new = NewTask { task, status, created_at: now_millis() };
    let (tenant_id, application) = (caller.tenant.id, Arc::clone(&caller.client_id));
    let creation = app
        .store
        .write(move |transaction| {
            Box::pin(async move { repo::create(transaction, tenant_id, &application, &new).await })
        })
        .await?;
    match creation {
        Creation::There(created) => Ok(Envelope::of(created)),
        Creation::Other(_) => Err(Error::conflict(OTHER_CONTENT)),
    }
}

const OTHER_CONTENT: &str = "appTaskId: this application has a task of this id with other content already";

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
    let most = app.config.limits.batch_items;
    if items.len() > most {
        return Err(Error::bad_request(format!("body: must hold at most {most} items, not {}", items.len())));
    }
    let mut result = BatchResult::default();
    let mut tasks = Vec::with_capacity(items.len());
    for (raw, created_at) in items.iter().zip(model::spread_times(items.len(), now_millis())) {
        match read_task(raw) {
            Ok((task, status)) => tasks.push(NewTask { task, status, created_at }),
            Err(failed) => result.error.push(failed),
        }
    }
    let (tenant_id, application) = (caller.tenant.id, Arc::clone(&caller.client_id));
    app.bulk.wait_for_room(tasks.len()).await?;
    let stored = app
        .store
        .write(move |transaction| {
            Box::pin(async move {
                let mut stored = BatchResult::default();
                for new in &tasks {
                    match repo::create(transaction, tenant_id, &application, new).await? {
                        Creation::There(created) => stored.success.push(created),
                        Creation::Other(id) => stored.error.push(FailedTask {
                            id: Some(id),
                            message: OTHER_CONTENT.to_owned(),
                            app_task_id: new.task.app_task_id.clone(),
                        }),
                    }
                }
                Ok(stored)
            })
        })
        .await?;
    result.success = stored.success;
    result.error.extend(stored.error);
    Ok(Envelope::of(result))
}

fn read_task(raw: &RawValue) -> Result<(Task, TaskStatus), FailedTask> {
    let failed = |app_task_id: String, message| FailedTask { id: None, message, app_task_id };
    let task: Task = json::read_object(raw.get().as_bytes())
        .map_err(|message| failed(json::field_as_text(raw, "appTaskId"), message))?;
    let app_task_id = task.app_task_id.clone();
    task.checked().map_err(|message| failed(app_task_id, message))
}
