//! A file as it is shown (specification, "`FileInfoResult`").

use serde::Serialize;

use super::repo::File;
use crate::platform::directories::{access::Access, permissions::Permissions};

/// A file, with what the caller may do with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileInfo {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What stands behind the last dot of its name, in lower case; empty where there is none.
    pub file_ext: String,
    /// Bytes of its newest version.
    pub size: i64,
    /// The number of its newest version, from 1.
    pub version: i64,
    /// SHA-256 of its newest version, in hex.
    pub file_hash: String,
    /// Whether its folder or one above that is locked.
    pub locked: bool,
    /// Since when, epoch milliseconds.
    pub locked_at: Option<i64>,
    /// When it came, epoch milliseconds.
    pub created_at: i64,
    /// When its newest version came, epoch milliseconds.
    pub updated_at: i64,
    /// What the caller may do with it.
    pub permissions: Permissions,
}

impl FileInfo {
    /// A file in this folder, as the person sees it.
    pub(super) fn of(file: File, folder: &Access) -> Self {
        Self {
            id: file.id,
            name: file.name,
            file_ext: file.extension,
            size: file.size,
            version: file.version,
            file_hash: file.sha256,
            locked: folder.locks.itself || folder.locks.above,
            locked_at: folder.locked_at,
            created_at: file.created_at,
            updated_at: file.updated_at,
            permissions: folder.permissions(),
        }
    }
}
