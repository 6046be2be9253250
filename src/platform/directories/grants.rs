//! Rights on folders: who is given one, and from whom it is taken (decisions 10.7).
//!
//! A right given or taken changes no document, only what callers carry (`auth/directory`).

use std::sync::Arc;

use sea_orm::{ConnectionTrait, DbErr};

use super::{
    access::{self, Access, Needed, ROOT, Seer},
    fields::{GrantToRemove, NewGrants, TargetKind},
    permissions::Role,
    subjects::{find_group_or_department, principals_now, seer},
};
use crate::{
    app::App,
    audit::{self, Actor, Deed},
    auth::{
        caller::Caller,
        directory::{department_principal, group_principal, user_principal},
    },
    error::{BusinessCode, Error, Result},
    platform::users::model::{NamedBy, find_shown},
    store::{Transaction, now_millis, sql},
};

/// Rights on one folder at the most.
pub(super) const MOST_OF_A_FOLDER: i64 = 1_000;

/// Rights of one user, group or department on the folders of one subject at the most. They are counted apart, so that nobody takes
/// from somebody the rights that others may give him; what one carries in all is bounded where it is looked up (`auth/directory`).
pub(super) const MOST_OF_A_TARGET: i64 = 1_000;

/// Gives a right on a folder, in the place of the one that a target had.
pub(super) async fn authorize(app: &Arc<App>, caller: Arc<Caller>, new: NewGrants) -> Result<()> {
    let forgetting = Arc::clone(app);
    let job = app.store.write(move |transaction| {
        Box::pin(async move {
            let principals = principals_now(transaction, &caller).await?;
            let seer = seer(&caller, &principals)?;
            let found = find(transaction, &seer, &new.directory_id).await?;
            let targets = find_targets(transaction, &caller, &seer, &new).await?;
            for target in &targets {
                put(transaction, &seer, &found, target, new.role).await?;
            }
            check_room(transaction, &seer, &found, &targets).await?;
            let deed = Deed::new("authorize", "folder", found.id)
                .with("role", new.role.id())
                .with("targets", targets);
            finish(&forgetting, transaction, &caller, deed).await
        })
    });
    job.await
}

/// Takes the right that a target was given on a folder; rights on folders above stay. Answers whether it had one.
pub(super) async fn remove(app: &Arc<App>, caller: Arc<Caller>, grant: GrantToRemove) -> Result<bool> {
    let forgetting = Arc::clone(app);
    let job = app.store.write(move |transaction| {
        Box::pin(async move {
            let principals = principals_now(transaction, &caller).await?;
            let seer = seer(&caller, &principals)?;
            // What he was given himself, he may always give up.
            let is_own = grant.kind == TargetKind::User && grant.target == seer.user_id;
            let found = if is_own && grant.directory_id != ROOT {
                Access::require(&**transaction, &seer, &grant.directory_id, BusinessCode::NotFound).await?
            } else {
                find(transaction, &seer, &grant.directory_id).await?
            };
            // Who is gone, or not seen any more, can lose a right all the same.
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
                if transaction.execute_raw(statement).await?.rows_affected() > 0 {
                    removed.push(target);
                }
            }
            if removed.is_empty() {
                return Ok(false);
            }
            let deed = Deed::new("remove-authorization", "folder", found.id).with("targets", removed);
            finish(&forgetting, transaction, &caller, deed).await?;
            Ok(true)
        })
    });
    job.await
}

/// The folder with this id, where the person says who may do what. On a root only its subject's owner does.
async fn find(transaction: &Transaction, seer: &Seer<'_>, directory_id: &str) -> Result<Access> {
    if directory_id == ROOT {
        access::own_root(transaction, seer).await?;
    }
    let found = Access::require(&**transaction, seer, directory_id, BusinessCode::NotFound).await?;
    found.check(Needed::Manage)?;
    if found.is_root() && !seer.owns(&found.subject) {
        let message = "dirId: only its owner gives and takes rights on a root";
        return Err(Error::business(BusinessCode::NotPermitted, message));
    }
    Ok(found)
}

