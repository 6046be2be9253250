//! `GET /api/todo/{id}` and `/api/done/{id}` (decisions 8.4).

use std::sync::Arc;

use axum::extract::State;

use crate::{
    api::{
        envelope::{Envelope, FailureEnvelope, Refusals},
        extract::{Identified, PathParameter},
    },
    app::App,
    auth::caller::Caller,
    error::{Error, Result},
    platform::{
        common::check_id,
        tasks::{
            model::{Form, TaskDetails},
            moves::{self, Actor},
        },
    },
};

/// A to-do, to-read or paused item, for its application, its assignee and its creator; a paused one is not shown to its assignee.
/// One that has ended is at `/api/done/{id}`.
#[utoipa::path(
    get, path = "/api/todo/{id}", tag = "tasks", params(("id" = String, Path, description = "The platform's to-do id")),
    responses(
        (status = 200, description = "The item", body = Envelope<TaskDetails>),
        Refusals,
        (status = 404, description = "There is no such to-do item, or not for this caller", body = FailureEnvelope),
    )
)]
pub async fn show_todo(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
) -> Result<Envelope<TaskDetails>> {
    show(&app, &caller, &id, Form::ToDo, "there is no such to-do item").await
}

/// A done, read or withdrawn item, for its application, its assignee and its creator.
#[utoipa::path(
    get, path = "/api/done/{id}", tag = "tasks", params(("id" = String, Path, description = "The platform's to-do id")),
    responses(
        (status = 200, description = "The item", body = Envelope<TaskDetails>),
        Refusals,
        (status = 404, description = "There is no such done item, or not for this caller", body = FailureEnvelope),
    )
)]
pub async fn show_done(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
) -> Result<Envelope<TaskDetails>> {
    show(&app, &caller, &id, Form::Done, "there is no such done item").await
}

async fn show(
    app: &App,
    caller: &Caller,
    id: &str,
    form: Form,
    absent: &str,
) -> Result<Envelope<TaskDetails>> {
    check_id(id).map_err(Error::bad_request)?;
    let (reader, actor) = (app.store.reader(), Actor::of(caller));
    let details = moves::show(reader, caller.tenant.id, &actor, id, form).await?;
    details.map(Envelope::of).ok_or_else(|| Error::not_found(absent))
}
