//! Folder rows.

use serde::Serialize;

use super::{
    access::{Access, FolderViewer, Link},
    names::Name,
    service::folders_given,
};
use crate::{
    identity::principals::user_principal,
    store::{self, Connection, FromRow, Transaction, Value, now_millis, sql},
};

/// Listed file.
#[derive(Clone, Debug, PartialEq, Eq, FromRow, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedFile {
    /// Id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Lower case without dot, or empty.
    pub extension: String,
    /// Newest version's bytes.
    pub size: i64,
    /// Newest version.
    pub version: i64,
    /// Newest version's SHA-256 in hex.
    #[sqlx(rename = "sha256")]
    pub file_hash: String,
    /// Epoch milliseconds.
    #[sqlx(rename = "created_at")]
    pub created_time: i64,
    /// Epoch milliseconds.
    #[sqlx(rename = "updated_at")]
    pub modified_time: i64,
    /// Why search does not find its whole text; null where nothing is missing, and before it was read.
    #[schema(required)]
    pub text_problem: Option<String>,
}

pub(super) async fn files_in(reader: &Connection, directory_id: &str) -> store::Result<Vec<ListedFile>> {
    let statement = sql(
        "SELECT id, name, extension, size, version, sha256, created_at, updated_at, \
           (SELECT problem FROM blob_texts WHERE blob_texts.sha256 = files.sha256 \
             AND blob_texts.read_as = files.read_as) AS text_problem FROM files \
         WHERE directory_id = ? ORDER BY name_key",
        [directory_id.into()],
    );
    statement.fetch_all::<ListedFile>(reader).await
}

pub(super) async fn children(
    reader: &Connection,
    viewer: &FolderViewer<'_>,
    parent: &Access,
) -> store::Result<Vec<Access>> {
    let statement = sql(
        "SELECT id, name, parent_id, subject, version, locked_by, locked_at, \
           (SELECT MAX(role) FROM directory_grants WHERE directory_id = directories.id \
             AND target IN (SELECT value FROM json_each(?2))) AS role \
         FROM directories WHERE parent_id = ?1 ORDER BY name_key",
        [parent.id.as_str().into(), viewer.targets()],
    );
    let links = statement.fetch_all::<Link>(reader).await?;
    Ok(links.into_iter().map(|link| parent.child(viewer, link)).collect())
}

#[derive(FromRow)]
struct StartLink {
    start: String,
    #[sqlx(flatten)]
    link: Link,
}

/// Owned roots, the person's own first, then granted folders.
pub(super) async fn starts(reader: &Connection, viewer: &FolderViewer<'_>) -> store::Result<Vec<String>> {
    let subjects: Vec<&str> =
        viewer.principals.iter().filter_map(|principal| principal.strip_prefix("o:")).collect();
    let statement = sql(
        "SELECT id FROM directories WHERE tenant_id = ?1 AND subject IN (SELECT value FROM json_each(?2)) \
         ORDER BY subject <> ?3, subject",
        [viewer.tenant_id.into(), Value::list(subjects), user_principal(viewer.user_id).into()],
    );
    let mut starts: Vec<String> = statement.fetch_values(reader).await?;
    starts.extend(folders_given(reader, viewer.tenant_id, viewer.user_id, viewer.principals).await?);
    Ok(starts)
}

/// Readable ones; reads all ancestors, so pass few.
pub(super) async fn find_all(
    reader: &Connection,
    viewer: &FolderViewer<'_>,
    ids: &[String],
) -> store::Result<Vec<Access>> {
    let statement = sql(
        "WITH RECURSIVE above (start, place, depth, id, name, parent_id, subject, version, locked_by, locked_at) AS ( \
           SELECT own.id, starts.key, 0, own.id, name, parent_id, subject, version, locked_by, locked_at \
             FROM json_each(?2) AS starts CROSS JOIN directories AS own ON own.id = starts.value AND +own.tenant_id = ?1 \
           UNION ALL \
           SELECT start, place, depth + 1, next.id, next.name, next.parent_id, next.subject, next.version, next.locked_by, \
               next.locked_at \
             FROM above CROSS JOIN directories AS next ON next.id = above.parent_id) \
         SELECT above.*, (SELECT MAX(role) FROM directory_grants WHERE directory_id = above.id \
             AND target IN (SELECT value FROM json_each(?3))) AS role \
         FROM above ORDER BY place, depth",
        [viewer.tenant_id.into(), Value::list(ids), viewer.targets()],
    );
    let rows = statement.fetch_all::<StartLink>(reader).await?;
    let chains = rows.chunk_by(|one, next| one.start == next.start);
    let read = chains.filter_map(|chain| {
        let links: Vec<Link> = chain.iter().map(|row| row.link.clone()).collect();
        Access::of(viewer, &links)
    });
    Ok(read.collect())
}

