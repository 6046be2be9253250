//! Groups for other areas.

pub use super::removal::{remove_portion, remove_portion_of_tenant};
pub use super::repo::memberships;
use super::{
    documents::GROUP,
    repo::{self, GROUPS, IS_SEEN, ROLE},
    rules::{GroupOperation, GroupRole, may},
};
use crate::{
    auth::caller::Caller,
    error::{Error, Result},
    store::{Connection, FromRow, Transaction, sql},
};

/// Group seen by one person.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct SeenGroup {
    /// Group id.
    pub id: String,
    /// Owning tenant; an outer member's is another.
    pub tenant_id: i64,
    /// Name.
    pub name: String,
    /// 1 internal, 2 external, 3 project.
    #[sqlx(rename = "type")]
    pub kind: i64,
    /// Visible to the tenant, and open to applications.
    pub is_public: bool,
    role: Option<i64>,
    /// False for an acting owner.
    pub(super) is_owner: bool,
}

impl SeenGroup {
    /// 404 if invisible; 403 for an application token.
    pub async fn find(connection: &Connection, caller: &Caller, id: &str) -> Result<Self> {
        let user = caller.require_user()?;
        let statement = sql(
            format!(
                "SELECT groups.id, groups.tenant_id, groups.name, groups.type, is_public, {ROLE} AS role, \
                 COALESCE(group_members.role = 2, FALSE) AS is_owner \
                 {GROUPS} AND {IS_SEEN} AND groups.id = ?3"
            ),
            [caller.tenant.id.into(), user.person.user_id.as_str().into(), id.into()],
        );
        let found = statement.fetch_optional::<Self>(connection).await?;
        found.ok_or_else(|| Error::not_found("groupId: there is no such group"))
    }

    /// `None` for a non-member of a public group.
    ///
    /// The longest-serving administrator, else member, acts for a deleted or disabled owner.
    pub fn role(&self) -> Option<GroupRole> {
        self.role.and_then(GroupRole::from_number)
    }

    /// 403 naming the required role.
    pub fn require(&self, least: GroupRole) -> Result<GroupRole> {
        self.role().filter(|role| *role >= least).ok_or_else(|| only(least))
    }

    pub(super) fn permit(&self, operation: GroupOperation) -> Result<()> {
        if may(self.role(), operation) {
            if operation == GroupOperation::End && !self.is_owner {
                return Err(Error::forbidden(
                    "only the owner of the group may do this; an acting owner must first take role 2",
                ));
            }
            return Ok(());
        }
        let roles = [GroupRole::Member, GroupRole::Administrator, GroupRole::Owner];
        let least = roles.into_iter().find(|role| may(Some(*role), operation));
        Err(only(least.unwrap_or(GroupRole::Owner)))
    }
}

fn only(least: GroupRole) -> Error {
    let who = match least {
        GroupRole::Member => "a member of the group",
        GroupRole::Administrator => "an administrator of the group or its owner",
        GroupRole::Owner => "the owner of the group",
    };
    Error::forbidden(format!("only {who} may do this"))
}

/// Records the change in every tenant that finds the group.
pub async fn record_change(transaction: &Transaction, group_id: &str) -> Result<()> {
    for tenant_id in tenants_of(transaction, group_id).await? {
        transaction.record_change(tenant_id, GROUP, group_id);
    }
    Ok(())
}

/// Records changed people, who affect members and acting owners of their groups.
pub async fn record_people(transaction: &Transaction, tenant_id: i64, user_ids: &[&str]) -> Result<()> {
    Ok(repo::touch_groups_of(transaction, tenant_id, user_ids).await?)
}

/// Records that a removed tenant's people left other groups.
pub async fn record_end_of(transaction: &Transaction, tenant_id: i64) -> Result<()> {
    Ok(repo::touch_groups_found_in(transaction, tenant_id).await?)
}

/// Tenants that find the group.
pub async fn tenants_of(connection: &Connection, group_id: &str) -> Result<Vec<i64>> {
    Ok(repo::tenants_of(connection, group_id).await?)
}

/// Tenants affected if this one is frozen or removed.
pub async fn tenants_in_groups_of(connection: &Connection, tenant_id: i64) -> Result<Vec<i64>> {
    Ok(repo::tenants_in_groups_of(connection, tenant_id).await?)
}
