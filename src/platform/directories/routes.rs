//! `/v1/directories`: folders, and who may do what in them (specification, "Folders").

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;

use super::{
    changes,
    fields::{CreationForm, Directory, DirectoryForm, GrantForm, GrantRemovalForm, RenamingForm, checked},
    grants, listing,
    repo::ListedFile,
};
use crate::{
    api::{
        envelope::{BodyRefusals, Refusals, TimedEnvelope},
        extract::{Identified, JsonObject, QueryParameters},
    },
    app::App,
    error::{Error, Result},
};

/// Which folder's files.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct FilesQuery {
    /// The folder's id; `root` for one's own root.
    #[param(required)]
    dir_id: Option<String>,
}

/// Which folders.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct DirectoriesQuery {
    /// The id of the folder that they are in; `root` for one's own root. Absent or empty: the uppermost ones.
    parent_id: Option<String>,
}

/// Lists the files directly in a folder, by name.
///
/// Business failures: 430003 where there is no such folder that the caller may read.
#[utoipa::path(
    get, path = "/v1/directories/file/list", tag = "folders", params(FilesQuery),
    responses((status = 200, description = "The files, or a business failure", body = TimedEnvelope<Vec<ListedFile>>), Refusals)
)]
pub async fn list_files(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<FilesQuery>,
) -> Result<TimedEnvelope<Vec<ListedFile>>> {
    let id = query.dir_id.ok_or_else(|| Error::bad_request("dirId: is missing"))?;
    let files = listing::list_files(&app, caller, checked("dirId", id)?).await?;
    Ok(TimedEnvelope::list(files))
}

/// Lists the folders directly in one, by name; without one, the uppermost folders that the caller may read: the first-level ones
/// of himself and of the groups, departments and the enterprise whose folders he owns, and those that he was given a right on;
/// 10,000 at most, those that he owns first.
///
/// Business failures: 430003 where there is no such folder that the caller may read.
#[utoipa::path(
    get, path = "/v1/directories/list", tag = "folders", params(DirectoriesQuery),
    responses((status = 200, description = "The folders, or a business failure", body = TimedEnvelope<Vec<Directory>>), Refusals)
)]
pub async fn list_directories(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<DirectoriesQuery>,
) -> Result<TimedEnvelope<Vec<Directory>>> {
    let parent_id = query.parent_id.filter(|id| !id.is_empty());
    let parent_id = parent_id.map(|id| checked("parentId", id)).transpose()?;
    Ok(TimedEnvelope::list(listing::list_directories(&app, caller, parent_id).await?))
}

/// Makes a folder.
///
/// Without `parentId` it is a first-level folder of the subject that `principalId` names: the caller himself, the enterprise (its
/// eCode), a group or a department, whose folders he has to own; without `principalId` too, his own.
///
/// Business failures: 430003 where the folder above or the subject does not exist for the caller, 430011 where he may not put
/// anything there, 430017 where somebody else locked it, 430002 where there is one of this name and `skip` is not true, 400 for a name
/// that no folder may have, and where there is no room.
#[utoipa::path(
    post, path = "/v1/directories/create", tag = "folders", request_body = CreationForm,
    responses(
        (status = 200, description = "The folder, or a business failure", body = TimedEnvelope<Directory>),
        Refusals, BodyRefusals,
    )
)]
pub async fn create_directory(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<CreationForm>,
) -> Result<TimedEnvelope<Directory>> {
    Ok(TimedEnvelope::of(changes::create(&app, caller, form.checked()?).await?))
}

/// Removes a folder with everything below it.
///
/// Business failures: 430003 where it does not exist for the caller, 430011 where he may not delete it, 430017 where it, a folder
/// above or one below is locked by somebody else.
#[utoipa::path(
    post, path = "/v1/directories/delete", tag = "folders", request_body = DirectoryForm,
    responses(
        (status = 200, description = "Its id, or a business failure", body = TimedEnvelope<Directory>),
        Refusals, BodyRefusals,
    )
)]
pub async fn delete_directory(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<DirectoryForm>,
) -> Result<TimedEnvelope<Directory>> {
    Ok(TimedEnvelope::of(changes::remove(&app, caller, form.checked()?).await?))
}

