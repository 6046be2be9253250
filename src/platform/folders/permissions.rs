//! Permissions by role and lock.

use serde::Serialize;

/// Right on a folder, ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FolderRole {
    /// Reads contents.
    Viewer = 1,
    /// Copies contents.
    Downloader = 2,
    /// Changes contents.
    Editor = 3,
    /// Manages rights, like the owner.
    Manager = 4,
}

impl FolderRole {
    /// Every role.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Downloader, Self::Editor, Self::Manager];

    /// Role by stored number.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.number() == number)
    }

    /// Stored number.
    pub fn number(self) -> i64 {
        self as i64
    }

    /// Role by id (`roleIds`).
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.id() == id)
    }

    /// Id (`roleIds`).
    pub fn id(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Downloader => "downloader",
            Self::Editor => "editor",
            Self::Manager => "manager",
        }
    }
}

/// Locks of a folder, for one viewer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Locks {
    /// The folder is locked.
    pub itself: bool,
    /// An ancestor is locked.
    pub above: bool,
    /// Another person holds a lock.
    pub by_another: bool,
}

/// Permissions on a folder or its files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::struct_excessive_bools, reason = "the specification's object")]
pub struct Permissions {
    /// Add files and folders.
    pub uploadable: bool,
    /// View files.
    pub previewable: bool,
    /// Delete folder or contents.
    pub deleteable: bool,
    /// Share files.
    pub shareable: bool,
    /// Copy files.
    pub downloadable: bool,
    /// Rename, and add versions.
    pub editable: bool,
    /// Restore versions.
    pub restoreable: bool,
    /// Manage rights.
    pub manageable: bool,
    /// Lock.
    pub lockable: bool,
    /// Unlock.
    pub unlockable: bool,
    /// Read.
    pub readable: bool,
}

impl Permissions {
    /// Permissions of a role; another person's lock allows reading and managing rights.
    pub fn of(role: FolderRole, locks: Locks) -> Self {
        let is_open = !locks.by_another;
        Self {
            readable: true,
            previewable: true,
            downloadable: role >= FolderRole::Downloader,
            shareable: role >= FolderRole::Downloader,
            uploadable: role >= FolderRole::Editor && is_open,
            editable: role >= FolderRole::Editor && is_open,
            deleteable: role >= FolderRole::Editor && is_open,
            restoreable: role >= FolderRole::Editor && is_open,
            manageable: role >= FolderRole::Manager,
            lockable: role >= FolderRole::Manager && !locks.itself && !locks.above,
            unlockable: role >= FolderRole::Manager && locks.itself && !locks.above,
        }
    }
}
