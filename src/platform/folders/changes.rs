//! Folder changes. Each transaction checks read access, permission, locks, then the rest.

use std::sync::Arc;

use super::{
    access::{self, Access, FolderViewer, MAX_DEPTH, ROOT, RequiredPermission},
    forms::{Directory, NewDirectory, ParentFolder},
    names, removal, repo,
    subjects::{find_owned, principals_now, viewer},
};
use crate::{
    audit::{self, Actor, AuditEvent},
    auth::caller::Caller,
    error::{BusinessCode, Error, Result},
    platform::{files::reindexing, folders::FoldersState},
    store::Transaction,
};

pub(super) const MAX_CHILDREN: i64 = 10_000;

/// Creates a folder; with `skip`, may return an existing one.
pub(super) async fn create(
    state: &FoldersState,
    caller: Arc<Caller>,
    new: NewDirectory,
) -> Result<Directory> {
    let name = names::check_folder(&state.limits, &new.name);
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let principals = principals_now(transaction, &caller).await?;
            let viewer = viewer(&caller, &principals)?;
            let parent = find_place(transaction, &caller, &viewer, &new.place).await?;
            parent.check(RequiredPermission::Upload)?;
            let name = name?;
            let id = match repo::find_named(transaction, &parent.id, &name).await? {
                Some(id) if new.skip => id,
                Some(_) => return Err(exists()),
                None => {
                    check_room(transaction, &parent).await?;
                    repo::insert(transaction, &viewer, &parent.id, &name).await?
                }
            };
            let made = Access::require(transaction, &viewer, &id, BusinessCode::NotFound).await?;
            Ok(Directory::from(made))
        })
    });
    job.await
}

async fn find_place(
    transaction: &Transaction,
    caller: &Caller,
    viewer: &FolderViewer<'_>,
    place: &ParentFolder,
) -> Result<Access> {
    let id = match place {
        ParentFolder::Directory(id) if id != ROOT => id.clone(),
        ParentFolder::Directory(_) | ParentFolder::Own => access::own_root(transaction, viewer).await?,
        ParentFolder::Subject(id) => {
            let subject = find_owned(transaction, caller, viewer, id).await?;
            access::root_of(transaction, viewer, &subject).await?
        }
    };
    Access::require(transaction, viewer, &id, BusinessCode::NotFound).await
}

async fn check_room(transaction: &Transaction, parent: &Access) -> Result<()> {
    let refuse = |reason: String| Err(Error::business(BusinessCode::General, reason));
    if parent.depth + 2 > MAX_DEPTH {
        return refuse(format!("folders may be at most {} levels deep", MAX_DEPTH - 1));
    }
    if repo::count_children(transaction, &parent.id).await? >= MAX_CHILDREN {
        return refuse(format!("a folder may hold at most {MAX_CHILDREN} folders"));
    }
    Ok(())
}

fn exists() -> Error {
    Error::business(BusinessCode::FolderExists, "name: a folder of this name already exists")
}

pub(super) async fn rename(
    state: &FoldersState,
    caller: Arc<Caller>,
    directory_id: String,
    name: String,
) -> Result<Directory> {
    let name = names::check_folder(&state.limits, &name);
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let principals = principals_now(transaction, &caller).await?;
            let viewer = viewer(&caller, &principals)?;
            let found = find(transaction, &viewer, &directory_id, RequiredPermission::Edit).await?;
            let (name, parent_id) = (name?, found.parent_id.unwrap_or_default());
            let named = repo::find_named(transaction, &parent_id, &name).await?;
            if named.is_some_and(|named| named != found.id) {
                return Err(exists());
            }
            if name.shown != found.name {
                repo::rename(transaction, &found.id, &name).await?;
                // Indexed files show folder names.
                if reindexing::record_renamed(transaction, viewer.tenant_id, &found.id).await? {
                    transaction.request_maintenance();
                }
            }
            Ok(Directory::only(found.id))
        })
    });
    job.await
}