/// Gives a folder another name.
///
/// Business failures: 430003 where it does not exist for the caller, 430011 where he may not change it, 430017 where it or a folder
/// above is locked by somebody else, 430002 where there is one of this name beside it, 400 for a name that no folder may have.
#[utoipa::path(
    post, path = "/v1/directories/rename", tag = "folders", request_body = RenamingForm,
    responses(
        (status = 200, description = "Its id, or a business failure", body = TimedEnvelope<Directory>),
        Refusals, BodyRefusals,
    )
)]
pub async fn rename_directory(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<RenamingForm>,
) -> Result<TimedEnvelope<Directory>> {
    let (id, name) = form.checked()?;
    Ok(TimedEnvelope::of(changes::rename(&app, caller, id, name).await?))
}

/// Locks a folder: what is in it and below it, only the caller changes from then on.
///
/// Business failures: 430003 where it does not exist for the caller, 430011 where he does not manage it, 430017 where it or a folder
/// above is locked, 430020 where a file in it was found unsafe.
#[utoipa::path(
    post, path = "/v1/directories/lock", tag = "folders", request_body = DirectoryForm,
    responses(
        (status = 200, description = "Its id, or a business failure", body = TimedEnvelope<Directory>),
        Refusals, BodyRefusals,
    )
)]
pub async fn lock_directory(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<DirectoryForm>,
) -> Result<TimedEnvelope<Directory>> {
    Ok(TimedEnvelope::of(changes::lock(&app, caller, form.checked()?).await?))
}

/// Unlocks a folder, whoever locked it.
///
/// Business failures: 430003 where it does not exist for the caller, 430011 where he does not manage it, 430017 where a folder above
/// is locked, 430020 where a file in it was found unsafe, 400 where it is not locked.
#[utoipa::path(
    post, path = "/v1/directories/unlock", tag = "folders", request_body = DirectoryForm,
    responses(
        (status = 200, description = "Its id, or a business failure", body = TimedEnvelope<Directory>),
        Refusals, BodyRefusals,
    )
)]
pub async fn unlock_directory(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<DirectoryForm>,
) -> Result<TimedEnvelope<Directory>> {
    Ok(TimedEnvelope::of(changes::unlock(&app, caller, form.checked()?).await?))
}

/// Gives users, groups or departments a right on a folder and all that is below it, in the place of the one that they had.
///
/// Business failures: 430003 where the folder does not exist for the caller, 430011 where he does not manage it, 400 where a target
/// is unknown, which changes nothing, and where there are as many rights as there may be.
#[utoipa::path(
    post, path = "/v1/directories/authorize", tag = "folders", request_body = GrantForm,
    responses(
        (status = 200, description = "That it is done, or a business failure", body = TimedEnvelope<String>),
        Refusals, BodyRefusals,
    )
)]
pub async fn authorize(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<GrantForm>,
) -> Result<TimedEnvelope<String>> {
    grants::authorize(&app, caller, form.checked()?).await?;
    Ok(TimedEnvelope::of("the right is given".to_owned()))
}

/// Takes the right that a user, a group or a department was given on a folder. What it was given on a folder above stays. Everyone
/// may take what was given to himself by his user id.
///
/// Business failures: 430003 where the folder does not exist for the caller, 430011 where he does not manage it.
#[utoipa::path(
    post, path = "/v1/directories/authorize/remove", tag = "folders", request_body = GrantRemovalForm,
    responses(
        (status = 200, description = "That it is done, or a business failure", body = TimedEnvelope<String>),
        Refusals, BodyRefusals,
    )
)]
pub async fn remove_authorization(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<GrantRemovalForm>,
) -> Result<TimedEnvelope<String>> {
    let had_one = grants::remove(&app, caller, form.checked()?).await?;
    let message = if had_one { "the right is taken" } else { "there was no right to take" };
    Ok(TimedEnvelope::of(message.to_owned()))
}
