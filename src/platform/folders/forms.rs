//! Forms of folders.

use serde::{Deserialize, Serialize};

use super::{
    access::Access,
    permissions::{FolderRole, Permissions},
};
use crate::{
    error::{Error, Result},
    json::BoundedList,
    platform::shared::patch::check_id_of,
};

/// Maximum targets of a grant request.
pub const MAX_TARGETS: usize = 100;
/// Maximum roles of a grant request, which may name one twice.
const MAX_ROLES: usize = 100;

/// Folder as the caller sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Directory {
    /// Id.
    pub id: String,
    /// Name.
    #[schema(required)]
    pub name: Option<String>,
    /// Readable names from the top, each after a slash.
    #[schema(required)]
    pub full_path: Option<String>,
    /// Parent id, or empty if unreadable.
    #[schema(required)]
    pub parent_id: Option<String>,
    /// Increases with each renaming.
    #[schema(required)]
    pub version: Option<i64>,
    /// The caller's permissions.
    #[schema(required)]
    pub permissions: Option<Permissions>,
}

impl Directory {
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

/// Folder to change.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DirectoryForm {
    /// Folder id.
    dir_id: String,
}

impl DirectoryForm {
    pub(super) fn checked(self) -> Result<String> {
        checked("dirId", self.dir_id)
    }
}

/// Folder to create.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreationForm {
    /// Name.
    name: String,
    /// Parent id, or `root`; absent or empty: first level.
    parent_id: Option<String>,
    /// Owner at the first level: user id, eCode, group or department id; default the caller.
    principal_id: Option<String>,
    /// Whether to return an existing folder of this name.
    skip: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ParentFolder {
    Directory(String),
    Subject(String),
    Own,
}

#[derive(Debug)]
pub(super) struct NewDirectory {
    pub(super) name: String,
    pub(super) place: ParentFolder,
    pub(super) skip: bool,
}

impl CreationForm {
    pub(super) fn checked(self) -> Result<NewDirectory> {
        let given = |id: Option<String>| id.filter(|id| !id.is_empty());
        let place = match (given(self.parent_id), given(self.principal_id)) {
            (Some(id), _) => ParentFolder::Directory(checked("parentId", id)?),
            (None, Some(id)) => ParentFolder::Subject(checked("principalId", id)?),
            (None, None) => ParentFolder::Own,
        };
        Ok(NewDirectory { name: self.name, place, skip: self.skip.unwrap_or_default() })
    }
}

/// Renaming of a folder.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenamingForm {
    /// Folder id.
    dir_id: String,
    /// New name.
    name: String,
}

impl RenamingForm {
    pub(super) fn checked(self) -> Result<(String, String)> {
        Ok((checked("dirId", self.dir_id)?, self.name))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TargetKind {
    User,
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

/// Rights to grant.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantForm {
    /// Folder id, or `root`.
    dir_id: String,
    /// `viewer`, `downloader`, `editor`, `manager`; the highest counts.
    role_ids: BoundedList<String, { MAX_ROLES }>,
    /// Up to 100 user ids, or group and department ids.
    auth_target: BoundedList<String, { MAX_TARGETS }>,
    /// 1 users, 2 groups or departments.
    #[schema(minimum = 1, maximum = 2)]
    target_type: i64,
}

#[derive(Debug)]
pub(super) struct NewGrants {
    pub(super) directory_id: String,
    pub(super) role: FolderRole,
    pub(super) kind: TargetKind,
    pub(super) targets: Vec<String>,
}

impl GrantForm {
    pub(super) fn checked(self) -> Result<NewGrants> {
        let mut role = None;
        for id in self.role_ids.iter() {
            let read = FolderRole::from_id(id).ok_or_else(|| {
                Error::bad_request("roleIds: must be among viewer, downloader, editor and manager")
            })?;
            role = role.max(Some(read));
        }
        let role = role.ok_or_else(|| Error::bad_request("roleIds: must name a role"))?;
        if self.auth_target.is_empty() {
            return Err(Error::bad_request(format!("authTarget: must hold 1 to {MAX_TARGETS} ids")));
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

/// Right to revoke.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantRemovalForm {
    /// Folder id, or `root`.
    dir_id: String,
    /// User, group or department id.
    target: String,
    /// 1 user, 2 group or department.
    #[schema(minimum = 1, maximum = 2)]
    target_type: i64,
}

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

pub(super) fn checked(field: &str, id: String) -> Result<String> {
    check_id_of(field, &id).map_err(Error::bad_request)?;
    Ok(id)
}
