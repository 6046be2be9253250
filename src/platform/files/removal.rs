//! Atomic deletion of files: all that are named, or none.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{
    FILE,
    fresh_caller::FreshCaller,
    quotas,
    repo::{self, File},
    signing::no_such_file,
};
use crate::{
    audit::{self, Actor, AuditEvent},
    auth::caller::Caller,
    error::Result,
    platform::{
        files::FilesState,
        folders::{
            access::{Access, FolderViewer, RequiredPermission},
            removal::make_removed,
        },
    },
    store::Transaction,
};

/// Deletes all versions; maintenance deletes their rows later.
///
/// In order: 430003 unreadable, 430011 no right, 430017 foreign lock.
pub(super) async fn delete(state: &FilesState, caller: Arc<Caller>, ids: Vec<String>) -> Result<()> {
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let present = FreshCaller::of(transaction, &caller).await?;
            delete_all(transaction, &present.viewer(), &ids).await?;
            let events = ids.into_iter().map(|id| AuditEvent::new("delete", "file", id)).collect();
            audit::record(transaction, &Actor::caller(&caller), &caller.tenant, events).await?;
            Ok(())
        })
    });
    job.await
}

async fn delete_all(transaction: &Transaction, viewer: &FolderViewer<'_>, ids: &[String]) -> Result<()> {
    let files = repo::find(transaction, viewer.tenant_id, ids).await?;
    if files.len() < ids.len() {
        return Err(no_such_file());
    }
    let folders = folders_of(transaction, viewer, &files).await?;
    // Locks are reported only to permitted callers.
    let checks: [fn(&Access, RequiredPermission) -> Result<()>; 2] =
        [Access::check_role, Access::check_locks];
    for check in checks {
        for file in in_order(ids, &files) {
            folders
                .get(file.directory_id.as_str())
                .map_or(Ok(()), |folder| check(folder, RequiredPermission::Delete))?;
        }
    }
    let mut freed: BTreeMap<&str, i64> = BTreeMap::new();
    for file in &files {
        if let Some(folder) = folders.get(file.directory_id.as_str()) {
            *freed.entry(&folder.root_id).or_default() += file.stored_bytes;
        }
        transaction.record_change(viewer.tenant_id, FILE, &file.id);
    }
    for (root_id, bytes) in freed {
        quotas::count(transaction, viewer.tenant_id, root_id, -bytes).await?;
    }
    let gone = make_removed(transaction, viewer).await?;
    Ok(repo::move_into(transaction, viewer.tenant_id, ids, &gone).await?)
}

fn in_order<'f>(ids: &[String], files: &'f [File]) -> impl Iterator<Item = &'f File> {
    let by_id: HashMap<&str, &File> = files.iter().map(|file| (file.id.as_str(), file)).collect();
    ids.iter().filter_map(move |id| by_id.get(id.as_str()).copied())
}

async fn folders_of<'f>(
    transaction: &Transaction,
    viewer: &FolderViewer<'_>,
    files: &'f [File],
) -> Result<HashMap<&'f str, Access>> {
    let mut folders = HashMap::new();
    for file in files {
        if !folders.contains_key(file.directory_id.as_str()) {
            let folder =
                Access::find(transaction, viewer, &file.directory_id).await?.ok_or_else(no_such_file)?;
            folders.insert(file.directory_id.as_str(), folder);
        }
    }
    Ok(folders)
}
