//! What is sent of groups, and what is answered (the document's "Group"; decisions 9.1, 9.4).

use sea_orm::FromQueryResult;
use serde::{Deserialize, Serialize};

use super::model::Role;
use crate::{
    error::{Error, Result},
    platform::common::{TextRule, check_id_of},
};

/// Bytes of a group's name.
const NAME: TextRule = TextRule::Line(512);
/// Bytes of the address of an icon.
const ICON: TextRule = TextRule::Line(2 << 10);
/// Ids that a message names at the most.
const NAMED: usize = 5;

/// A group that is to be made.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GroupForm {
    /// Group name. Required.
    name: Option<String>,
    /// 1 internal (the default), 2 external, 3 project. Only in the last two there are outer members.
    #[serde(rename = "type")]
    kind: Option<i64>,
    /// Whether everybody of the tenant may see it and apply; default false.
    is_public: Option<bool>,
    /// Third-party group; default false.
    is_third_group: Option<bool>,
    /// Its first members besides the one who makes it: login accounts of the tenant.
    users: Option<Vec<String>>,
}

/// A checked form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewGroup {
    pub(super) name: String,
    pub(super) kind: i64,
    pub(super) is_public: bool,
    pub(super) is_third: bool,
    /// Logins, each once.
    pub(super) users: Vec<String>,
}

impl GroupForm {
    /// # Errors
    /// 400 that names the field.
    pub(super) fn checked(self, most_users: usize) -> Result<NewGroup> {
        let kind = self.kind.unwrap_or(1);
        if !(1..=3).contains(&kind) {
            return Err(Error::bad_request(format!(
                "type: must be 1 (internal), 2 (external) or 3 (project), not {kind}"
            )));
        }
        Ok(NewGroup {
            name: checked_name(self.name.unwrap_or_default())?,
            kind,
            is_public: self.is_public.unwrap_or(false),
            is_third: self.is_third_group.unwrap_or(false),
            users: checked_ids("users", self.users.unwrap_or_default(), most_users)?,
        })
    }
}

/// What is to be changed of a group; what is absent or null stays.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GroupChange {
    /// Group name; must not be blank.
    pub(super) name: Option<String>,
    /// Address of an icon; an empty text takes it away.
    pub(super) icon: Option<String>,
    /// Whether everybody of the tenant may see it and apply.
    pub(super) is_public: Option<bool>,
}

