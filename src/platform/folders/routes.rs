//! `/v1/directories`.

use axum::extract::State;
use serde::Deserialize;
use trawl_macros::operation;

use super::{
    changes,
    forms::{CreationForm, Directory, DirectoryForm, GrantForm, GrantRemovalForm, RenamingForm, checked},
    grants, listing,
    repo::ListedFile,
};
use crate::{
    auth::extract::Identified,
    error::{Error, Result},
    http::{
        envelope::TimedEnvelope,
        extract::{JsonObject, QueryParameters},
    },
    platform::folders::FoldersState,
};

/// Folder to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct FilesQuery {
    /// Folder id, or `root`.
    #[param(required)]
    dir_id: Option<String>,
}

/// Parent to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct DirectoriesQuery {
    /// Parent id, or `root`; absent or empty: uppermost folders.
    parent_id: Option<String>,
}

/// Lists files directly in a folder, by name.
///
/// 430003: unreadable.
#[operation(folders, 200 = "The files, or a business failure")]
pub async fn list_files(
    State(state): State<FoldersState>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<FilesQuery>,
) -> Result<TimedEnvelope<Vec<ListedFile>>> {
    let id = query.dir_id.ok_or_else(|| Error::bad_request("dirId: is missing"))?;
    let files = listing::list_files(&state, caller, checked("dirId", id)?).await?;
    Ok(TimedEnvelope::list(files))
}

/// Lists child folders by name, or up to 10,000 uppermost readable folders.
///
/// 430003: unreadable.
#[operation(folders, 200 = "The folders, or a business failure")]
pub async fn list_directories(
    State(state): State<FoldersState>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<DirectoriesQuery>,
) -> Result<TimedEnvelope<Vec<Directory>>> {
    let parent_id = query.parent_id.filter(|id| !id.is_empty());
    let parent_id = parent_id.map(|id| checked("parentId", id)).transpose()?;
    Ok(TimedEnvelope::list(listing::list_directories(&state, caller, parent_id).await?))
}

/// Creates a folder; without `parentId`, at the first level of `principalId`.
///
/// 430003: unknown parent or subject; 430011: no permission; 430017: locked; 430002: name exists.
#[operation(folders, 200 = "The folder, or a business failure")]
pub async fn create_directory(
    State(state): State<FoldersState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<CreationForm>,
) -> Result<TimedEnvelope<Directory>> {
    Ok(TimedEnvelope::of(changes::create(&state, caller, form.checked()?).await?))
}

/// Removes a folder with its contents.
///
/// 430003: unreadable; 430011: no permission; 430017: it, an ancestor or descendant is locked.
#[operation(folders, 200 = "The folder's id, or a business failure")]
pub async fn delete_directory(
    State(state): State<FoldersState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<DirectoryForm>,
) -> Result<TimedEnvelope<Directory>> {
    Ok(TimedEnvelope::of(changes::remove(&state, caller, form.checked()?).await?))
}

/// Renames a folder.
///
/// 430003: unreadable; 430011: no permission; 430017: locked; 430002: name exists; 400: invalid name.
#[operation(folders, 200 = "The folder's id, or a business failure")]
pub async fn rename_directory(
    State(state): State<FoldersState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<RenamingForm>,
) -> Result<TimedEnvelope<Directory>> {
    let (id, name) = form.checked()?;
    Ok(TimedEnvelope::of(changes::rename(&state, caller, id, name).await?))
}

/// Locks a folder: only the caller may change its contents.
///
/// 430003: unreadable; 430011: no manager; 430017: locked; 430020: contains an unsafe file.
#[operation(folders, 200 = "The folder's id, or a business failure")]
pub async fn lock_directory(
    State(state): State<FoldersState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<DirectoryForm>,
) -> Result<TimedEnvelope<Directory>> {
    Ok(TimedEnvelope::of(changes::lock(&state, caller, form.checked()?).await?))
}

/// Unlocks a folder, even another person's.
///
/// 430003: unreadable; 430011: no manager; 430017: ancestor locked; 430020: unsafe file; 400: not locked.
#[operation(folders, 200 = "The folder's id, or a business failure")]
pub async fn unlock_directory(
    State(state): State<FoldersState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<DirectoryForm>,
) -> Result<TimedEnvelope<Directory>> {
    Ok(TimedEnvelope::of(changes::unlock(&state, caller, form.checked()?).await?))
}

/// Grants users, groups or departments a right on a folder, replacing previous rights.
///
/// 430003: unreadable; 430011: no manager; 400: unknown target, or limit.
#[operation(folders, 200 = "Success, or a business failure")]
pub async fn authorize(
    State(state): State<FoldersState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<GrantForm>,
) -> Result<TimedEnvelope<String>> {
    grants::authorize(&state, caller, form.checked()?).await?;
    Ok(TimedEnvelope::of("the right is given".to_owned()))
}

/// Revokes a target's right on this folder, not on ancestors; callers may revoke their own.
///
/// 430003: unreadable; 430011: no manager.
#[operation(folders, 200 = "Success, or a business failure")]
pub async fn remove_authorization(
    State(state): State<FoldersState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<GrantRemovalForm>,
) -> Result<TimedEnvelope<String>> {
    let had_one = grants::remove(&state, caller, form.checked()?).await?;
    let message = if had_one { "the right is taken" } else { "there was no right to take" };
    Ok(TimedEnvelope::of(message.to_owned()))
}
