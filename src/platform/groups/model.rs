//! What a group is to a person, and what he may do to it; what other areas need to know of groups.

use sea_orm::{ConnectionTrait, FromQueryResult};

pub use super::removal::{remove_portion, remove_portion_of_tenant};
use super::{
    documents::GROUP,
    repo::{self, GROUPS, IS_SEEN, ROLE},
};
use crate::{
    auth::caller::Caller,
    error::{Error, Result},
    store::{Transaction, sql},
};

/// Members of one group at the most.
pub const MOST_MEMBERS: usize = 10_000;

/// Groups of his own tenant that one person is in at the most: each is a principal of his, which every search of his carries.
pub const MOST_GROUPS: usize = 2_000;

/// Groups of other tenants that one person is in at the most. They are counted apart, so that nobody elsewhere takes from him the
/// groups that he may be in at home.
pub const MOST_OUTER_GROUPS: usize = 500;

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

/// What somebody does to a group that he sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Asks to be let into an open group.
    Apply,
    /// Removes himself.
    Leave,
    /// Adds people, of the tenant or outer ones.
    AddMembers,
    /// Removes an ordinary member, outer ones too.
    RemoveMember,
    /// Sees applications, and accepts or refuses them.
    DecideApplications,
    /// Makes a join code.
    MakeJoinCode,
    /// Changes its name, its icon, or whether it is open.
    Change,
    /// Removes an administrator.
    RemoveAdministrator,
    /// Removes its owner.
    RemoveOwner,
    /// Makes administrators of members and the reverse, and hands the group over.
    ChangeRoles,
    /// Ends it. Not for who stands in for an owner who is gone: he may come back, and it would not.
    End,
}

/// Who may do what (decisions 9.4).
#[rustfmt::skip]
pub const PERMISSIONS: &[(Operation, [bool; 4])] = &[
    //                                 not in it, member, administrator, owner
    (Operation::Apply,                 [true,  false, false, false]),
    // The owner hands the group over first.
    (Operation::Leave,                 [false, true,  true,  false]),
    (Operation::AddMembers,            [false, false, true,  true]),
    (Operation::RemoveMember,          [false, false, true,  true]),
    (Operation::DecideApplications,    [false, false, true,  true]),
    (Operation::MakeJoinCode,          [false, false, true,  true]),
    (Operation::Change,                [false, false, true,  true]),
    (Operation::RemoveAdministrator,   [false, false, false, true]),
    (Operation::RemoveOwner,           [false, false, false, false]),
    (Operation::ChangeRoles,           [false, false, false, true]),
    (Operation::End,                   [false, false, false, true]),
];

/// Whether someone in this role, or who is not in the group, may do this.
pub fn may(role: Option<Role>, operation: Operation) -> bool {
    let column = match role {
        None => 0,
        Some(Role::Member) => 1,
        Some(Role::Administrator) => 2,
        Some(Role::Owner) => 3,
    };
    PERMISSIONS.iter().any(|(of, allowed)| *of == operation && allowed[column])
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
    /// Whether he owns it for good, and does not stand in for its owner.
    pub(super) is_owner: bool,
}

impl SeenGroup {
    /// The group with this id as the caller sees it: those that he is in, and public ones of his tenant.
    ///
    /// # Errors
    /// 404 where it does not exist for him; 403 for an application token.
    pub async fn find<C: ConnectionTrait>(connection: &C, caller: &Caller, id: &str) -> Result<Self> {
        let user = caller.require_user()?;
        let statement = sql(
            format!(
                "SELECT groups.id, groups.tenant_id, groups.name, groups.type, is_public, {ROLE} AS role, \
                 COALESCE(group_members.role = 2, 0) AS is_owner \
                 {GROUPS} AND {IS_SEEN} AND groups.id = ?3"
            ),
            [caller.tenant.id.into(), user.person.user_id.as_str().into(), id.into()],
        );
        let found = Self::find_by_statement(statement).one(connection).await?;
        found.ok_or_else(|| Error::not_found("groupId: there is no such group"))
    }

    /// His role; `None` of one who sees it because it is public. Where the owner was deleted or disabled in the directory, it
    /// is another one's for as long: the administrator who has been in the group for the longest time, else the member.
    pub fn role(&self) -> Option<Role> {
        self.role.and_then(Role::from_number)
    }

    /// # Errors
    /// 403 that says which role it takes.
    pub fn require(&self, least: Role) -> Result<Role> {
        self.role().filter(|role| *role >= least).ok_or_else(|| only(least))
    }

    /// # Errors
    /// 403 that says who may do that.
    pub(super) fn permit(&self, operation: Operation) -> Result<()> {
        if may(self.role(), operation) {
            if operation == Operation::End && !self.is_owner {
                return Err(Error::forbidden(
                    "only the owner of the group may do this; who stands in for one who is gone takes it over first, \
                     with role 2 of his own",
                ));
            }
            return Ok(());
        }
        let roles = [Role::Member, Role::Administrator, Role::Owner];
        let least = roles.into_iter().find(|role| may(Some(*role), operation));
        Err(only(least.unwrap_or(Role::Owner)))
    }
}

fn only(least: Role) -> Error {
    let who = match least {
        Role::Member => "a member of the group",
        Role::Administrator => "an administrator of the group or its owner",
        Role::Owner => "the owner of the group",
    };
    Error::forbidden(format!("only {who} may do this"))
}

/// Notes that the group changed, for everyone who may find it.
pub async fn record_change(transaction: &Transaction, group_id: &str) -> Result<()> {
    for tenant_id in tenants_of(&**transaction, group_id).await? {
        transaction.record_change(tenant_id, GROUP, group_id);
    }
    Ok(())
}

/// Notes that people of a tenant came or went, or may sign in or not any more: who is shown in their groups, how many they are and
/// who stands in for an owner hangs on it.
pub async fn record_people(transaction: &Transaction, tenant_id: i64, user_ids: &[&str]) -> Result<()> {
    Ok(repo::touch_groups_of(transaction, tenant_id, user_ids).await?)
}

/// Notes that the people of a tenant that ends are gone from the groups of others.
pub async fn record_end_of(transaction: &Transaction, tenant_id: i64) -> Result<()> {
    Ok(repo::touch_groups_found_in(transaction, tenant_id).await?)
}

/// The tenants in which the group, and what is in it, is found by its members.
pub async fn tenants_of<C: ConnectionTrait>(connection: &C, group_id: &str) -> Result<Vec<i64>> {
    Ok(repo::tenants_of(connection, group_id).await?)
}

/// The tenants whose people may be in groups of this one, itself not among them: what they see changes with its end, and while
/// it is frozen.
pub async fn tenants_in_groups_of<C: ConnectionTrait>(connection: &C, tenant_id: i64) -> Result<Vec<i64>> {
    Ok(repo::tenants_in_groups_of(connection, tenant_id).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_stands_in_the_table_once_and_nobody_may_do_less_than_one_below_him() {
        let mut operations: Vec<String> =
            PERMISSIONS.iter().map(|(operation, _)| format!("{operation:?}")).collect();
        operations.sort();
        operations.dedup();
        assert_eq!(operations.len(), PERMISSIONS.len());
        assert_eq!(PERMISSIONS.len(), Operation::End as usize + 1);
        for (operation, [outside, member, administrator, owner]) in PERMISSIONS {
            assert!(!outside || *operation == Operation::Apply, "{operation:?}");
            assert!(!member || *administrator, "{operation:?}");
            assert!(!administrator || *owner || *operation == Operation::Leave, "{operation:?}");
        }
    }
}
