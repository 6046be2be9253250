//! Owners of folders by public id (book: reference/files.md).

use super::access::FolderViewer;
use crate::{
    auth::caller::Caller,
    error::{BusinessCode, Error, ErrorKind, Result},
    identity::principals::{ENTERPRISE, department_principal, group_principal, user_principal},
    platform::{departments, directory, groups::service::SeenGroup},
    store::Transaction,
};

/// Current principals; the caller's may be outdated.
pub(super) async fn principals_now(transaction: &Transaction, caller: &Caller) -> Result<Vec<String>> {
    let person = &caller.require_user()?.person;
    Ok(directory::standing(transaction, caller.tenant.id, person).await?)
}

pub(super) fn viewer<'a>(caller: &'a Caller, principals: &'a [String]) -> Result<FolderViewer<'a>> {
    Ok(FolderViewer { principals, ..FolderViewer::of(caller)? })
}

/// 430003 if invisible, 430011 if not owned.
pub(super) async fn find_owned(
    transaction: &Transaction,
    caller: &Caller,
    viewer: &FolderViewer<'_>,
    id: &str,
) -> Result<String> {
    let subject = find(transaction, caller, viewer, id).await?.ok_or_else(|| {
        Error::business(BusinessCode::NotFound, "principalId: there is no such subject visible to you")
    })?;
    if viewer.owns(&subject) {
        return Ok(subject);
    }
    Err(Error::business(
        BusinessCode::NotPermitted,
        "principalId: only owners of this subject's folders may create first-level folders: a group's owner, \
         a department's head, for the enterprise its named administrators",
    ))
}

async fn find(
    transaction: &Transaction,
    caller: &Caller,
    viewer: &FolderViewer<'_>,
    id: &str,
) -> Result<Option<String>> {
    if id == viewer.user_id {
        return Ok(Some(user_principal(id)));
    }
    if id == caller.tenant.code {
        return Ok(Some(ENTERPRISE.to_owned()));
    }
    find_group_or_department(transaction, caller, viewer, id).await
}

pub(super) async fn find_group_or_department(
    transaction: &Transaction,
    caller: &Caller,
    viewer: &FolderViewer<'_>,
    id: &str,
) -> Result<Option<String>> {
    match SeenGroup::find(transaction, caller, id).await {
        Ok(group) => return Ok(Some(group_principal(&group.id))),
        Err(error) if error.kind == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let department = department_principal(id);
    // Owners may use hidden departments.
    let there = if viewer.owns(&department) {
        departments::service::existing(transaction, viewer.tenant_id, &[id]).await?
    } else {
        departments::service::shown(transaction, viewer.tenant_id, &[id]).await?
    };
    Ok(there.contains(id).then_some(department))
}
