//! What becomes of folders: they are made, renamed, removed, locked and unlocked. Each rule is checked inside the transaction that
//! writes, in this order: may the person read it, may he do that, is it locked, everything else.

use std::sync::Arc;

use super::{
    access::{self, Access, MOST_DEPTH, Needed, ROOT, Seer},
    fields::{Directory, NewDirectory, Place},
    names, removal, repo,
    subjects::{find_owned, principals_now, seer},
};
use crate::{
    app::App,
    audit::{self, Actor, Deed},
    auth::caller::Caller,
    error::{BusinessCode, Error, Result},
    platform::files::following,
    store::Transaction,
};

/// Folders directly in one at the most.
pub(super) const MOST_CHILDREN: i64 = 10_000;

/// Makes a folder, or answers the one that is there where that is asked for.
pub(super) async fn create(app: &App, caller: Arc<Caller>, new: NewDirectory) -> Result<Directory> {
    let name = names::check_folder(&app.config.limits, &new.name);
    let job = app.store.write(move |transaction| {
        Box::pin(async move {
            let principals = principals_now(transaction, &caller).await?;
            let seer = seer(&caller, &principals)?;
            let parent = find_place(transaction, &caller, &seer, &new.place).await?;
            parent.check(Needed::Upload)?;
            let name = name?;
            let id = match repo::find_named(transaction, &parent.id, &name).await? {
                Some(id) if new.skip => id,
                Some(_) => return Err(exists()),
                None => {
                    check_room(transaction, &parent).await?;
                    repo::insert(transaction, &seer, &parent.id, &name).await?
                }
            };
            let made = Access::require(&**transaction, &seer, &id, BusinessCode::NotFound).await?;
            Ok(Directory::from(made))
        })
    });
    job.await
}

/// The folder or root that a new folder goes into.
async fn find_place(
    transaction: &Transaction,
    caller: &Caller,
    seer: &Seer<'_>,
    place: &Place,
) -> Result<Access> {
    let id = match place {
        Place::Directory(id) if id != ROOT => id.clone(),
        Place::Directory(_) | Place::Own => access::own_root(transaction, seer).await?,
        Place::Subject(id) => {
            let subject = find_owned(transaction, caller, seer, id).await?;
            access::root_of(transaction, seer, &subject).await?
        }
    };
    Access::require(&**transaction, seer, &id, BusinessCode::NotFound).await
}

async fn check_room(transaction: &Transaction, parent: &Access) -> Result<()> {
    let refuse = |reason: String| Err(Error::business(BusinessCode::General, reason));
    // The parent itself stands above the new one.
    if parent.depth + 2 > MOST_DEPTH {
        return refuse(format!("folders lie at most {} deep", MOST_DEPTH - 1));
    }
    if repo::count_children(transaction, &parent.id).await? >= MOST_CHILDREN {
        return refuse(format!("a folder holds at most {MOST_CHILDREN} folders"));
    }
    Ok(())
}

fn exists() -> Error {
    Error::business(BusinessCode::FolderExists, "name: there is a folder of this name already")
}

/// Gives a folder another name.
pub(super) async fn rename(
    app: &Arc<App>,
    caller: Arc<Caller>,
    directory_id: String,
    name: String,
) -> Result<Directory> {
    let name = names::check_folder(&app.config.limits, &name);
    let upkeep = Arc::clone(app);
    let job = app.store.write(move |transaction| {
        Box::pin(async move {
            let principals = principals_now(transaction, &caller).await?;
            let seer = seer(&caller, &principals)?;
            let found = find(transaction, &seer, &directory_id, Needed::Edit).await?;
            let (name, parent_id) = (name?, found.parent_id.unwrap_or_default());
            let named = repo::find_named(transaction, &parent_id, &name).await?;
            if named.is_some_and(|named| named != found.id) {
                return Err(exists());
            }
            if name.shown != found.name {
                repo::rename(transaction, &found.id, &name).await?;
                // Files are found by the names of the folders that they lie in.
                if following::record_renamed(transaction, seer.tenant_id, &found.id).await? {
                    transaction.after_commit(move || upkeep.upkeep.wake());
                }
            }
            Ok(Directory::only(found.id))
        })
    });
    job.await
}

