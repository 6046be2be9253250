//! Rows of folders.

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult, Statement};
use serde::Serialize;

use super::{
    access::{Access, Link, Seer},
    names::Name,
};
use crate::{
    auth::directory::{folders_given, user_principal},
    store::{Transaction, now_millis, sql},
};

/// A file in the list of a folder (the document's "Directory file list item").
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedFile {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Without the dot, in lower case; empty where there is none.
    pub extension: String,
    /// Bytes of its newest version.
    pub size: i64,
    /// Its newest version.
    pub version: i64,
    /// SHA-256 of its newest version, in hex.
    #[sea_orm(from_alias = "sha256")]
    pub file_hash: String,
    /// Epoch milliseconds.
    #[sea_orm(from_alias = "created_at")]
    pub created_time: i64,
    /// Epoch milliseconds.
    #[sea_orm(from_alias = "updated_at")]
    pub modified_time: i64,
}

/// The files directly in a folder, by name.
pub(super) async fn files_in<C: ConnectionTrait>(
    reader: &C,
    directory_id: &str,
) -> Result<Vec<ListedFile>, DbErr> {
    let statement = sql(
        "SELECT id, name, extension, size, version, sha256, created_at, updated_at FROM files \
         WHERE directory_id = ? ORDER BY name_key",
        [directory_id.into()],
    );
    ListedFile::find_by_statement(statement).all(reader).await
}

/// The folders directly in one, by name.
pub(super) async fn children<C: ConnectionTrait>(
    reader: &C,
    seer: &Seer<'_>,
    parent: &Access,
) -> Result<Vec<Access>, DbErr> {
    let statement = sql(
        "SELECT id, name, parent_id, subject, version, locked_by, locked_at, \
           (SELECT MAX(role) FROM directory_grants WHERE directory_id = directories.id \
             AND target IN (SELECT value FROM json_each(?2))) AS role \
         FROM directories WHERE parent_id = ?1 ORDER BY name_key",
        [parent.id.as_str().into(), seer.targets()?.into()],
    );
    let links = Link::find_by_statement(statement).all(reader).await?;
    Ok(links.into_iter().map(|link| parent.child(seer, link)).collect())
}

/// A folder with what it was looked up for.
#[derive(FromQueryResult)]
struct LinkOf {
    start: String,
    #[sea_orm(nested)]
    link: Link,
}

/// What the person may start from, by ids: the roots of what he owns, his own first, and whatever he was given a right on.
pub(super) async fn starts<C: ConnectionTrait>(reader: &C, seer: &Seer<'_>) -> Result<Vec<String>, DbErr> {
    let subjects: Vec<&str> =
        seer.principals.iter().filter_map(|principal| principal.strip_prefix("o:")).collect();
    let statement = sql(
        "SELECT id FROM directories WHERE tenant_id = ?1 AND subject IN (SELECT value FROM json_each(?2)) \
         ORDER BY subject <> ?3, subject",
        [seer.tenant_id.into(), as_list(&subjects)?.into(), user_principal(seer.user_id).into()],
    );
    let mut starts = Vec::new();
    for row in reader.query_all_raw(statement).await? {
        starts.push(row.try_get("", "id")?);
    }
    starts.extend(folders_given(reader, seer.tenant_id, seer.user_id, seer.principals).await?);
    Ok(starts)
}

/// These folders as the person sees them, those that he may read. All that is above them is read, so they are to be few.
pub(super) async fn find_all<C: ConnectionTrait>(
    reader: &C,
    seer: &Seer<'_>,
    ids: &[String],
) -> Result<Vec<Access>, DbErr> {
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
        [seer.tenant_id.into(), as_list(ids)?.into(), seer.targets()?.into()],
    );
    let rows = LinkOf::find_by_statement(statement).all(reader).await?;
    let chains = rows.chunk_by(|one, next| one.start == next.start);
    let read = chains.filter_map(|chain| {
        let links: Vec<Link> = chain.iter().map(|row| row.link.clone()).collect();
        Access::of(seer, &links)
    });
    Ok(read.collect())
}

