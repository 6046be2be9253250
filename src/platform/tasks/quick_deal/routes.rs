//! `POST /api/todo/quick_deal`.

use axum::extract::State;
use serde::Deserialize;
use trawl_macros::operation;

use crate::{
    auth::extract::Identified,
    error::{Error, Result},
    http::{envelope::Envelope, extract::QueryParameters},
    platform::{shared::patch::check_id_of, tasks::TasksState},
};

/// Selects a task.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct QuickDealQuery {
    /// Platform's to-do id.
    #[param(required = true)]
    todo_task_id: Option<String>,
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
    QueryParameters(handled): QueryParameters<QuickDealQuery>,
) -> Result<Envelope<String>> {
    let task_id = handled.todo_task_id.unwrap_or_default();
    check_id_of("todoTaskId", &task_id).map_err(Error::bad_request)?;
    state.quick_deals.handle(&caller, &task_id).await?;
    Ok(Envelope::of(task_id))
}
