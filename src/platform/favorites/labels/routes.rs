//! `/v1/favorite/label`, its update and delete, `/v1/favorite/labels`: each person's own; and `/v1/favorite/labelCountLimit`,
//! which applications set for their tenant.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    model::{Label, LabelForm, MOST_LABELS, check_name},
    repo::{self, Renaming},
};
use crate::{
    api::{
        envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals},
        extract::{Identified, JsonObject, QueryParameters},
    },
    app::App,
    error::{Error, Kind, Result},
    platform::{
        common::check_id,
        favorites::model::Owner,
        tenants::settings::{self, MOST_LABELS_OF_A_FAVORITE, SettingsForm},
    },
};

/// Which label.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Which {
    /// Label id.
    #[param(required = true)]
    id: Option<String>,
}

/// Which label, and its new name.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct NewName {
    /// Label id.
    #[param(required = true)]
    id: Option<String>,
    /// Its new name, unique among the caller's labels.
    #[param(required = true)]
    name: Option<String>,
}

/// Which part of the list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Part {
    /// Labels at the most; all of them where it is absent or empty.
    limit: Option<u32>,
    /// Labels to leave out at the beginning.
    offset: Option<u32>,
}

/// How many labels.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Count {
    /// Labels that one favorite may have from now on, 0 to 1,000; absent or empty changes nothing.
    count: Option<String>,
}

/// The limit that counts now.
#[derive(Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct LabelCountLimit {
    /// Labels that one favorite may have.
    count: i64,
}

fn checked_id(id: Option<String>) -> Result<String> {
    let id = id.unwrap_or_default();
    check_id(&id).map_err(Error::bad_request)?;
    Ok(id)
}

fn taken() -> Error {
    Error::conflict("name: there is a label of this name already")
}

fn unknown() -> Error {
    Error::not_found("id: there is no such label")
}

/// Makes a label of the caller's.
#[utoipa::path(
    post, path = "/v1/favorite/label", tag = "favorites", request_body = LabelForm,
    responses(
        (status = 200, description = "The label", body = Envelope<Label>),
        Refusals, BodyRefusals,
        (status = 409, description = "There is one of this name, or as many as a person may have", body = FailureEnvelope),
    )
)]
pub async fn add_label(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<LabelForm>,
) -> Result<Envelope<Label>> {
    let (owner, form) = (Owner::of(&caller)?, form.checked().map_err(Error::bad_request)?);
    let job = app.store.write(move |transaction| {
        Box::pin(async move {
            if repo::count(&**transaction, &owner).await? >= MOST_LABELS as u64 {
                return Err(Error::conflict(format!(
                    "there are {MOST_LABELS} labels already, the most that a person may have"
                )));
            }
            repo::insert(transaction, &owner, form).await?.ok_or_else(taken)
        })
    });
    Ok(Envelope::of(job.await?))
}

/// Deletes a label of the caller's, and takes it off all his favorites.
#[utoipa::path(
    post, path = "/v1/favorite/label/delete", tag = "favorites", params(Which),
    responses(
        (status = 200, description = "It is deleted", body = Envelope<Object>),
        Refusals,
        (status = 404, description = "There is no such label", body = FailureEnvelope),
    )
)]
pub async fn delete_label(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(which): QueryParameters<Which>,
) -> Result<Envelope<Map<String, Value>>> {
    let (owner, id) = (Owner::of(&caller)?, checked_id(which.id)?);
    let job = app
        .store
        .write(move |transaction| Box::pin(async move { Ok(repo::delete(transaction, &owner, &id).await?) }));
    if job.await? { Ok(Envelope::of(Map::new())) } else { Err(unknown()) }
}

/// Names a label of the caller's otherwise.
#[utoipa::path(
    post, path = "/v1/favorite/label/update", tag = "favorites", params(NewName),
    responses(
        (status = 200, description = "That is its name", body = Envelope<Object>),
        Refusals,
        (status = 404, description = "There is no such label", body = FailureEnvelope),
        (status = 409, description = "Another one has this name", body = FailureEnvelope),
    )
)]
pub async fn rename_label(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(NewName { id, name }): QueryParameters<NewName>,
) -> Result<Envelope<Map<String, Value>>> {
    let (owner, id, name) = (Owner::of(&caller)?, checked_id(id)?, name.unwrap_or_default());
    check_name(&name).map_err(Error::bad_request)?;
    let job = app.store.write(move |transaction| {
        Box::pin(async move { Ok(repo::rename(transaction, &owner, &id, &name).await?) })
    });
    match job.await? {
        Renaming::Renamed => Ok(Envelope::of(Map::new())),
        Renaming::Taken => Err(taken()),
        Renaming::Unknown => Err(unknown()),
    }
}

/// The caller's labels, oldest first.
#[utoipa::path(
    get, path = "/v1/favorite/labels", tag = "favorites", params(Part),
    responses((status = 200, description = "The labels", body = Envelope<Vec<Label>>), Refusals)
)]
pub async fn list_labels(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(part): QueryParameters<Part>,
) -> Result<Envelope<Vec<Label>>> {
    let (owner, reader) = (Owner::of(&caller)?, app.store.reader());
    let total = repo::count(reader, &owner).await?;
    let labels = repo::list(reader, &owner, part.limit, part.offset.unwrap_or_default()).await?;
    Ok(Envelope { total: Some(total), ..Envelope::list(labels) })
}

/// Sets how many labels one favorite may have in the tenant; without `count` it only says how many. Favorites that have more keep
/// them until their labels are set again.
#[utoipa::path(
    get, path = "/v1/favorite/labelCountLimit", tag = "favorites", params(Count),
    responses((status = 200, description = "The limit that counts now", body = Envelope<LabelCountLimit>), Refusals)
)]
pub async fn set_label_limit(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(Count { count }): QueryParameters<Count>,
) -> Result<Envelope<LabelCountLimit>> {
    let code = caller.tenant.code.clone();
    let settings = match count.filter(|count| !count.is_empty()) {
        None => settings::find(&app, &code).await,
        Some(count) => {
            let is_fit = |count: &i64| (0..=MOST_LABELS_OF_A_FAVORITE).contains(count);
            let limit = count.parse::<i64>().ok().filter(is_fit).ok_or_else(|| {
                Error::bad_request(format!("count: must be a whole number, 0 to {MOST_LABELS_OF_A_FAVORITE}"))
            })?;
            let form = SettingsForm { label_limit: Some(limit), ..SettingsForm::default() };
            settings::change(&app, caller, code, form).await
        }
    };
    // Whoever was let in has a tenant; it went away meanwhile.
    let settings = settings.map_err(|error| match error.kind {
        Kind::NotFound => Error::unauthorized("the tenant no longer exists"),
        _ => error,
    })?;
    Ok(Envelope::of(LabelCountLimit { count: settings.label_limit }))
}
