//! `POST /api/todo/quick_deal`.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;

use crate::{
    api::{
        envelope::{Envelope, FailureEnvelope, Refusals},
        extract::{Identified, QueryParameters},
    },
    app::App,
    error::{Error, Result},
    platform::common::check_id_of,
};

/// Which task.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct Handled {
    /// The platform's to-do id.
    #[param(required = true)]
    todo_task_id: Option<String>,
}

/// Handles a task of the caller quickly: its application is told by its `quickDealCallback`, and the task becomes done or
/// read once that has answered 2xx. Whoever asks for the same meanwhile gets the same answer.
#[utoipa::path(
    post, path = "/api/todo/quick_deal", tag = "tasks", params(Handled),
    responses(
        (status = 200, description = "The task's id; it is done or read", body = Envelope<String>),
        Refusals,
        (status = 404, description = "There is no such task, or it is paused", body = FailureEnvelope),
        (status = 409, description = "It is neither to-do nor to-read, or does not support quick handling", body = FailureEnvelope),
        (status = 502, description = "Its callback failed, and nothing has changed; the message says how it failed", body = FailureEnvelope),
    )
)]
pub async fn handle_quickly(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(handled): QueryParameters<Handled>,
) -> Result<Envelope<String>> {
    let task_id = handled.todo_task_id.unwrap_or_default();
    check_id_of("todoTaskId", &task_id).map_err(Error::bad_request)?;
    app.quick_deals.handle(&caller, &task_id).await?;
    Ok(Envelope::of(task_id))
}
