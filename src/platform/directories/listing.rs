//! What a person finds in folders: their files, the folders in them, and where he starts from.

use std::{collections::BTreeMap, sync::Arc};

use sea_orm::DatabaseConnection;

use super::{
    access::{Access, ROOT, Seer},
    fields::Directory,
    repo::{self, ListedFile},
};
use crate::{
    app::App,
    auth::caller::Caller,
    error::{BusinessCode, Result},
};

/// Folders that one starts from, in one answer, at the most: as many as may be in one folder.
const MOST_TOPMOST: usize = 10_000;

/// Folders whose way up is read together.
const STARTS_AT_A_TIME: usize = 500;

/// The files directly in a folder, by name.
///
/// # Errors
/// 430003 where there is no such folder that the caller may read.
pub(super) async fn list_files(
    app: &App,
    caller: Arc<Caller>,
    directory_id: String,
) -> Result<Vec<ListedFile>> {
    let read = |reader: DatabaseConnection| async move {
        let seer = Seer::of(&caller)?;
        match find(&reader, &seer, &directory_id).await? {
            Some(access) => Ok(repo::files_in(&reader, &access.id).await?),
            None => Ok(Vec::new()),
        }
    };
    app.store.scan(read).await
}

/// The folders directly in one, by name; without one, the uppermost ones that the caller may read.
///
/// # Errors
/// 430003 where there is no such folder that the caller may read.
pub(super) async fn list_directories(
    app: &App,
    caller: Arc<Caller>,
    parent_id: Option<String>,
) -> Result<Vec<Directory>> {
    let read = |reader: DatabaseConnection| async move {
        let seer = Seer::of(&caller)?;
        let found = match parent_id {
            None => topmost(&reader, &seer).await?,
            Some(id) => match find(&reader, &seer, &id).await? {
                Some(parent) => repo::children(&reader, &seer, &parent).await?,
                None => Vec::new(),
            },
        };
        Ok(found.into_iter().map(Directory::from).collect())
    };
    app.store.scan(read).await
}

/// One's own root is there, and empty, before it is made.
async fn find(reader: &DatabaseConnection, seer: &Seer<'_>, directory_id: &str) -> Result<Option<Access>> {
    if directory_id == ROOT {
        return Ok(Access::find(reader, seer, ROOT).await?);
    }
    Access::require(reader, seer, directory_id, BusinessCode::NotFound).await.map(Some)
}

/// The first-level folders of subjects that he owns, and the uppermost ones that he was given a right on; those of a root that he
/// was given a right on are in its place, as nobody sees a root. The first [`MOST_TOPMOST`] of them, what he owns first.
async fn topmost(reader: &DatabaseConnection, seer: &Seer<'_>) -> Result<Vec<Access>> {
    let mut found = BTreeMap::new();
    for starts in repo::starts(reader, seer).await?.chunks(STARTS_AT_A_TIME) {
        for start in repo::find_all(reader, seer, starts).await? {
            let folders =
                if start.is_root() { repo::children(reader, seer, &start).await? } else { vec![start] };
            for folder in folders.into_iter().filter(|folder| folder.is_topmost) {
                if found.len() >= MOST_TOPMOST {
                    return Ok(found.into_values().collect());
                }
                found.insert((folder.name.to_lowercase(), folder.id.clone()), folder);
            }
        }
    }
    Ok(found.into_values().collect())
}