/// Removes a folder with everything below it. It is seen by nobody from the answer on; its rows go afterwards (`upkeep`).
pub(super) async fn remove(app: &Arc<App>, caller: Arc<Caller>, directory_id: String) -> Result<Directory> {
    let upkeep = Arc::clone(app);
    let job = app.store.write(move |transaction| {
        Box::pin(async move {
            let principals = principals_now(transaction, &caller).await?;
            let seer = seer(&caller, &principals)?;
            let found = find(transaction, &seer, &directory_id, Needed::Delete).await?;
            if repo::is_locked_below(transaction, &seer, &found.id).await? {
                return Err(Error::business(
                    BusinessCode::Locked,
                    "a folder below this one is locked by somebody else; he alone may remove it",
                ));
            }
            removal::remove(transaction, seer.tenant_id, &found).await?;
            record(transaction, &caller, "delete", &found.id).await?;
            transaction.after_commit(move || upkeep.upkeep.wake());
            Ok(Directory::only(found.id))
        })
    });
    job.await
}

/// Locks a folder: what is in it and below it only this person changes from then on.
pub(super) async fn lock(app: &App, caller: Arc<Caller>, directory_id: String) -> Result<Directory> {
    let job = app.store.write(move |transaction| {
        Box::pin(async move {
            let principals = principals_now(transaction, &caller).await?;
            let seer = seer(&caller, &principals)?;
            let found = find(transaction, &seer, &directory_id, Needed::Manage).await?;
            if found.locks.itself || found.locks.above {
                return Err(Error::business(
                    BusinessCode::Locked,
                    "the folder or one above it is locked already",
                ));
            }
            check_safe(transaction, &seer, &found.id).await?;
            repo::set_lock(transaction, &found.id, Some(seer.user_id)).await?;
            record(transaction, &caller, "lock", &found.id).await?;
            Ok(Directory::only(found.id))
        })
    });
    job.await
}

/// Unlocks a folder, whoever locked it.
pub(super) async fn unlock(app: &App, caller: Arc<Caller>, directory_id: String) -> Result<Directory> {
    let job = app.store.write(move |transaction| {
        Box::pin(async move {
            let principals = principals_now(transaction, &caller).await?;
            let seer = seer(&caller, &principals)?;
            let found = find(transaction, &seer, &directory_id, Needed::Manage).await?;
            if found.locks.above {
                return Err(Error::business(
                    BusinessCode::Locked,
                    "a folder above this one is locked; that one is to be unlocked first",
                ));
            }
            check_safe(transaction, &seer, &found.id).await?;
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

/// The folder with this id, which is no root, where the person may do that.
async fn find(
    transaction: &Transaction,
    seer: &Seer<'_>,
    directory_id: &str,
    needed: Needed,
) -> Result<Access> {
    let refuse_root = || {
        let message = "dirId: a root is neither renamed nor removed nor locked";
        Error::business(BusinessCode::NotPermitted, message)
    };
    // One's own is there before it is made.
    if directory_id == ROOT {
        return Err(refuse_root());
    }
    let found = Access::require(&**transaction, seer, directory_id, BusinessCode::NotFound).await?;
    found.check(needed)?;
    if found.is_root() { Err(refuse_root()) } else { Ok(found) }
}

async fn check_safe(transaction: &Transaction, seer: &Seer<'_>, id: &str) -> Result<()> {
    if repo::is_unsafe(transaction, seer.tenant_id, id).await? {
        return Err(Error::business(
            BusinessCode::UnsafeFolder,
            "the folder holds a file that was found unsafe; it is to be deleted, or to get a safe version, first",
        ));
    }
    Ok(())
}

async fn record(transaction: &Transaction, caller: &Caller, action: &'static str, id: &str) -> Result<()> {
    let deed = Deed::new(action, "folder", id);
    Ok(audit::record(transaction, &Actor::caller(caller), &caller.tenant, vec![deed]).await?)
}
