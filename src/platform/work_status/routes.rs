//! Changes of work status.

use axum::extract::State;
use serde::Deserialize;
use serde_json::value::RawValue;
use trawl_macros::operation;

use super::{
    forms::{WorkStatus, WorkStatusOutcome},
    repo,
};
use crate::{
    auth::{caller::Caller, extract::Identified},
    error::{Error, Result},
    http::{
        envelope::{Empty, Envelope},
        extract::{JsonList, PathParameter, QueryParameters},
    },
    platform::{
        shared::{
            patch::SyncFailure,
            sync::{ParsedRows, read_rows},
        },
        work_status::WorkStatusState,
    },
};

/// Work status query.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Code {
    /// `01`: on leave; absent clears it.
    code: Option<String>,
}

/// Sets or clears one person's work status.
#[operation(
    directory, user_id = "User id on the synchronising party's side", 200 = "The status was set",
    404 = "There is no such user",
)]
pub async fn update_work_status(
    State(state): State<WorkStatusState>,
    Identified(caller): Identified,
    PathParameter(user_id): PathParameter,
    QueryParameters(Code { code }): QueryParameters<Code>,
) -> Result<Envelope<Empty>> {
    let change = WorkStatus { code, user_id }.checked().map_err(Error::bad_request)?;
    match update(&state, &caller, vec![change]).await?.pop() {
        None => Ok(Envelope::empty()),
        Some(failure) => Err(Error::not_found(failure.message)),
    }
}

/// Sets or clears many work statuses; each item succeeds or fails on its own.
#[operation(directory, request_body = Vec<WorkStatus>, 200 = "Failed items with reasons")]
pub async fn update_work_statuses(
    State(state): State<WorkStatusState>,
    Identified(caller): Identified,
    JsonList(rows): JsonList<Box<RawValue>>,
) -> Result<Envelope<WorkStatusOutcome>> {
    let ParsedRows { rows, mut failures } =
        read_rows(rows, "userId", |row: &WorkStatus| &row.user_id).await?;
    let mut changes = Vec::with_capacity(rows.len());
    for change in rows {
        let id = change.user_id.clone();
        match change.checked() {
            Ok(change) => changes.push(change),
            Err(message) => failures.push(SyncFailure { id, message }),
        }
    }
    failures.extend(update(&state, &caller, changes).await?);
    Ok(Envelope::of(WorkStatusOutcome { failures }))
}

async fn update(
    state: &WorkStatusState,
    caller: &Caller,
    changes: Vec<WorkStatus>,
) -> Result<Vec<SyncFailure>> {
    let tenant_id = caller.tenant.id;
    let job = state
        .store
        .write_for(tenant_id, move |transaction| Box::pin(repo::update(transaction, tenant_id, changes)));
    job.await
}
