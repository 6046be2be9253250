use std::{collections::BTreeMap, sync::Arc};

use super::{
    access::{Access, FolderViewer, ROOT},
    forms::Directory,
    repo::{self, ListedFile},
};
use crate::{
    auth::caller::Caller,
    error::{BusinessCode, Result},
    platform::folders::FoldersState,
    store::{Connection, Store},
};

const MAX_TOPMOST: usize = 10_000;

const STARTS_AT_A_TIME: usize = 500;

pub(super) async fn list_files(
    state: &FoldersState,
    caller: Arc<Caller>,
    directory_id: String,
) -> Result<Vec<ListedFile>> {
    let read = |store: Store| async move {
        let viewer = FolderViewer::of(&caller)?;
        match find(store.reader(), &viewer, &directory_id).await? {
            Some(access) => Ok(repo::files_in(store.reader(), &access.id).await?),
            None => Ok(Vec::new()),
        }
    };
    state.store.scan(read).await
}

/// Lists folders below a parent by name, or the uppermost readable ones.
pub(super) async fn list_directories(
    state: &FoldersState,
    caller: Arc<Caller>,
    parent_id: Option<String>,
) -> Result<Vec<Directory>> {
    let read = |store: Store| async move {
        let (reader, viewer) = (store.reader(), FolderViewer::of(&caller)?);
        let found = match parent_id {
            None => topmost(reader, &viewer).await?,
            Some(id) => match find(reader, &viewer, &id).await? {
                Some(parent) => repo::children(reader, &viewer, &parent).await?,
                None => Vec::new(),
            },
        };
        Ok(found.into_iter().map(Directory::from).collect())
    };
    state.store.scan(read).await
}

/// The own root exists implicitly.
async fn find(reader: &Connection, viewer: &FolderViewer<'_>, directory_id: &str) -> Result<Option<Access>> {
    if directory_id == ROOT {
        return Ok(Access::find(reader, viewer, ROOT).await?);
    }
    Access::require(reader, viewer, directory_id, BusinessCode::NotFound).await.map(Some)
}

/// Owned first-level folders, then the uppermost granted ones. Children replace invisible roots.
async fn topmost(reader: &Connection, viewer: &FolderViewer<'_>) -> Result<Vec<Access>> {
    let mut found = BTreeMap::new();
    for starts in repo::starts(reader, viewer).await?.chunks(STARTS_AT_A_TIME) {
        for start in repo::find_all(reader, viewer, starts).await? {
            let folders =
                if start.is_root() { repo::children(reader, viewer, &start).await? } else { vec![start] };
            for folder in folders.into_iter().filter(|folder| folder.is_topmost) {
                if found.len() >= MAX_TOPMOST {
                    return Ok(found.into_values().collect());
                }
                found.insert((folder.name.to_lowercase(), folder.id.clone()), folder);
            }
        }
    }
    Ok(found.into_values().collect())
}