/// The principals of the targets.
///
/// # Errors
/// A general failure that names the first one that the person does not see.
async fn find_targets(
    transaction: &Transaction,
    caller: &Caller,
    seer: &Seer<'_>,
    new: &NewGrants,
) -> Result<Vec<String>> {
    let unknown = |kind: &str, id: &str| {
        let message = format!("authTarget: there is no {kind} with the id {id:?}; nothing was changed");
        Error::business(BusinessCode::General, message)
    };
    let mut principals = Vec::with_capacity(new.targets.len());
    match new.kind {
        TargetKind::User => {
            let people = find_shown(&**transaction, seer.tenant_id, NamedBy::UserId, &new.targets).await?;
            for id in &new.targets {
                // One always sees oneself.
                if id != seer.user_id && !people.iter().any(|person| person.user_id == *id) {
                    return Err(unknown("user", id));
                }
                principals.push(user_principal(id));
            }
        }
        TargetKind::Group => {
            for id in &new.targets {
                let found = find_group_or_department(transaction, caller, seer, id).await?;
                principals.push(found.ok_or_else(|| unknown("group or department", id))?);
            }
        }
    }
    Ok(principals)
}

async fn put(
    transaction: &Transaction,
    seer: &Seer<'_>,
    found: &Access,
    target: &str,
    role: Role,
) -> Result<(), DbErr> {
    let statement = sql(
        "INSERT INTO directory_grants (directory_id, target, tenant_id, root_id, role, created_at) VALUES (?, ?, ?, ?, ?, ?) \
         ON CONFLICT (directory_id, target) DO UPDATE SET role = excluded.role",
        [
            found.id.as_str().into(),
            target.into(),
            seer.tenant_id.into(),
            found.root_id.as_str().into(),
            role.number().into(),
            now_millis().into(),
        ],
    );
    transaction.execute_raw(statement).await.map(drop)
}

/// Refuses more rights than there may be, after they are given: what is refused is undone.
async fn check_room(
    transaction: &Transaction,
    seer: &Seer<'_>,
    found: &Access,
    targets: &[String],
) -> Result<()> {
    let statement = sql(
        "SELECT COUNT(*) AS count FROM directory_grants WHERE directory_id = ?",
        [found.id.as_str().into()],
    );
    if count(transaction, statement).await? > MOST_OF_A_FOLDER {
        let message =
            format!("a folder has rights of at most {MOST_OF_A_FOLDER} users, groups and departments");
        return Err(Error::business(BusinessCode::General, message));
    }
    for target in targets {
        let statement = sql(
            "SELECT COUNT(*) AS count FROM directory_grants WHERE tenant_id = ? AND target = ? AND root_id = ?",
            [seer.tenant_id.into(), target.as_str().into(), found.root_id.as_str().into()],
        );
        if count(transaction, statement).await? > MOST_OF_A_TARGET {
            let id = target.split_once(':').map_or(target.as_str(), |(_, id)| id);
            let message = format!(
                "authTarget: {id:?} has a right on {MOST_OF_A_TARGET} folders of this subject, as many as one may"
            );
            return Err(Error::business(BusinessCode::General, message));
        }
    }
    Ok(())
}

async fn count(transaction: &Transaction, statement: sea_orm::Statement) -> Result<i64, DbErr> {
    transaction.query_one_raw(statement).await?.map_or(Ok(0), |row| row.try_get("", "count"))
}

/// Writes down who did that, and has everyone's rights looked up anew.
async fn finish(app: &Arc<App>, transaction: &Transaction, caller: &Caller, deed: Deed) -> Result<()> {
    audit::record(transaction, &Actor::caller(caller), &caller.tenant, vec![deed]).await?;
    let (app, tenant_id) = (Arc::clone(app), caller.tenant.id);
    transaction.after_commit(move || app.authenticator.forget_callers(tenant_id));
    Ok(())
}