/// Maintenance deletes the rows later.
pub(super) async fn remove(
    state: &FoldersState,
    caller: Arc<Caller>,
    directory_id: String,
) -> Result<Directory> {
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let principals = principals_now(transaction, &caller).await?;
            let viewer = viewer(&caller, &principals)?;
            let found = find(transaction, &viewer, &directory_id, RequiredPermission::Delete).await?;
            if repo::is_locked_below(transaction, &viewer, &found.id).await? {
                return Err(Error::business(
                    BusinessCode::Locked,
                    "a folder below this one is locked by another user, who alone may remove it",
                ));
            }
            removal::remove(transaction, viewer.tenant_id, &found).await?;
            record(transaction, &caller, "delete", &found.id).await?;
            Ok(Directory::only(found.id))
        })
    });
    job.await
}

pub(super) async fn lock(
    state: &FoldersState,
    caller: Arc<Caller>,
    directory_id: String,
) -> Result<Directory> {
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let principals = principals_now(transaction, &caller).await?;
            let viewer = viewer(&caller, &principals)?;
            let found = find(transaction, &viewer, &directory_id, RequiredPermission::Manage).await?;
            if found.locks.itself || found.locks.above {
                return Err(Error::business(
                    BusinessCode::Locked,
                    "the folder or one above it is locked already",
                ));
            }
            check_safe(transaction, &viewer, &found.id).await?;
            repo::set_lock(transaction, &found.id, Some(viewer.user_id)).await?;
            record(transaction, &caller, "lock", &found.id).await?;
            Ok(Directory::only(found.id))
        })
    });
    job.await
}

/// Even a lock of another person.
pub(super) async fn unlock(
    state: &FoldersState,
    caller: Arc<Caller>,
    directory_id: String,
) -> Result<Directory> {
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let principals = principals_now(transaction, &caller).await?;
            let viewer = viewer(&caller, &principals)?;
            let found = find(transaction, &viewer, &directory_id, RequiredPermission::Manage).await?;
            if found.locks.above {
                return Err(Error::business(
                    BusinessCode::Locked,
                    "a folder above this one is locked; unlock that one first",
                ));
            }
            check_safe(transaction, &viewer, &found.id).await?;
            if !found.locks.itself {
                return Err(Error::business(BusinessCode::General, "dirId: this folder is not locked"));
            }
            repo::set_lock(transaction, &found.id, None).await?;
            record(transaction, &caller, "unlock", &found.id).await?;
            Ok(Directory::only(found.id))
        })
    });
    job.await
}

/// Folder, not a root, on which the person has the permission.
async fn find(
    transaction: &Transaction,
    viewer: &FolderViewer<'_>,
    directory_id: &str,
    needed: RequiredPermission,
) -> Result<Access> {
    let refuse_root = || {
        let message = "dirId: a root cannot be renamed, removed or locked";
        Error::business(BusinessCode::NotPermitted, message)
    };
    // The own root exists implicitly.
    if directory_id == ROOT {
        return Err(refuse_root());
    }
    let found = Access::require(transaction, viewer, directory_id, BusinessCode::NotFound).await?;
    found.check(needed)?;
    if found.is_root() { Err(refuse_root()) } else { Ok(found) }
}

async fn check_safe(transaction: &Transaction, viewer: &FolderViewer<'_>, id: &str) -> Result<()> {
    if repo::is_unsafe(transaction, viewer.tenant_id, id).await? {
        return Err(Error::business(
            BusinessCode::UnsafeFolder,
            "the folder holds an unsafe file; delete it or upload a safe version first",
        ));
    }
    Ok(())
}

async fn record(transaction: &Transaction, caller: &Caller, action: &'static str, id: &str) -> Result<()> {
    let event = AuditEvent::new(action, "folder", id);
    Ok(audit::record(transaction, &Actor::caller(caller), &caller.tenant, vec![event]).await?)
}