impl GroupChange {
    /// # Errors
    /// 400 that names the field.
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

/// The role that a member is to have.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
pub struct RoleForm {
    /// 0 ordinary member, 1 administrator, 2 owner, which hands the group over.
    #[schema(minimum = 0, maximum = 2)]
    role: i64,
}

impl RoleForm {
    /// # Errors
    /// 400 that names the field.
    pub(super) fn checked(&self) -> Result<Role> {
        let wrong = || {
            let role = self.role;
            Error::bad_request(format!(
                "role: must be 0 (member), 1 (administrator) or 2 (owner), not {role}"
            ))
        };
        Role::from_number(self.role).ok_or_else(wrong)
    }
}

/// Ids that are separated by commas, each once (decisions 9.1).
///
/// # Errors
/// 400 that names the field.
pub(super) fn separated_ids(field: &str, text: Option<&str>, most: usize) -> Result<Vec<String>> {
    let ids = text.unwrap_or_default().split(',').filter(|id| !id.is_empty()).map(str::to_owned);
    let ids = checked_ids(field, ids.collect(), most)?;
    if ids.is_empty() {
        return Err(Error::bad_request(format!("{field}: is required, ids separated by commas")));
    }
    Ok(ids)
}

fn checked_ids(field: &str, mut ids: Vec<String>, most: usize) -> Result<Vec<String>> {
    if ids.len() > most {
        return Err(Error::bad_request(format!("{field}: must name at most {most}, not {}", ids.len())));
    }
    for id in &ids {
        check_id_of(field, id).map_err(Error::bad_request)?;
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// Some ids as a message names them.
pub(super) fn named(ids: &[impl AsRef<str>]) -> String {
    let first: Vec<String> = ids.iter().take(NAMED).map(|id| format!("{:?}", id.as_ref())).collect();
    let first = first.join(", ");
    match ids.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// A group as the caller sees it (the document's "Group").
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// Group id.
    #[serde(rename = "groupId")]
    pub(super) id: String,
    /// Group name.
    pub(super) name: String,
    /// Group icon.
    pub(super) icon: Option<String>,
    /// How many members it has that are shown.
    pub(super) member_count: String,
    /// Enterprise code.
    pub(super) e_code: String,
    /// The caller's role: 2 owner, 1 administrator, 0 ordinary member, -1 not in the group.
    pub(super) member_role: i64,
}

/// A member of a group (the document's "Group member").
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupMember {
    /// User id on the synchronising party's side of his enterprise.
    pub(super) user_id: String,
    /// His name.
    pub(super) name: String,
    /// User type.
    #[serde(rename = "type")]
    #[sea_orm(from_alias = "type")]
    pub(super) kind: i64,
    /// Avatar.
    pub(super) picture: Option<String>,
    /// Department id on the synchronising party's side.
    pub(super) org_id: Option<String>,
    /// Department name.
    pub(super) org_name: Option<String>,
    /// The code of his enterprise.
    pub(super) e_code: String,
    /// The name of his enterprise.
    pub(super) enterprise: String,
}

/// A member who was removed, by his user id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemovedUser {
    /// User id, as it was given.
    pub(super) user_id: String,
    /// His name.
    pub(super) name: String,
}

/// A member who was removed, by his login.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemovedLogin {
    /// Login account, as it was given.
    pub(super) login_id: String,
    /// His name.
    pub(super) name: String,
}

/// A join code (the document's "Join code result").
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JoinCode {
    /// What lets people in.
    pub(super) code: String,
    /// Until when, epoch milliseconds as text.
    pub(super) expire_date: String,
}

/// Someone who asks to be let in.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupApplication {
    /// Application id.
    pub(super) id: String,
    /// User id on the synchronising party's side.
    pub(super) user_id: String,
    /// His name.
    pub(super) name: String,
    /// Avatar.
    pub(super) picture: Option<String>,
    /// When he applied, epoch milliseconds as text.
    pub(super) created_date: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_separated_by_commas_and_count_once() {
        let ids = |text: &str| separated_ids("userIds", Some(text), 3).map_err(|error| error.message);
        assert_eq!(ids("b,a,,b,"), Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(ids(" a"), Ok(vec![" a".to_owned()]));
        for wrong in ["", ",", "a,b,c,d", "a\u{0}"] {
            assert!(ids(wrong).unwrap_err().starts_with("userIds:"), "{wrong:?}");
        }
        assert!(separated_ids("userIds", None, 3).is_err());
    }

    #[test]
    fn a_message_names_a_few_ids() {
        assert_eq!(named(&["a", "b\""]), r#""a", "b\"""#);
        let many: Vec<String> = (0..9).map(|number| number.to_string()).collect();
        assert_eq!(named(&many), r#""0", "1", "2", "3", "4" and 4 more"#);
    }

    #[test]
    fn each_wrong_field_of_a_form_is_named() {
        let wrong = |form: GroupForm| form.checked(2).unwrap_err().message;
        let name = Some("Project".to_owned());
        let good = GroupForm { name: name.clone(), ..GroupForm::default() };
        let made = good.clone().checked(2).unwrap();
        assert_eq!((made.kind, made.is_public, made.is_third, made.users.len()), (1, false, false, 0));
        assert!(wrong(GroupForm::default()).starts_with("name:"));
        assert!(wrong(GroupForm { name: Some(" ".to_owned()), ..good.clone() }).starts_with("name:"));
        assert!(wrong(GroupForm { name: Some("x".repeat(513)), ..good.clone() }).starts_with("name:"));
        assert!(wrong(GroupForm { name: Some("a\nb".to_owned()), ..good.clone() }).starts_with("name:"));
        assert!(wrong(GroupForm { kind: Some(4), ..good.clone() }).starts_with("type:"));
        let users = |users: &[&str]| GroupForm {
            users: Some(users.iter().map(|user| (*user).to_owned()).collect()),
            ..good.clone()
        };
        assert!(wrong(users(&["a", "b", "c"])).starts_with("users:"));
        assert!(wrong(users(&[""])).starts_with("users:"));
        assert_eq!(users(&["b", "b"]).checked(2).unwrap().users, ["b"]);
    }
}
