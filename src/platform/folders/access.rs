//! Access to a folder by ownership, grants along the path, and locks.
//!
//! Changes check it in their own transaction.

use super::permissions::{FolderRole, Locks, Permissions};
use crate::{
    auth::caller::Caller,
    error::{BusinessCode, Error, Result},
    identity::principals::{may_be_given_rights, owner_principal, user_principal},
    store::{self, Connection, FromRow, Transaction, Value, now_millis, sql},
};

/// Name of the caller's own root.
pub const ROOT: &str = "root";

/// Maximum depth with root.
pub const MAX_DEPTH: usize = 64;

/// Person viewing folders.
#[derive(Clone, Copy, Debug)]
pub struct FolderViewer<'a> {
    /// Tenant id.
    pub tenant_id: i64,
    /// Source id.
    pub user_id: &'a str,
    /// Ascending principals; folders with grants may be missing.
    pub principals: &'a [String],
}

impl<'a> FolderViewer<'a> {
    /// Person of a user token; 403 for applications.
    pub fn of(caller: &'a Caller) -> Result<Self> {
        let user = caller.require_user()?;
        Ok(Self { tenant_id: caller.tenant.id, user_id: &user.person.user_id, principals: &user.principals })
    }

    /// Whether the person owns this subject's folders.
    pub fn owns(&self, subject: &str) -> bool {
        let principal = owner_principal(subject);
        self.principals.binary_search(&principal).is_ok()
    }

    pub(super) fn targets(&self) -> Value {
        Value::list(self.principals.iter().filter(|principal| may_be_given_rights(principal)))
    }
}

/// Folder and the viewer's access.
#[derive(Clone, Debug)]
pub struct Access {
    /// Id.
    pub id: String,
    /// Name; empty for roots.
    pub name: String,
    /// Parent id; none for roots.
    pub parent_id: Option<String>,
    /// Version.
    pub version: i64,
    /// Readable names, each after a slash.
    pub full_path: String,
    /// Whether only its root may be readable above it.
    pub is_topmost: bool,
    /// Its root's id, or its own.
    pub root_id: String,
    /// Owning principal.
    pub subject: String,
    /// Number of ancestors.
    pub depth: usize,
    /// Viewer's role.
    pub role: FolderRole,
    /// Locks for the viewer.
    pub locks: Locks,
    /// Time of the uppermost lock.
    pub locked_at: Option<i64>,
}

/// Permission for a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredPermission {
    /// Add.
    Upload,
    /// Rename or add versions.
    Edit,
    /// Delete.
    Delete,
    /// Copy.
    Download,
    /// Grant rights, lock, unlock.
    Manage,
}

impl Access {
    /// Readable folder; [`ROOT`] may not exist yet.
    pub async fn find(
        connection: &Connection,
        viewer: &FolderViewer<'_>,
        directory_id: &str,
    ) -> store::Result<Option<Self>> {
        let links = Link::chain(connection, viewer, directory_id).await?;
        Ok(Self::of(viewer, &links))
    }

    /// Readable folder; fails with `missing`.
    pub async fn require(
        connection: &Connection,
        viewer: &FolderViewer<'_>,
        directory_id: &str,
        missing: BusinessCode,
    ) -> Result<Self> {
        let found = Self::find(connection, viewer, directory_id).await?;
        found.ok_or_else(|| Error::business(missing, "there is no folder with this id that you may read"))
    }

    pub(super) fn of(viewer: &FolderViewer<'_>, links: &[Link]) -> Option<Self> {
        let root = links.last()?;
        let subject = root.subject.clone()?;
        let granted = links.iter().filter_map(|link| link.role).max().and_then(FolderRole::from_number);
        let role = if viewer.owns(&subject) { Some(FolderRole::Manager) } else { granted }?;
        // Names of unreadable ancestors stay hidden.
        let first_level = links.len().saturating_sub(2);
        let topmost =
            if viewer.owns(&subject) { None } else { links.iter().rposition(|link| link.role.is_some()) };
        let topmost = topmost.map_or(first_level, |topmost| topmost.min(first_level));
        let locked: Vec<&Link> = links.iter().filter(|link| link.locked_by.is_some()).collect();
        let locks = Locks {
            itself: links[0].locked_by.is_some(),
            above: links[1..].iter().any(|link| link.locked_by.is_some()),
            by_another: locked.iter().any(|link| link.locked_by.as_deref() != Some(viewer.user_id)),
        };
        let shown = if links.len() == 1 { &[] } else { &links[..=topmost] };
        let names = shown.iter().rev().map(|link| format!("/{}", link.name));
        Some(Self {
            full_path: names.collect(),
            is_topmost: topmost == 0,
            root_id: root.id.clone(),
            depth: links.len() - 1,
            locked_at: locked.last().and_then(|link| link.locked_at),
            id: links[0].id.clone(),
            name: links[0].name.clone(),
            parent_id: links[0].parent_id.clone(),
            version: links[0].version,
            subject,
            role,
            locks,
        })
    }

    /// Whether it is a root.
    pub fn is_root(&self) -> bool {
        self.parent_id.is_none()
    }

