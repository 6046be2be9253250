//! What a role lets one do in a folder, and what a lock takes of that: one table (decisions 10.2, 10.7).

use serde::Serialize;

/// A right on a folder and all that is below it. Greater is more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Sees what is there.
    Viewer = 1,
    /// Takes copies.
    Downloader = 2,
    /// Changes what is there.
    Editor = 3,
    /// Says who may do what. The subject's owner is one.
    Manager = 4,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Downloader, Self::Editor, Self::Manager];

    /// The role that a number stands for, as rows keep it.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.number() == number)
    }

    /// The number that stands for it.
    pub fn number(self) -> i64 {
        self as i64
    }

    /// The role with this id (`roleIds`).
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.id() == id)
    }

    /// Its id.
    pub fn id(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Downloader => "downloader",
            Self::Editor => "editor",
            Self::Manager => "manager",
        }
    }
}

/// How a folder is locked, to one who looks at it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Locks {
    /// The folder itself is.
    pub itself: bool,
    /// One above it is.
    pub above: bool,
    /// The folder or one above it is, by somebody else.
    pub by_another: bool,
}

/// What one may do in a folder, or with a file in it (specification, "Permissions object").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::struct_excessive_bools, reason = "the specification's object")]
pub struct Permissions {
    /// Put files and folders into it.
    pub uploadable: bool,
    /// Look at its files.
    pub previewable: bool,
    /// Delete it, or what is in it.
    pub deleteable: bool,
    /// Share its files.
    pub shareable: bool,
    /// Take copies of its files.
    pub downloadable: bool,
    /// Rename it, and put new versions of its files.
    pub editable: bool,
    /// Bring back earlier versions.
    pub restoreable: bool,
    /// Say who may do what.
    pub manageable: bool,
    /// Lock it.
    pub lockable: bool,
    /// Unlock it.
    pub unlockable: bool,
    /// See it.
    pub readable: bool,
}

impl Permissions {
    /// What somebody in this role may do where it is locked so. Somebody else's lock takes every change of what is there, and
    /// leaves reading and who may do what.
    pub fn of(role: Role, locks: Locks) -> Self {
        let is_open = !locks.by_another;
        Self {
            readable: true,
            previewable: true,
            downloadable: role >= Role::Downloader,
            shareable: role >= Role::Downloader,
            uploadable: role >= Role::Editor && is_open,
            editable: role >= Role::Editor && is_open,
            deleteable: role >= Role::Editor && is_open,
            restoreable: role >= Role::Editor && is_open,
            manageable: role >= Role::Manager,
            lockable: role >= Role::Manager && !locks.itself && !locks.above,
            unlockable: role >= Role::Manager && locks.itself && !locks.above,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of decisions 10.7, by names.
    #[test]
    fn each_role_has_what_the_one_before_has_and_more() {
        let of = |role| {
            let unlocked = serde_json::to_value(Permissions::of(role, Locks::default())).unwrap();
            let mut names: Vec<String> = unlocked
                .as_object()
                .unwrap()
                .iter()
                .filter(|(_, is_true)| **is_true == serde_json::Value::Bool(true))
                .map(|(name, _)| name.clone())
                .collect();
            names.sort();
            names.join(" ")
        };
        assert_eq!(of(Role::Viewer), "previewable readable");
        assert_eq!(of(Role::Downloader), "downloadable previewable readable shareable");
        let editor = "deleteable downloadable editable previewable readable restoreable shareable uploadable";
        assert_eq!(of(Role::Editor), editor);
        // What is not locked cannot be unlocked.
        let manager = "deleteable downloadable editable lockable manageable previewable readable restoreable shareable uploadable";
        assert_eq!(of(Role::Manager), manager);
    }

    #[test]
    fn a_lock_takes_changes_from_all_but_who_locked() {
        let own = Permissions::of(Role::Manager, Locks { itself: true, above: false, by_another: false });
        assert!(own.uploadable && own.deleteable && own.unlockable && !own.lockable);
        let anothers = Permissions::of(Role::Manager, Locks { itself: true, above: false, by_another: true });
        assert!(anothers.readable && anothers.downloadable && anothers.manageable && anothers.unlockable);
        assert!(!anothers.uploadable && !anothers.editable && !anothers.deleteable && !anothers.restoreable);
        let below = Permissions::of(Role::Manager, Locks { itself: false, above: true, by_another: false });
        assert!(below.uploadable && !below.lockable && !below.unlockable);
    }
}
