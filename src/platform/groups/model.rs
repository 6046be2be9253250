//! What a group is to a person: what other areas need to know of groups.

use sea_orm::{ConnectionTrait, FromQueryResult};

use super::{documents::GROUP, repo};
use crate::{
    auth::caller::Caller,
    error::{Error, Result},
    store::{Transaction, sql},
};

/// What a member may do. Greater is more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// An ordinary member.
    Member = 0,
    /// Adds and removes members.
    Administrator = 1,
    /// The one owner: names administrators, hands the group over, ends it.
    Owner = 2,
}

impl Role {
    /// The role that a number stands for.
    pub fn from_number(number: i64) -> Option<Self> {
        [Self::Member, Self::Administrator, Self::Owner].into_iter().find(|role| role.number() == number)
    }

    /// The number that stands for it.
    pub fn number(self) -> i64 {
        self as i64
    }
}

/// A group as one person sees it.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct SeenGroup {
    /// Its id.
    pub id: String,
    /// The tenant that it belongs to: another one than the person's, where he is an outer member.
    pub tenant_id: i64,
    /// Its name.
    pub name: String,
    /// 1 internal, 2 external, 3 project.
    #[sea_orm(from_alias = "type")]
    pub kind: i64,
    /// Whether people of the tenant may see it and apply.
    pub is_public: bool,
    role: Option<i64>,
}

impl SeenGroup {
    /// The group with this id as the caller sees it: those that he is in, and public ones of his tenant.
    ///
    /// # Errors
    /// 404 where it does not exist for him; 403 for an application token.
    pub async fn find<C: ConnectionTrait>(connection: &C, caller: &Caller, id: &str) -> Result<Self> {
        let user = caller.require_user()?;
        let statement = sql(
            "SELECT groups.id, groups.tenant_id, groups.name, groups.type, is_public, group_members.role FROM groups \
             JOIN tenants ON tenants.id = groups.tenant_id AND tenants.removed_at IS NULL AND tenants.is_frozen = 0 \
             LEFT JOIN group_members ON group_members.group_id = groups.id \
               AND group_members.tenant_id = ?1 AND group_members.user_id = ?2 \
             WHERE groups.id = ?3 AND groups.removed_at IS NULL \
               AND (group_members.role IS NOT NULL OR is_public = 1 AND groups.tenant_id = ?1)",
            [caller.tenant.id.into(), user.person.user_id.as_str().into(), id.into()],
        );
        let found = Self::find_by_statement(statement).one(connection).await?;
        found.ok_or_else(|| Error::not_found("groupId: there is no such group"))
    }

    /// His role; `None` of one who sees it because it is public.
    pub fn role(&self) -> Option<Role> {
        self.role.and_then(Role::from_number)
    }

    /// # Errors
    /// 403 that says which role it takes.
    pub fn require(&self, least: Role) -> Result<Role> {
        let needed = match least {
            Role::Member => "a member of the group",
            Role::Administrator => "an administrator of the group or its owner",
            Role::Owner => "the owner of the group",
        };
        self.role()
            .filter(|role| *role >= least)
            .ok_or_else(|| Error::forbidden(format!("only {needed} may do this")))
    }
}

/// Notes that the group changed, for everyone who may find it.
pub async fn record_change(transaction: &Transaction, group_id: &str) -> Result<()> {
    for tenant_id in tenants_of(&**transaction, group_id).await? {
        transaction.record_change(tenant_id, GROUP, group_id);
    }
    Ok(())
}

/// The tenants in which the group, and what is in it, is found by its members.
pub async fn tenants_of<C: ConnectionTrait>(connection: &C, group_id: &str) -> Result<Vec<i64>> {
    Ok(repo::tenants_of(connection, group_id).await?)
}
