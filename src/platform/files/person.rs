//! Who acts, as he stands when something long that he began ends.

use crate::{
    auth::{
        caller::Caller,
        directory::{self, Person, SubjectKind},
    },
    error::{Error, Result},
    platform::directories::access::Seer,
    store::Transaction,
};

/// A person with what he carries now.
#[derive(Clone, Debug)]
pub(super) struct Present {
    tenant_id: i64,
    pub(super) person: Person,
    principals: Vec<String>,
}

impl Present {
    /// The caller, asked for again: his token, his application, his tenant, himself and what he carries.
    ///
    /// # Errors
    /// 401 or 403, as at the door.
    pub(super) async fn of(transaction: &Transaction, caller: &Caller) -> Result<Self> {
        caller.confirm(transaction).await?;
        let tenant_id = caller.tenant.id;
        let known = &caller.require_user()?.person;
        let found =
            directory::find_person(&**transaction, tenant_id, SubjectKind::UserId, &known.user_id).await?;
        let person = found
            .filter(|person| person.epoch == known.epoch)
            .ok_or_else(|| Error::unauthorized("the token is revoked; sign in again"))?;
        let principals = directory::standing(&**transaction, tenant_id, &person).await?;
        Ok(Self { tenant_id, person, principals })
    }

    pub(super) fn seer(&self) -> Seer<'_> {
        Seer { tenant_id: self.tenant_id, user_id: &self.person.user_id, principals: &self.principals }
    }
}
