//! What one person may do in a folder: his role there, by what he owns and was given on it and above it, and the locks on it.
//!
//! Whoever changes something asks inside the transaction that changes it.

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};

use super::permissions::{Locks, Permissions, Role};
use crate::{
    auth::{
        caller::Caller,
        directory::{may_be_given_rights, owner_principal, user_principal},
    },
    error::{BusinessCode, Error, Result},
    store::{Transaction, now_millis, sql},
};

/// What callers name their own root by (decisions 10.1).
pub const ROOT: &str = "root";

/// Folders above one another at the most, the root counted.
pub const MOST_DEPTH: usize = 64;

/// Who looks: a person with what he carries.
#[derive(Clone, Copy, Debug)]
pub struct Seer<'a> {
    /// His tenant.
    pub tenant_id: i64,
    /// His id on the synchronising side.
    pub user_id: &'a str,
    /// His principals, in ascending order; the folders that he was given a right on may be missing.
    pub principals: &'a [String],
}

impl<'a> Seer<'a> {
    /// The person behind a user token.
    ///
    /// # Errors
    /// 403 for an application token.
    pub fn of(caller: &'a Caller) -> Result<Self> {
        let user = caller.require_user()?;
        Ok(Self { tenant_id: caller.tenant.id, user_id: &user.person.user_id, principals: &user.principals })
    }

    /// Whether he owns the folders of this subject.
    pub fn owns(&self, subject: &str) -> bool {
        let principal = owner_principal(subject);
        self.principals.binary_search(&principal).is_ok()
    }

    /// To whom rights are given that are his, as a JSON list.
    pub(super) fn targets(&self) -> Result<String, DbErr> {
        let targets: Vec<&String> =
            self.principals.iter().filter(|principal| may_be_given_rights(principal)).collect();
        serde_json::to_string(&targets).map_err(|error| DbErr::Custom(error.to_string()))
    }
}

/// A folder, or a root, with what the person who looks may do there.
#[derive(Clone, Debug)]
pub struct Access {
    /// Its id.
    pub id: String,
    /// Its name; empty of a root.
    pub name: String,
    /// The id of what is above it; none of a root.
    pub parent_id: Option<String>,
    /// Its version.
    pub version: i64,
    /// Names from the uppermost folder on that the person may read, each behind a slash; empty of a root.
    pub full_path: String,
    /// Whether it is the uppermost one that he may read, its root apart: to him nothing is above it.
    pub is_topmost: bool,
    /// The id of its subject's root; its own, of a root.
    pub root_id: String,
    /// Whose it is: the principal of a person, a department or a group, or the enterprise.
    pub subject: String,
    /// How many are above it.
    pub depth: usize,
    /// The role of who looks.
    pub role: Role,
    /// How it is locked to him.
    pub locks: Locks,
    /// Since when, where it is locked: the time of the uppermost lock.
    pub locked_at: Option<i64>,
}

/// One of the permissions that a change asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needed {
    /// Put something in.
    Upload,
    /// Rename it, or put a new version.
    Edit,
    /// Delete it, or what is in it.
    Delete,
    /// Take copies.
    Download,
    /// Say who may do what, lock and unlock.
    Manage,
}

impl Access {
    /// The folder with this id, [`ROOT`] being the person's own root, as he sees it; none where there is none that he may read.
    /// His own root is found once there is something in it.
    pub async fn find<C: ConnectionTrait>(
        connection: &C,
        seer: &Seer<'_>,
        directory_id: &str,
    ) -> Result<Option<Self>, DbErr> {
        let links = Link::chain(connection, seer, directory_id).await?;
        Ok(Self::of(seer, &links))
    }

    /// The same, where it has to be there.
    ///
    /// # Errors
    /// `missing` with a message, where there is none that the person may read.
    pub async fn require<C: ConnectionTrait>(
        connection: &C,
        seer: &Seer<'_>,
        directory_id: &str,
        missing: BusinessCode,
    ) -> Result<Self> {
        let found = Self::find(connection, seer, directory_id).await?;
        found.ok_or_else(|| Error::business(missing, "there is no folder with this id that you may read"))
    }