fn as_list<T: Serialize + ?Sized>(values: &T) -> Result<String, DbErr> {
    serde_json::to_string(values).map_err(|error| DbErr::Custom(error.to_string()))
}

async fn first_id<C: ConnectionTrait>(connection: &C, statement: Statement) -> Result<Option<String>, DbErr> {
    connection.query_one_raw(statement).await?.map(|row| row.try_get("", "id")).transpose()
}

/// The folder in `parent_id` that has this name already.
pub(super) async fn find_named(
    transaction: &Transaction,
    parent_id: &str,
    name: &Name,
) -> Result<Option<String>, DbErr> {
    let statement = sql(
        "SELECT id FROM directories WHERE parent_id = ? AND name_key = ?",
        [parent_id.into(), name.key.as_str().into()],
    );
    first_id(&**transaction, statement).await
}

/// How many folders are directly in one.
pub(super) async fn count_children(transaction: &Transaction, parent_id: &str) -> Result<i64, DbErr> {
    let statement = sql("SELECT COUNT(*) AS count FROM directories WHERE parent_id = ?", [parent_id.into()]);
    transaction.query_one_raw(statement).await?.map_or(Ok(0), |row| row.try_get("", "count"))
}

/// Makes a folder; answers its id.
pub(super) async fn insert(
    transaction: &Transaction,
    seer: &Seer<'_>,
    parent_id: &str,
    name: &Name,
) -> Result<String, DbErr> {
    let (id, now) = (uuid::Uuid::now_v7().to_string(), now_millis());
    let statement = sql(
        "INSERT INTO directories (id, tenant_id, parent_id, name, name_key, created_by, created_at, updated_at) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            id.as_str().into(),
            seer.tenant_id.into(),
            parent_id.into(),
            name.shown.as_str().into(),
            name.key.as_str().into(),
            seer.user_id.into(),
            now.into(),
            now.into(),
        ],
    );
    transaction.execute_raw(statement).await?;
    Ok(id)
}

/// Gives a folder another name.
pub(super) async fn rename(transaction: &Transaction, id: &str, name: &Name) -> Result<(), DbErr> {
    let statement = sql(
        "UPDATE directories SET name = ?, name_key = ?, version = version + 1, updated_at = ? WHERE id = ?",
        [name.shown.as_str().into(), name.key.as_str().into(), now_millis().into(), id.into()],
    );
    transaction.execute_raw(statement).await.map(drop)
}

/// Locks a folder for a person, or unlocks it.
pub(super) async fn set_lock(
    transaction: &Transaction,
    id: &str,
    locked_by: Option<&str>,
) -> Result<(), DbErr> {
    let now = now_millis();
    let statement = sql(
        "UPDATE directories SET locked_by = ?, locked_at = ?, updated_at = ? WHERE id = ?",
        [locked_by.into(), locked_by.map(|_| now).into(), now.into(), id.into()],
    );
    transaction.execute_raw(statement).await.map(drop)
}

/// Whether a folder below this one, or it itself, is locked by somebody else. Locks are fewer than folders: it is looked up from
/// them.
pub(super) async fn is_locked_below(
    transaction: &Transaction,
    seer: &Seer<'_>,
    id: &str,
) -> Result<bool, DbErr> {
    let statement = sql(
        "WITH RECURSIVE above (id, parent_id) AS ( \
           SELECT id, parent_id FROM directories INDEXED BY locked_directories \
             WHERE tenant_id = ?1 AND locked_by IS NOT NULL AND locked_by <> ?2 \
           UNION SELECT next.id, next.parent_id FROM above CROSS JOIN directories AS next ON next.id = above.parent_id) \
         SELECT 1 FROM above WHERE id = ?3 LIMIT 1",
        [seer.tenant_id.into(), seer.user_id.into(), id.into()],
    );
    Ok(transaction.query_one_raw(statement).await?.is_some())
}

/// Whether a file in this folder or below it was found unsafe in its newest version. Such are few: it is looked up from them.
pub(super) async fn is_unsafe(transaction: &Transaction, tenant_id: i64, id: &str) -> Result<bool, DbErr> {
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
    Ok(transaction.query_one_raw(statement).await?.is_some())
}
