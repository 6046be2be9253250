//! `POST /api/todo/quick_deal`.

use axum::extract::State;
use serde::Deserialize;
use trawl_macros::operation;

use crate::{
    auth::extract::Identified,
    error::{Error, Result},
    http::{
        envelope::{Envelope, FailureEnvelope, Refusals},
        extract::QueryParameters,
    },
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
    tag = "tasks", params(QuickDealQuery),
    responses(
        (status = 200, description = "Id of the task, now done or read", body = Envelope<String>),
        Refusals,
        (status = 404, description = "There is no such task, or it is paused", body = FailureEnvelope),
        (status = 409, description = "Neither to-do nor to-read, or without quick handling", body = FailureEnvelope),
        (status = 502, description = "The callback failed, as the message says; nothing changed", body = FailureEnvelope),
    )
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
