//! `/v1/favorite/label…` and `labelCountLimit`.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use trawl_macros::operation;

use super::{
    forms::{Label, LabelForm, MAX_LABELS, check_name},
    repo::{self, LabelRename},
};
use crate::{
    auth::extract::Identified,
    error::{Error, ErrorKind, Result},
    http::{
        envelope::{Empty, Envelope},
        extract::{JsonObject, QueryParameters},
        precondition::IfMatch,
    },
    platform::{
        favorites::{FavoritesState, rules::Owner},
        shared::patch::check_id,
        tenants::{
            TenantsState,
            settings::{self, MAX_LABELS_OF_A_FAVORITE, SettingsForm},
        },
    },
};

/// Selects a label.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct LabelSelector {
    /// Label id.
    #[param(required = true)]
    id: Option<String>,
}

/// Selects a label and renames it.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct LabelRenameQuery {
    /// Label id.
    #[param(required = true)]
    id: Option<String>,
    /// New name, unique among the caller's labels.
    #[param(required = true)]
    name: Option<String>,
}

/// Label list parameters.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct LabelListQuery {
    /// Maximum number of labels; all if absent or empty.
    limit: Option<u32>,
    /// Labels to skip.
    offset: Option<u32>,
}

/// Label limit parameters.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct LabelLimitQuery {
    /// Labels that one favorite may have, 0 to 1,000; absent or empty changes nothing.
    count: Option<String>,
}

/// The current limit.
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
    Error::conflict("name: another label already has this name")
}

fn unknown() -> Error {
    Error::not_found("id: there is no such label")
}

/// Creates a label of the caller.
#[operation(favorites, 200 = "The label", 409 = "Name taken, or maximum reached")]
pub async fn add_label(
    State(state): State<FavoritesState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<LabelForm>,
) -> Result<Envelope<Label>> {
    let (owner, form) = (Owner::of(&caller)?, form.checked().map_err(Error::bad_request)?);
    let job = state.store.write_for(owner.tenant_id, move |transaction| {
        Box::pin(async move {
            if repo::count(transaction, &owner).await? >= MAX_LABELS as u64 {
                return Err(Error::conflict(format!("you already have {MAX_LABELS} labels, the maximum")));
            }
            repo::insert(transaction, &owner, form).await?.ok_or_else(taken)
        })
    });
    Ok(Envelope::of(job.await?))
}

/// Deletes a label of the caller and removes it from their favorites.
#[operation(favorites, 200 = "The label was deleted", 404 = "There is no such label")]
pub async fn delete_label(
    State(state): State<FavoritesState>,
    Identified(caller): Identified,
    QueryParameters(selector): QueryParameters<LabelSelector>,
) -> Result<Envelope<Empty>> {
    let (owner, id) = (Owner::of(&caller)?, checked_id(selector.id)?);
    let job = state.store.write_for(owner.tenant_id, move |transaction| {
        Box::pin(async move { Ok(repo::delete(transaction, &owner, &id).await?) })
    });
    if job.await? { Ok(Envelope::empty()) } else { Err(unknown()) }
}

/// Renames a label of the caller.
#[operation(
    favorites, 200 = "The label was renamed",
    404 = "There is no such label",
    409 = "Another label has this name",
)]
pub async fn rename_label(
    State(state): State<FavoritesState>,
    Identified(caller): Identified,
    QueryParameters(LabelRenameQuery { id, name }): QueryParameters<LabelRenameQuery>,
) -> Result<Envelope<Empty>> {
    let (owner, id, name) = (Owner::of(&caller)?, checked_id(id)?, name.unwrap_or_default());
    check_name(&name).map_err(Error::bad_request)?;
    let job = state.store.write_for(owner.tenant_id, move |transaction| {
        Box::pin(async move { Ok(repo::rename(transaction, &owner, &id, &name).await?) })
    });
    match job.await? {
        LabelRename::Renamed => Ok(Envelope::empty()),
        LabelRename::Taken => Err(taken()),
        LabelRename::Unknown => Err(unknown()),
    }
}

/// Lists the caller's labels, oldest first.
#[operation(favorites, 200 = "The labels")]
pub async fn list_labels(
    State(state): State<FavoritesState>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<LabelListQuery>,
) -> Result<Envelope<Vec<Label>>> {
    let (owner, reader) = (Owner::of(&caller)?, state.store.reader());
    let total = repo::count(reader, &owner).await?;
    let labels = repo::list(reader, &owner, query.limit, query.offset.unwrap_or_default()).await?;
    Ok(Envelope { total: Some(total), ..Envelope::list(labels) })
}

/// Sets or returns the tenant's maximum of labels per favorite. Existing favorites keep their labels until changed.
#[operation(favorites, 200 = "The current limit")]
pub async fn set_label_limit(
    State(tenants): State<TenantsState>,
    Identified(caller): Identified,
    QueryParameters(LabelLimitQuery { count }): QueryParameters<LabelLimitQuery>,
) -> Result<Envelope<LabelCountLimit>> {
    let code = caller.tenant.code.clone();
    let settings = match count.filter(|count| !count.is_empty()) {
        None => settings::find(&tenants, &code).await,
        Some(count) => {
            let is_fit = |count: &i64| (0..=MAX_LABELS_OF_A_FAVORITE).contains(count);
            let limit = count.parse::<i64>().ok().filter(is_fit).ok_or_else(|| {
                Error::bad_request(format!("count: must be a whole number, 0 to {MAX_LABELS_OF_A_FAVORITE}"))
            })?;
            let form = SettingsForm { label_limit: Some(limit), ..SettingsForm::default() };
            settings::change(&tenants, caller, code, form, IfMatch::default()).await
        }
    };
    // The tenant was removed after authentication.
    let settings = settings.map_err(|error| match error.kind {
        ErrorKind::NotFound => Error::unauthorized("the tenant no longer exists"),
        _ => error,
    })?;
    Ok(Envelope::of(LabelCountLimit { count: settings.label_limit }))
}
