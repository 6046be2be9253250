//! `GET /v1/users/{userId}/status/update` and `POST /v1/users/status/update`.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::{
    model::{WorkStatus, WorkStatusOutcome},
    repo,
};
use crate::{
    api::{
        envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals},
        extract::{Identified, JsonBody, PathParameter, QueryParameters},
        sync::{Rows, read_rows},
    },
    app::App,
    auth::caller::Caller,
    error::{Error, Result},
    platform::common::SyncFailure,
};

/// Which work status.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Code {
    /// `01` means on leave; absent clears the work status.
    code: Option<String>,
}

/// Sets or clears one person's work status.
#[utoipa::path(
    get, path = "/v1/users/{userId}/status/update", tag = "directory",
    params(("userId" = String, Path, description = "User id on the synchronising party's side"), Code),
    responses(
        (status = 200, description = "It is set", body = Envelope<Object>),
        Refusals,
        (status = 404, description = "There is no such user", body = FailureEnvelope),
    )
)]
pub async fn update_work_status(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(user_id): PathParameter,
    QueryParameters(Code { code }): QueryParameters<Code>,
) -> Result<Envelope<Map<String, Value>>> {
    let change = WorkStatus { code, user_id }.checked().map_err(Error::bad_request)?;
    match update(&app, &caller, vec![change]).await?.pop() {
        None => Ok(Envelope::of(Map::new())),
        Some(failure) => Err(Error::not_found(failure.message)),
    }
}

/// Sets or clears the work status of many, each on its own: one that fails leaves the others alone.
#[utoipa::path(
    post, path = "/v1/users/status/update", tag = "directory", request_body = Vec<WorkStatus>,
    responses(
        (status = 200, description = "The items that failed, and why", body = Envelope<WorkStatusOutcome>),
        Refusals, BodyRefusals,
    )
)]
pub async fn update_work_statuses(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonBody(rows): JsonBody<Vec<Box<RawValue>>>,
) -> Result<Envelope<WorkStatusOutcome>> {
    let Rows { rows, mut failures } =
        read_rows::<WorkStatus>(rows, "userId", app.config.limits.batch_items).await?;
    let mut changes = Vec::with_capacity(rows.len());
    for change in rows {
        let id = change.user_id.clone();
        match change.checked() {
            Ok(change) => changes.push(change),
            Err(message) => failures.push(SyncFailure { id, message }),
        }
    }
    failures.extend(update(&app, &caller, changes).await?);
    Ok(Envelope::of(WorkStatusOutcome { failures }))
}

async fn update(app: &App, caller: &Caller, changes: Vec<WorkStatus>) -> Result<Vec<SyncFailure>> {
    let tenant_id = caller.tenant.id;
    let job = app.store.write(move |transaction| Box::pin(repo::update(transaction, tenant_id, changes)));
    job.await
}
