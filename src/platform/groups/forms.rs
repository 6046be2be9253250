use serde::{Deserialize, Serialize};
use trawl_connectors::grouped;

use super::rules::GroupRole;
use crate::{
    error::{Error, Result},
    json::Batch,
    platform::shared::patch::{TextRule, check_id_of},
    store::FromRow,
};

const NAME: TextRule = TextRule::Line(512);
const ICON: TextRule = TextRule::Line(2 << 10);
const NAMED: usize = 5;

/// A group to create.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupForm {
    /// Group name. Required.
    name: Option<String>,
    /// 1 internal (default), 2 external, 3 project. Types 2 and 3 allow outer members.
    #[serde(rename = "type")]
    kind: Option<i64>,
    /// Whether everyone in the tenant may see it and apply; default false.
    is_public: Option<bool>,
    /// Third-party group; default false.
    is_third_group: Option<bool>,
    /// Login accounts of initial members, besides the caller.
    users: Option<Batch<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewGroup {
    pub(super) name: String,
    pub(super) kind: i64,
    pub(super) is_public: bool,
    pub(super) is_third: bool,
    pub(super) users: Vec<String>,
}

impl GroupForm {
    pub(super) fn checked(self, most_users: usize) -> Result<NewGroup> {
        let kind = self.kind.unwrap_or(1);
        if !(1..=3).contains(&kind) {
            return Err(Error::bad_request(format!(
                "type: must be 1 (internal), 2 (external) or 3 (project), not {kind}"
            )));
        }
        let users = self.users.map(|users| users.read("users", most_users)).transpose();
        let users = users.map_err(Error::bad_request)?.unwrap_or_default();
        Ok(NewGroup {
            name: checked_name(self.name.unwrap_or_default())?,
            kind,
            is_public: self.is_public.unwrap_or(false),
            is_third: self.is_third_group.unwrap_or(false),
            users: checked_ids("users", users)?,
        })
    }
}

/// Changes to a group; absent or null keeps a field.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GroupChange {
    /// Group name; not blank.
    pub(super) name: Option<String>,
    /// Icon address; empty text removes it.
    pub(super) icon: Option<String>,
    /// Whether everyone in the tenant may see it and apply.
    pub(super) is_public: Option<bool>,
}

impl GroupChange {
    pub(super) fn checked(self) -> Result<Self> {
        if let Some(icon) = &self.icon {
            ICON.check("icon", icon).map_err(Error::bad_request)?;
        }
        Ok(Self { name: self.name.map(checked_name).transpose()?, ..self })
    }
}

fn checked_name(name: String) -> Result<String> {
    if name.trim().is_empty() {
        return Err(Error::bad_request("name: is required and must not be blank"));
    }
    NAME.check("name", &name).map_err(Error::bad_request)?;
    Ok(name)
}

/// New role of a member.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
pub struct RoleForm {
    /// 0 ordinary member, 1 administrator, 2 owner, which transfers ownership.
    #[schema(minimum = 0, maximum = 2)]
    role: i64,
}

impl RoleForm {
    pub(super) fn checked(&self) -> Result<GroupRole> {
        let wrong = || {
            let role = self.role;
            Error::bad_request(format!(
                "role: must be 0 (member), 1 (administrator) or 2 (owner), not {role}"
            ))
        };
        GroupRole::from_number(self.role).ok_or_else(wrong)
    }
}

/// Distinct ids; 400 names the field.
pub(super) fn separated_ids(field: &str, text: Option<&str>, most: usize) -> Result<Vec<String>> {
    let ids = text.unwrap_or_default().split(',').filter(|id| !id.is_empty());
    let ids: Vec<String> = ids.take(most.saturating_add(1)).map(str::to_owned).collect();
    if ids.is_empty() {
        return Err(Error::bad_request(format!("{field}: is required, ids separated by commas")));
    }
    if ids.len() > most {
        return Err(Error::bad_request(format!("{field}: must hold at most {} items", grouped(most))));
    }
    checked_ids(field, ids)
}

fn checked_ids(field: &str, mut ids: Vec<String>) -> Result<Vec<String>> {
    for id in &ids {
        check_id_of(field, id).map_err(Error::bad_request)?;
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

pub(super) fn named(ids: &[impl AsRef<str>]) -> String {
    let first: Vec<String> = ids.iter().take(NAMED).map(|id| format!("{:?}", id.as_ref())).collect();
    let first = first.join(", ");
    match ids.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// A group as seen by the caller (the document's "Group").
#[derive(Clone, Debug, PartialEq, Eq, FromRow, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// Group id.
    #[serde(rename = "groupId")]
    pub(super) id: String,
    /// Group name.
    pub(super) name: String,
    /// Group icon.
    pub(super) icon: Option<String>,
    /// Number of visible members.
    pub(super) member_count: String,
    /// Enterprise code.
    pub(super) e_code: String,
    /// The caller's role: 2 owner, 1 administrator, 0 ordinary member, -1 not in the group.
    pub(super) member_role: i64,
}

/// A member of a group (the document's "Group member").
#[derive(Clone, Debug, PartialEq, Eq, FromRow, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupMember {
    /// User id on the synchronising party's side.
    pub(super) user_id: String,
    /// Name.
    pub(super) name: String,
    /// User type.
    #[serde(rename = "type")]
    #[sqlx(rename = "type")]
    pub(super) kind: i64,
    /// Avatar.
    pub(super) picture: Option<String>,
    /// Department id on the synchronising party's side.
    pub(super) org_id: Option<String>,
    /// Department name.
    pub(super) org_name: Option<String>,
    /// Enterprise code of the member.
    pub(super) e_code: String,
    /// Enterprise name of the member.
    pub(super) enterprise: String,
}

/// A member removed by user id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemovedUser {
    /// User id, as given.
    pub(super) user_id: String,
    /// Name.
    pub(super) name: String,
}

/// A member removed by login.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemovedLogin {
    /// Login account, as given.
    pub(super) login_id: String,
    /// Name.
    pub(super) name: String,
}

/// A join code (the document's "Join code result").
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JoinCode {
    /// The code.
    pub(super) code: String,
    /// Expiry, epoch milliseconds as text.
    pub(super) expire_date: String,
}

/// An application to join a group.
#[derive(Clone, Debug, PartialEq, Eq, FromRow, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupApplication {
    /// Application id.
    pub(super) id: String,
    /// User id on the synchronising party's side.
    pub(super) user_id: String,
    /// Name.
    pub(super) name: String,
    /// Avatar.
    pub(super) picture: Option<String>,
    /// Application time, epoch milliseconds as text.
    pub(super) created_date: String,
}
