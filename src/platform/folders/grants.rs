//! Rights on folders (book: reference/files.md).
//!
//! They change callers' principals (`auth/directory`), not documents.

use std::sync::Arc;

use super::{
    access::{self, Access, FolderViewer, ROOT, RequiredPermission},
    forms::{GrantToRemove, NewGrants, TargetKind},
    permissions::FolderRole,
    subjects::{find_group_or_department, principals_now, viewer},
};
use crate::{
    audit::{self, Actor, AuditEvent},
    auth::caller::Caller,
    error::{BusinessCode, Error, Result},
    identity::principals::{department_principal, group_principal, user_principal},
    platform::{
        folders::FoldersState,
        users::lookups::{NamedBy, find_shown},
    },
    store::{self, Cached, Transaction, now_millis, sql},
};

pub(super) const MAX_OF_A_FOLDER: i64 = 1_000;

/// Maximum rights of a target on one subject's folders.
///
/// `auth/directory` limits the sum.
pub(super) const MAX_OF_A_TARGET: i64 = 1_000;

/// Replaces the targets' previous rights.
pub(super) async fn authorize(state: &FoldersState, caller: Arc<Caller>, new: NewGrants) -> Result<()> {
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let principals = principals_now(transaction, &caller).await?;
            let viewer = viewer(&caller, &principals)?;
            let found = find(transaction, &viewer, &new.directory_id).await?;
            let targets = find_targets(transaction, &caller, &viewer, &new).await?;
            for target in &targets {
                put(transaction, &viewer, &found, target, new.role).await?;
            }
            check_room(transaction, &viewer, &found, &targets).await?;
            let event = AuditEvent::new("authorize", "folder", found.id)
                .with("role", new.role.id())
                .with("targets", targets);
            finish(transaction, &caller, event).await
        })
    });
    job.await
}

/// Removes a right on this folder only. Returns whether it existed.
pub(super) async fn remove(state: &FoldersState, caller: Arc<Caller>, grant: GrantToRemove) -> Result<bool> {
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let principals = principals_now(transaction, &caller).await?;
            let viewer = viewer(&caller, &principals)?;
            // People may revoke their own rights.
            let is_own = grant.kind == TargetKind::User && grant.target == viewer.user_id;
            let found = if is_own && grant.directory_id != ROOT {
                Access::require(transaction, &viewer, &grant.directory_id, BusinessCode::NotFound).await?
            } else {
                find(transaction, &viewer, &grant.directory_id).await?
            };
            // Missing or invisible targets can still lose rights.
            let targets = match grant.kind {
                TargetKind::User => vec![user_principal(&grant.target)],
                TargetKind::Group => {
                    vec![group_principal(&grant.target), department_principal(&grant.target)]
                }
            };
            let mut removed = Vec::new();
            for target in targets {
                let statement = sql(
                    "DELETE FROM directory_grants WHERE directory_id = ? AND target = ?",
                    [found.id.as_str().into(), target.as_str().into()],
                );
                if statement.execute(transaction).await? > 0 {
                    removed.push(target);
                }
            }
            if removed.is_empty() {
                return Ok(false);
            }
            let event = AuditEvent::new("remove-authorization", "folder", found.id).with("targets", removed);
            finish(transaction, &caller, event).await?;
            Ok(true)
        })
    });
    job.await
}

/// Folder whose rights the person may manage; roots require ownership.
async fn find(transaction: &Transaction, viewer: &FolderViewer<'_>, directory_id: &str) -> Result<Access> {
    if directory_id == ROOT {
        access::own_root(transaction, viewer).await?;
    }
    let found = Access::require(transaction, viewer, directory_id, BusinessCode::NotFound).await?;
    found.check(RequiredPermission::Manage)?;
    if found.is_root() && !viewer.owns(&found.subject) {
        let message = "dirId: only the owner of a root may grant and revoke rights on it";
        return Err(Error::business(BusinessCode::NotPermitted, message));
    }
    Ok(found)
}

/// Failures name the first invisible target.
async fn find_targets(
    transaction: &Transaction,
    caller: &Caller,
    viewer: &FolderViewer<'_>,
    new: &NewGrants,
) -> Result<Vec<String>> {
    let unknown = |kind: &str, id: &str| {
        let message = format!("authTarget: there is no {kind} with the id {id:?}; nothing was changed");
        Error::business(BusinessCode::General, message)
    };
    let mut principals = Vec::with_capacity(new.targets.len());
    match new.kind {
        TargetKind::User => {
            let people = find_shown(transaction, viewer.tenant_id, NamedBy::UserId, &new.targets).await?;
            for id in &new.targets {
                if id != viewer.user_id && !people.iter().any(|person| person.user_id == *id) {
                    return Err(unknown("user", id));
                }
                principals.push(user_principal(id));
            }
        }
        TargetKind::Group => {
            for id in &new.targets {
                let found = find_group_or_department(transaction, caller, viewer, id).await?;
                principals.push(found.ok_or_else(|| unknown("group or department", id))?);
            }
        }
    }
    Ok(principals)
}

async fn put(
    transaction: &Transaction,
    viewer: &FolderViewer<'_>,
    found: &Access,
    target: &str,
    role: FolderRole,
) -> store::Result<()> {
    let statement = sql(
        "INSERT INTO directory_grants (directory_id, target, tenant_id, root_id, role, created_at) VALUES (?, ?, ?, ?, ?, ?) \
         ON CONFLICT (directory_id, target) DO UPDATE SET role = excluded.role",
        [
            found.id.as_str().into(),
            target.into(),
            viewer.tenant_id.into(),
            found.root_id.as_str().into(),
            role.number().into(),
            now_millis().into(),
        ],
    );
    statement.execute(transaction).await.map(drop)
}

/// Checked after the insert; a failure rolls back.
async fn check_room(
    transaction: &Transaction,
    viewer: &FolderViewer<'_>,
    found: &Access,
    targets: &[String],
) -> Result<()> {
    let statement = sql(
        "SELECT COUNT(*) AS count FROM directory_grants WHERE directory_id = ?",
        [found.id.as_str().into()],
    );
    if statement.fetch_value::<i64>(transaction).await? > MAX_OF_A_FOLDER {
        let message =
            format!("a folder may have rights for at most {MAX_OF_A_FOLDER} users, groups and departments");
        return Err(Error::business(BusinessCode::General, message));
    }
    for target in targets {
        let statement = sql(
            "SELECT COUNT(*) AS count FROM directory_grants WHERE tenant_id = ? AND target = ? AND root_id = ?",
            [viewer.tenant_id.into(), target.as_str().into(), found.root_id.as_str().into()],
        );
        if statement.fetch_value::<i64>(transaction).await? > MAX_OF_A_TARGET {
            let id = target.split_once(':').map_or(target.as_str(), |(_, id)| id);
            let message = format!(
                "authTarget: {id:?} already has rights on {MAX_OF_A_TARGET} folders of this subject, the maximum"
            );
            return Err(Error::business(BusinessCode::General, message));
        }
    }
    Ok(())
}

async fn finish(transaction: &Transaction, caller: &Caller, event: AuditEvent) -> Result<()> {
    audit::record(transaction, &Actor::caller(caller), &caller.tenant, vec![event]).await?;
    transaction.invalidate(Cached::Identities(caller.tenant.id));
    Ok(())
}
