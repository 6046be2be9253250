//! Whose folders there are: a person, the enterprise, a group or a department, by the id that callers name them with
//! (decisions 10.1).

use super::access::Seer;
use crate::{
    auth::{
        caller::Caller,
        directory::{self, ENTERPRISE, department_principal, group_principal, user_principal},
    },
    error::{BusinessCode, Error, Kind, Result},
    platform::{groups::model::SeenGroup, organizations},
    store::Transaction,
};

/// Where the caller stands now: what he owns and what he belongs to may have changed since he was let in.
pub(super) async fn principals_now(transaction: &Transaction, caller: &Caller) -> Result<Vec<String>> {
    let person = &caller.require_user()?.person;
    Ok(directory::standing(&**transaction, caller.tenant.id, person).await?)
}

/// The person behind a call, with these principals.
pub(super) fn seer<'a>(caller: &'a Caller, principals: &'a [String]) -> Result<Seer<'a>> {
    Ok(Seer { principals, ..Seer::of(caller)? })
}

/// The principal of the subject that this id names, whose folders the caller owns.
///
/// # Errors
/// 430003 for a subject that he does not see, 430011 for one that he sees and does not own.
pub(super) async fn find_owned(
    transaction: &Transaction,
    caller: &Caller,
    seer: &Seer<'_>,
    id: &str,
) -> Result<String> {
    let subject = find(transaction, caller, seer, id).await?.ok_or_else(|| {
        Error::business(BusinessCode::NotFound, "principalId: there is no such subject that you may see")
    })?;
    if seer.owns(&subject) {
        return Ok(subject);
    }
    Err(Error::business(
        BusinessCode::NotPermitted,
        "principalId: only who owns the folders of this subject makes first-level folders there: a group's owner, who is in \
         charge of a department, and for the enterprise whom its operator named",
    ))
}

/// The first of what the id may stand for that the caller sees.
async fn find(
    transaction: &Transaction,
    caller: &Caller,
    seer: &Seer<'_>,
    id: &str,
) -> Result<Option<String>> {
    if id == seer.user_id {
        return Ok(Some(user_principal(id)));
    }
    if id == caller.tenant.code {
        return Ok(Some(ENTERPRISE.to_owned()));
    }
    find_group_or_department(transaction, caller, seer, id).await
}

/// The principal of the group with this id, or else of the department, that the caller sees.
pub(super) async fn find_group_or_department(
    transaction: &Transaction,
    caller: &Caller,
    seer: &Seer<'_>,
    id: &str,
) -> Result<Option<String>> {
    match SeenGroup::find(&**transaction, caller, id).await {
        Ok(group) => return Ok(Some(group_principal(&group.id))),
        Err(error) if error.kind == Kind::NotFound => {}
        Err(error) => return Err(error),
    }
    let department = department_principal(id);
    // A hidden one is there for who is in charge of it.
    let there = if seer.owns(&department) {
        organizations::model::existing(transaction, seer.tenant_id, &[id]).await?
    } else {
        organizations::model::shown(transaction, seer.tenant_id, &[id]).await?
    };
    Ok(there.contains(id).then_some(department))
}
