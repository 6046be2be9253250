//! What callers send of folders, checked, and what they get to see of them.

use serde::{Deserialize, Serialize};

use super::{
    access::Access,
    permissions::{Permissions, Role},
};
use crate::{
    error::{Error, Result},
    platform::common::check_id_of,
};

/// Targets of one authorisation at the most.
pub const MOST_TARGETS: usize = 100;

/// A folder as the person who asks sees it (the document's "`DirectoryResponse`").
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Directory {
    /// Its id.
    pub id: String,
    /// Its name.
    #[schema(required)]
    pub name: Option<String>,
    /// Names from the uppermost folder on that he may read, each behind a slash.
    #[schema(required)]
    pub full_path: Option<String>,
    /// The id of the folder above; empty where none is, or none that he may read.
    #[schema(required)]
    pub parent_id: Option<String>,
    /// Grows with each renaming.
    #[schema(required)]
    pub version: Option<i64>,
    /// What he may do in it.
    #[schema(required)]
    pub permissions: Option<Permissions>,
}

impl Directory {
    /// The answer of an operation after which there is nothing to say but which folder it was.
    pub(super) fn only(id: String) -> Self {
        Self { id, name: None, full_path: None, parent_id: None, version: None, permissions: None }
    }
}

impl From<Access> for Directory {
    fn from(access: Access) -> Self {
        let permissions = access.permissions();
        let parent_id = access.parent_id.filter(|_| !access.is_topmost);
        Self {
            id: access.id,
            name: Some(access.name),
            full_path: Some(access.full_path),
            parent_id: Some(parent_id.unwrap_or_default()),
            version: Some(access.version),
            permissions: Some(permissions),
        }
    }
}

/// Which folder is meant.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DirectoryForm {
    /// Its id.
    dir_id: String,
}

impl DirectoryForm {
    pub(super) fn checked(self) -> Result<String> {
        checked("dirId", self.dir_id)
    }
}

/// A new folder.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreationForm {
    /// Its name.
    name: String,
    /// The folder that it is put into, `root` for one's own root; absent or empty for a first-level folder.
    parent_id: Option<String>,
    /// Whose first-level folder it is: one's own user id, the eCode, or the id of a group or a department. Absent or empty: one's
    /// own. It counts where there is no `parentId`.
    principal_id: Option<String>,
    /// Whether to answer a folder of this name where there is one, and not to fail.
    skip: Option<bool>,
}

/// Where a new folder goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Into this folder.
    Directory(String),
    /// Among the first-level folders of the subject with this id.
    Subject(String),
    /// Among one's own first-level folders.
    Own,
}

/// What is to be made.
#[derive(Debug)]
pub(super) struct NewDirectory {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) skip: bool,
}

impl CreationForm {
    pub(super) fn checked(self) -> Result<NewDirectory> {
        let given = |id: Option<String>| id.filter(|id| !id.is_empty());
        let place = match (given(self.parent_id), given(self.principal_id)) {
            (Some(id), _) => Place::Directory(checked("parentId", id)?),
            (None, Some(id)) => Place::Subject(checked("principalId", id)?),
            (None, None) => Place::Own,
        };
        Ok(NewDirectory { name: self.name, place, skip: self.skip.unwrap_or_default() })
    }
}

/// Another name of a folder.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenamingForm {
    /// The folder's id.
    dir_id: String,
    /// Its new name.
    name: String,
}

impl RenamingForm {
    pub(super) fn checked(self) -> Result<(String, String)> {
        Ok((checked("dirId", self.dir_id)?, self.name))
    }
}

/// What an id stands for to whom a right is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TargetKind {
    /// A user.
    User,
    /// A group or a department.
    Group,
}

impl TargetKind {
    fn from_number(number: i64) -> Result<Self> {
        match number {
            1 => Ok(Self::User),
            2 => Ok(Self::Group),
            _ => Err(Error::bad_request(format!(
                "targetType: must be 1 (users) or 2 (groups or departments), not {number}"
            ))),
        }
    }
}

/// Who is to have a right on a folder.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantForm {
    /// The folder's id; `root` for one's own root.
    dir_id: String,
    /// `viewer`, `downloader`, `editor`, `manager`: the greatest of those given counts.
    #[schema(min_items = 1)]
    role_ids: Vec<String>,
    /// Ids of users, or of groups and departments, up to 100.
    #[schema(min_items = 1, max_items = 100)]
    auth_target: Vec<String>,
    /// 1 users, 2 groups or departments.
    #[schema(minimum = 1, maximum = 2)]
    target_type: i64,
}

/// A right that is to be given.
#[derive(Debug)]
pub(super) struct NewGrants {
    pub(super) directory_id: String,
    pub(super) role: Role,
    pub(super) kind: TargetKind,
    /// In the order in which they were given, each once.
    pub(super) targets: Vec<String>,
}

impl GrantForm {
    pub(super) fn checked(self) -> Result<NewGrants> {
        let mut role = None;
        for id in &self.role_ids {
            let read = Role::from_id(id).ok_or_else(|| {
                Error::bad_request("roleIds: must be among viewer, downloader, editor and manager")
            })?;
            role = role.max(Some(read));
        }
        let role = role.ok_or_else(|| Error::bad_request("roleIds: must name a role"))?;
        if self.auth_target.is_empty() || self.auth_target.len() > MOST_TARGETS {
            return Err(Error::bad_request(format!("authTarget: must hold 1 to {MOST_TARGETS} ids")));
        }
        let mut targets: Vec<String> = Vec::with_capacity(self.auth_target.len());
        for id in self.auth_target {
            let id = checked("authTarget", id)?;
            if !targets.contains(&id) {
                targets.push(id);
            }
        }
        let kind = TargetKind::from_number(self.target_type)?;
        Ok(NewGrants { directory_id: checked("dirId", self.dir_id)?, role, kind, targets })
    }
}

/// Who is to have a right no longer.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantRemovalForm {
    /// The folder's id; `root` for one's own root.
    dir_id: String,
    /// The id of a user, a group or a department.
    target: String,
    /// 1 a user, 2 a group or a department.
    #[schema(minimum = 1, maximum = 2)]
    target_type: i64,
}

/// A right that is to be taken.
#[derive(Debug)]
pub(super) struct GrantToRemove {
    pub(super) directory_id: String,
    pub(super) kind: TargetKind,
    pub(super) target: String,
}

impl GrantRemovalForm {
    pub(super) fn checked(self) -> Result<GrantToRemove> {
        let kind = TargetKind::from_number(self.target_type)?;
        let (directory_id, target) = (checked("dirId", self.dir_id)?, checked("target", self.target)?);
        Ok(GrantToRemove { directory_id, kind, target })
    }
}

/// The id in the field of this name.
pub(super) fn checked(field: &str, id: String) -> Result<String> {
    check_id_of(field, &id).map_err(Error::bad_request)?;
    Ok(id)
}
