//! People and items that have to do with an item.

use serde::Serialize;

/// People and items around an item, before checks of the caller's rights.
#[derive(Debug, Default)]
pub struct Connections {
    /// People in the order of their roles.
    pub people: Vec<ConnectedPerson>,
    /// Items, nearest first.
    pub related: Vec<RelatedKey>,
}

/// A person with a role, by stated name or by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectedPerson {
    /// Their part in the item.
    pub role: PersonRole,
    /// Name that the item states; the directory's name comes first.
    pub name: Option<String>,
    /// User id on the synchronising side.
    pub user_id: Option<String>,
}

/// A person's part in an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum PersonRole {
    /// Wrote it.
    Author,
    /// Created the task or the file.
    Creator,
    /// Has to do the task.
    Assignee,
    /// Owns the group.
    Owner,
    /// Administers the group.
    Administrator,
    /// Belongs to the group or department.
    Member,
}

/// An item beside another, by module code and id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelatedKey {
    /// The relation.
    pub relation: Relation,
    /// Code of built-in content.
    pub module: &'static str,
    /// Item id.
    pub id: String,
}

/// Relation of an item to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Relation {
    /// A file of the same folder.
    SameFolder,
    /// Another item of the same author.
    SameAuthor,
    /// Written by this person.
    Wrote,
    /// The group of this message.
    Group,
    /// A message of this group.
    Message,
    /// The message before this one.
    Previous,
    /// The message after this one.
    Next,
    /// A department of this person.
    Department,
    /// The department above this one.
    Above,
    /// A department below this one.
    Below,
}

impl ConnectedPerson {
    /// A person of the directory.
    pub fn known(role: PersonRole, user_id: impl Into<String>) -> Self {
        Self { role, name: None, user_id: Some(user_id.into()) }
    }
}
