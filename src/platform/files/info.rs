//! Files in responses.

use serde::Serialize;

use super::repo::File;
use crate::platform::folders::{access::Access, permissions::Permissions};

/// A file with the caller's permissions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileInfo {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its extension in lower case; empty if none.
    pub file_ext: String,
    /// Bytes of its newest version.
    pub size: i64,
    /// The number of its newest version, from 1.
    pub version: i64,
    /// SHA-256 of its newest version, in hex.
    pub file_hash: String,
    /// Whether its folder or an ancestor is locked.
    pub locked: bool,
    /// Time of the lock, epoch milliseconds.
    pub locked_at: Option<i64>,
    /// Creation, epoch milliseconds.
    pub created_at: i64,
    /// Creation of its newest version, epoch milliseconds.
    pub updated_at: i64,
    /// The caller's permissions.
    pub permissions: Permissions,
}

impl FileInfo {
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