    pub(super) fn child(&self, viewer: &FolderViewer<'_>, link: Link) -> Self {
        let is_locked = link.locked_by.is_some();
        let locks = Locks {
            itself: is_locked,
            above: self.locks.itself || self.locks.above,
            by_another: self.locks.by_another
                || is_locked && link.locked_by.as_deref() != Some(viewer.user_id),
        };
        Self {
            full_path: format!("{}/{}", self.full_path, link.name),
            is_topmost: self.is_root(),
            root_id: self.root_id.clone(),
            depth: self.depth + 1,
            locked_at: self.locked_at.or(link.locked_at),
            id: link.id,
            name: link.name,
            parent_id: link.parent_id,
            version: link.version,
            subject: self.subject.clone(),
            role: link.role.and_then(FolderRole::from_number).map_or(self.role, |role| role.max(self.role)),
            locks,
        }
    }

    /// Resulting permissions.
    pub fn permissions(&self) -> Permissions {
        Permissions::of(self.role, self.locks)
    }

    /// Role (430011), and no other person's lock (430017).
    pub fn check(&self, needed: RequiredPermission) -> Result<()> {
        self.check_role(needed)?;
        self.check_locks(needed)
    }

    /// Role part of [`Access::check`].
    pub fn check_role(&self, needed: RequiredPermission) -> Result<()> {
        let least = match needed {
            RequiredPermission::Download => FolderRole::Downloader,
            RequiredPermission::Upload | RequiredPermission::Edit | RequiredPermission::Delete => {
                FolderRole::Editor
            }
            RequiredPermission::Manage => FolderRole::Manager,
        };
        if self.role < least {
            let message = format!("this needs the role {} here; yours is {}", least.id(), self.role.id());
            return Err(Error::business(BusinessCode::NotPermitted, message));
        }
        Ok(())
    }

    /// Lock part of [`Access::check`].
    pub fn check_locks(&self, needed: RequiredPermission) -> Result<()> {
        if self.locks.by_another
            && matches!(
                needed,
                RequiredPermission::Upload | RequiredPermission::Edit | RequiredPermission::Delete
            )
        {
            return Err(locked());
        }
        Ok(())
    }
}

/// 430017: locked by another person.
pub fn locked() -> Error {
    Error::business(
        BusinessCode::Locked,
        "the folder or one above it is locked by another user, who alone may change its contents",
    )
}

/// Root id of a subject, created on demand.
pub async fn root_of(
    transaction: &Transaction,
    viewer: &FolderViewer<'_>,
    subject: &str,
) -> store::Result<String> {
    let now = now_millis();
    let id = uuid::Uuid::now_v7().to_string();
    let statement = sql(
        "INSERT INTO directories (id, tenant_id, subject, name, name_key, created_by, created_at, updated_at) \
         VALUES (?, ?, ?, '', '', ?, ?, ?) ON CONFLICT (tenant_id, subject) DO UPDATE SET subject = excluded.subject RETURNING id",
        [id.into(), viewer.tenant_id.into(), subject.into(), viewer.user_id.into(), now.into(), now.into()],
    );
    statement.fetch_value(transaction).await
}

/// Root id of the person, created on demand.
pub async fn own_root(transaction: &Transaction, viewer: &FolderViewer<'_>) -> store::Result<String> {
    root_of(transaction, viewer, &user_principal(viewer.user_id)).await
}

#[derive(Clone, Debug, FromRow)]
pub(super) struct Link {
    pub(super) id: String,
    name: String,
    parent_id: Option<String>,
    subject: Option<String>,
    version: i64,
    locked_by: Option<String>,
    locked_at: Option<i64>,
    role: Option<i64>,
}

impl Link {
    async fn chain(
        connection: &Connection,
        viewer: &FolderViewer<'_>,
        directory_id: &str,
    ) -> store::Result<Vec<Self>> {
        let (column, value) = if directory_id == ROOT {
            ("subject", user_principal(viewer.user_id))
        } else {
            ("id", directory_id.to_owned())
        };
        let targets = viewer.targets();
        let text = format!(
            "WITH RECURSIVE above (depth, id, name, parent_id, subject, version, locked_by, locked_at) AS ( \
               SELECT 0, id, name, parent_id, subject, version, locked_by, locked_at FROM directories \
                 WHERE {column} = ?2 AND +tenant_id = ?1 \
               UNION ALL \
               SELECT depth + 1, next.id, next.name, next.parent_id, next.subject, next.version, next.locked_by, next.locked_at \
                 FROM directories AS next JOIN above ON next.id = above.parent_id) \
             SELECT above.*, (SELECT MAX(role) FROM directory_grants WHERE directory_id = above.id \
                 AND target IN (SELECT value FROM json_each(?3))) AS role \
             FROM above ORDER BY depth"
        );
        let text = if column == "subject" { text.replace("+tenant_id", "tenant_id") } else { text };
        let statement = sql(text, [viewer.tenant_id.into(), value.into(), targets]);
        statement.fetch_all::<Self>(connection).await
    }
}