pub(super) async fn find_named(
    transaction: &Transaction,
    parent_id: &str,
    name: &Name,
) -> store::Result<Option<String>> {
    let statement = sql(
        "SELECT id FROM directories WHERE parent_id = ? AND name_key = ?",
        [parent_id.into(), name.key.as_str().into()],
    );
    statement.fetch_optional_value(transaction).await
}

pub(super) async fn count_children(transaction: &Transaction, parent_id: &str) -> store::Result<i64> {
    let statement = sql("SELECT COUNT(*) AS count FROM directories WHERE parent_id = ?", [parent_id.into()]);
    statement.fetch_value(transaction).await
}

pub(super) async fn insert(
    transaction: &Transaction,
    viewer: &FolderViewer<'_>,
    parent_id: &str,
    name: &Name,
) -> store::Result<String> {
    let (id, now) = (uuid::Uuid::now_v7().to_string(), now_millis());
    let statement = sql(
        "INSERT INTO directories (id, tenant_id, parent_id, name, name_key, created_by, created_at, updated_at) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            id.as_str().into(),
            viewer.tenant_id.into(),
            parent_id.into(),
            name.shown.as_str().into(),
            name.key.as_str().into(),
            viewer.user_id.into(),
            now.into(),
            now.into(),
        ],
    );
    statement.execute(transaction).await?;
    Ok(id)
}

pub(super) async fn rename(transaction: &Transaction, id: &str, name: &Name) -> store::Result<()> {
    let statement = sql(
        "UPDATE directories SET name = ?, name_key = ?, version = version + 1, updated_at = ? WHERE id = ?",
        [name.shown.as_str().into(), name.key.as_str().into(), now_millis().into(), id.into()],
    );
    statement.execute(transaction).await.map(drop)
}

pub(super) async fn set_lock(
    transaction: &Transaction,
    id: &str,
    locked_by: Option<&str>,
) -> store::Result<()> {
    let now = now_millis();
    let statement = sql(
        "UPDATE directories SET locked_by = ?, locked_at = ?, updated_at = ? WHERE id = ?",
        [locked_by.into(), locked_by.map(|_| now).into(), now.into(), id.into()],
    );
    statement.execute(transaction).await.map(drop)
}

/// Whether another person locked something below; starts from the few locks.
pub(super) async fn is_locked_below(
    transaction: &Transaction,
    viewer: &FolderViewer<'_>,
    id: &str,
) -> store::Result<bool> {
    let statement = sql(
        "WITH RECURSIVE above (id, parent_id) AS ( \
           SELECT id, parent_id FROM directories INDEXED BY locked_directories \
             WHERE tenant_id = ?1 AND locked_by IS NOT NULL AND locked_by <> ?2 \
           UNION SELECT next.id, next.parent_id FROM above CROSS JOIN directories AS next ON next.id = above.parent_id) \
         SELECT 1 FROM above WHERE id = ?3 LIMIT 1",
        [viewer.tenant_id.into(), viewer.user_id.into(), id.into()],
    );
    statement.exists(transaction).await
}

/// Starts from the few unsafe files.
pub(super) async fn is_unsafe(transaction: &Transaction, tenant_id: i64, id: &str) -> store::Result<bool> {
    let statement = sql(
        "WITH RECURSIVE above (id, parent_id) AS ( \
           SELECT directories.id, directories.parent_id FROM blobs INDEXED BY unsafe_blobs \
             CROSS JOIN files INDEXED BY files_by_content ON files.sha256 = blobs.sha256 AND files.tenant_id = ?1 \
             CROSS JOIN directories ON directories.id = files.directory_id \
             WHERE blobs.verdict IS NOT NULL \
           UNION SELECT next.id, next.parent_id FROM above CROSS JOIN directories AS next ON next.id = above.parent_id) \
         SELECT 1 FROM above WHERE id = ?2 LIMIT 1",
        [tenant_id.into(), id.into()],
    );
    statement.exists(transaction).await
}
