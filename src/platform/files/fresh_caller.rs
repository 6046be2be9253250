//! Repeated authentication at the end of a long operation.

use crate::{
    auth::{
        caller::Caller,
        directory::{Person, SubjectKind},
    },
    error::{Error, Result},
    platform::{directory, folders::access::FolderViewer, users},
    store::Transaction,
};

#[derive(Clone, Debug)]
pub(super) struct FreshCaller {
    tenant_id: i64,
    pub(super) person: Person,
    principals: Vec<String>,
}

impl FreshCaller {
    /// 401 or 403, as for a new request.
    pub(super) async fn of(transaction: &Transaction, caller: &Caller) -> Result<Self> {
        caller.confirm(transaction).await?;
        let tenant_id = caller.tenant.id;
        let known = &caller.require_user()?.person;
        let found =
            users::lookups::find_person(transaction, tenant_id, SubjectKind::UserId, &known.user_id).await?;
        let person = found
            .filter(|person| person.epoch == known.epoch)
            .ok_or_else(|| Error::unauthorized("the token is revoked; sign in again"))?;
        let principals = directory::standing(transaction, tenant_id, &person).await?;
        Ok(Self { tenant_id, person, principals })
    }

    pub(super) fn viewer(&self) -> FolderViewer<'_> {
        FolderViewer {
            tenant_id: self.tenant_id,
            user_id: &self.person.user_id,
            principals: &self.principals,
        }
    }
}