    /// From the folder itself up to the root.
    pub(super) fn of(seer: &Seer<'_>, links: &[Link]) -> Option<Self> {
        let root = links.last()?;
        // What was removed is in no tree.
        let subject = root.subject.clone()?;
        let granted = links.iter().filter_map(|link| link.role).max().and_then(Role::from_number);
        let role = if seer.owns(&subject) { Some(Role::Manager) } else { granted }?;
        // What is above what he may read does not exist to him, its name included (decisions 2.2).
        let first_level = links.len().saturating_sub(2);
        let topmost =
            if seer.owns(&subject) { None } else { links.iter().rposition(|link| link.role.is_some()) };
        let topmost = topmost.map_or(first_level, |topmost| topmost.min(first_level));
        let locked: Vec<&Link> = links.iter().filter(|link| link.locked_by.is_some()).collect();
        let locks = Locks {
            itself: links[0].locked_by.is_some(),
            above: links[1..].iter().any(|link| link.locked_by.is_some()),
            by_another: locked.iter().any(|link| link.locked_by.as_deref() != Some(seer.user_id)),
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

    /// Whether it is a subject's root.
    pub fn is_root(&self) -> bool {
        self.parent_id.is_none()
    }

    /// A folder directly below this one.
    pub(super) fn child(&self, seer: &Seer<'_>, link: Link) -> Self {
        let is_locked = link.locked_by.is_some();
        let locks = Locks {
            itself: is_locked,
            above: self.locks.itself || self.locks.above,
            by_another: self.locks.by_another || is_locked && link.locked_by.as_deref() != Some(seer.user_id),
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
            role: link.role.and_then(Role::from_number).map_or(self.role, |role| role.max(self.role)),
            locks,
        }
    }

    /// What the person may do here.
    pub fn permissions(&self) -> Permissions {
        Permissions::of(self.role, self.locks)
    }

    /// Refuses what he may not do.
    ///
    /// # Errors
    /// 430011 where his role does not allow it; 430017 where somebody else's lock forbids it.
    pub fn check(&self, needed: Needed) -> Result<()> {
        self.check_role(needed)?;
        self.check_locks(needed)
    }

    /// The first half of [`Access::check`]: refuses what his role does not allow.
    ///
    /// # Errors
    /// 430011.
    pub fn check_role(&self, needed: Needed) -> Result<()> {
        let least = match needed {
            Needed::Download => Role::Downloader,
            Needed::Upload | Needed::Edit | Needed::Delete => Role::Editor,
            Needed::Manage => Role::Manager,
        };
        if self.role < least {
            let message = format!("this needs the role {} here; yours is {}", least.id(), self.role.id());
            return Err(Error::business(BusinessCode::NotPermitted, message));
        }
        Ok(())
    }

    /// The second half of [`Access::check`]: refuses what somebody else's lock forbids.
    ///
    /// # Errors
    /// 430017.
    pub fn check_locks(&self, needed: Needed) -> Result<()> {
        if self.locks.by_another && matches!(needed, Needed::Upload | Needed::Edit | Needed::Delete) {
            return Err(locked());
        }
        Ok(())
    }
}

/// 430017: somebody else locked it.
pub fn locked() -> Error {
    Error::business(
        BusinessCode::Locked,
        "the folder or one above it is locked by somebody else; he alone may change what is in it",
    )
}

/// The root of a subject, made where there is none yet. Answers its id.
pub async fn root_of(transaction: &Transaction, seer: &Seer<'_>, subject: &str) -> Result<String, DbErr> {
    let now = now_millis();
    let id = uuid::Uuid::now_v7().to_string();
    let statement = sql(
        "INSERT INTO directories (id, tenant_id, subject, name, name_key, created_by, created_at, updated_at) \
         VALUES (?, ?, ?, '', '', ?, ?, ?) ON CONFLICT (tenant_id, subject) DO UPDATE SET subject = excluded.subject RETURNING id",
        [id.into(), seer.tenant_id.into(), subject.into(), seer.user_id.into(), now.into(), now.into()],
    );
    let row = transaction.query_one_raw(statement).await?;
    row.ok_or_else(|| DbErr::RecordNotFound("a root".to_owned()))?.try_get("", "id")
}

/// The root of the person's own documents, made where there is none yet. Answers its id.
pub async fn own_root(transaction: &Transaction, seer: &Seer<'_>) -> Result<String, DbErr> {
    root_of(transaction, seer, &user_principal(seer.user_id)).await
}

/// A folder on the way up, with what the person was given on it.
#[derive(Clone, Debug, FromQueryResult)]
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
    /// The folder and all that are above it, from itself to the uppermost.
    async fn chain<C: ConnectionTrait>(
        connection: &C,
        seer: &Seer<'_>,
        directory_id: &str,
    ) -> Result<Vec<Self>, DbErr> {
        let (column, value) = if directory_id == ROOT {
            ("subject", user_principal(seer.user_id))
        } else {
            ("id", directory_id.to_owned())
        };
        let targets = seer.targets()?;
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
        let statement = sql(text, [seer.tenant_id.into(), value.into(), targets.into()]);
        Self::find_by_statement(statement).all(connection).await
    }
}
