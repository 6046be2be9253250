use crate::{
    blobs::ComposedContent,
    platform::folders::names::{self, Name},
    store::{self, Connection, DatabaseError, FromRow, Transaction, Value, find_in, sql},
};

#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub(super) struct File {
    pub(super) id: String,
    pub(super) directory_id: String,
    pub(super) name: String,
    pub(super) extension: String,
    pub(super) version: i64,
    pub(super) sha256: String,
    pub(super) size: i64,
    pub(super) stored_bytes: i64,
    pub(super) created_at: i64,
    pub(super) updated_at: i64,
}

const FILE_COLUMNS: &str = "SELECT id, directory_id, name, extension, version, sha256, size, stored_bytes, created_at, updated_at FROM files";

pub(super) async fn find_named(
    connection: &Connection,
    tenant_id: i64,
    directory_id: &str,
    name_key: &str,
) -> store::Result<Option<File>> {
    let text = format!("{FILE_COLUMNS} WHERE directory_id = ? AND name_key = ? AND tenant_id = ?");
    let values = [directory_id.into(), name_key.into(), tenant_id.into()];
    sql(text, values).fetch_optional::<File>(connection).await
}

pub(super) async fn find(
    connection: &Connection,
    tenant_id: i64,
    ids: &[impl AsRef<str>],
) -> store::Result<Vec<File>> {
    let text = format!("{FILE_COLUMNS} WHERE +tenant_id = ? AND id");
    find_in(connection, &text, &[tenant_id.into()], ids).await
}

#[derive(Clone, Copy, Debug)]
pub(super) struct FileAuthor<'a> {
    pub(super) tenant_id: i64,
    pub(super) user_id: &'a str,
    pub(super) name: &'a str,
    pub(super) now: i64,
}

pub(super) async fn insert(
    transaction: &Transaction,
    author: FileAuthor<'_>,
    directory_id: &str,
    name: &Name,
    content: (&str, i64),
) -> store::Result<File> {
    let (sha256, size) = content;
    let file = File {
        id: uuid::Uuid::now_v7().to_string(),
        directory_id: directory_id.to_owned(),
        name: name.shown.clone(),
        extension: names::extension(&name.shown),
        version: 1,
        sha256: sha256.to_owned(),
        size,
        stored_bytes: size,
        created_at: author.now,
        updated_at: author.now,
    };
    let statement = sql(
        "INSERT INTO files (id, tenant_id, directory_id, name, name_key, extension, version, sha256, size, stored_bytes, \
           created_by, created_by_name, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?)",
        [
            file.id.as_str().into(),
            author.tenant_id.into(),
            directory_id.into(),
            file.name.as_str().into(),
            name.key.as_str().into(),
            file.extension.as_str().into(),
            sha256.into(),
            size.into(),
            size.into(),
            author.user_id.into(),
            author.name.into(),
            author.now.into(),
            author.now.into(),
        ],
    );
    statement.execute(transaction).await?;
    insert_version(transaction, author, &file).await?;
    Ok(file)
}

/// The file keeps its name.
pub(super) async fn replace(
    transaction: &Transaction,
    author: FileAuthor<'_>,
    known: File,
    content: (&str, i64),
) -> store::Result<File> {
    let (sha256, size) = content;
    let file = File {
        version: known.version + 1,
        sha256: sha256.to_owned(),
        size,
        stored_bytes: known.stored_bytes + size,
        updated_at: author.now,
        ..known
    };
    let statement = sql(
        "UPDATE files SET version = ?, sha256 = ?, size = ?, stored_bytes = ?, updated_at = ? WHERE id = ? AND +tenant_id = ?",
        [
            file.version.into(),
            sha256.into(),
            size.into(),
            file.stored_bytes.into(),
            author.now.into(),
            file.id.as_str().into(),
            author.tenant_id.into(),
        ],
    );
    statement.execute(transaction).await?;
    insert_version(transaction, author, &file).await?;
    Ok(file)
}

async fn insert_version(transaction: &Transaction, author: FileAuthor<'_>, file: &File) -> store::Result<()> {
    let statement = sql(
        "INSERT INTO file_versions (file_id, version, tenant_id, sha256, size, created_by, created_at) \
         VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            file.id.as_str().into(),
            file.version.into(),
            author.tenant_id.into(),
            file.sha256.as_str().into(),
            file.size.into(),
            author.user_id.into(),
            author.now.into(),
        ],
    );
    statement.execute(transaction).await?;
    // The content now has a version.
    let statement = sql("DELETE FROM doubtful_blobs WHERE sha256 = ?", [file.sha256.as_str().into()]);
    statement.execute(transaction).await.map(drop)
}

/// Ids as names avoid collisions in the deleted folder.
pub(super) async fn move_into(
    transaction: &Transaction,
    tenant_id: i64,
    ids: &[String],
    directory_id: &str,
) -> store::Result<()> {
    let ids = Value::list(ids);
    let statement = sql(
        "UPDATE files SET directory_id = ?, name_key = id \
         WHERE +tenant_id = ? AND id IN (SELECT value FROM json_each(?))",
        [directory_id.into(), tenant_id.into(), ids],
    );
    statement.execute(transaction).await.map(drop)
}

#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub(super) struct FileContent {
    pub(super) version: i64,
    pub(super) store_key: String,
    pub(super) verdict: Option<String>,
}

pub(super) async fn find_content(
    connection: &Connection,
    tenant_id: i64,
    file_id: &str,
    version: i64,
) -> store::Result<Option<FileContent>> {
    let text = "SELECT version, store_key, verdict FROM file_versions JOIN blobs ON blobs.sha256 = file_versions.sha256 \
        WHERE file_id = ? AND version = ? AND tenant_id = ?";
    let values = [file_id.into(), version.into(), tenant_id.into()];
    sql(text, values).fetch_optional::<FileContent>(connection).await
}

/// A content's row before the content is kept.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub(super) struct NotedContent {
    /// Key to keep it under.
    pub(super) store_key: String,
    /// The scanner's finding in an unsafe one.
    pub(super) verdict: Option<String>,
}

/// Notes a content, which is in doubt until it has a version.
pub(super) async fn note_content(
    transaction: &Transaction,
    store: &str,
    content: &ComposedContent,
    now: i64,
) -> store::Result<NotedContent> {
    let size = i64::try_from(content.size).map_err(|error| DatabaseError::Encode(error.into()))?;
    let fresh_key = format!("{}-{}", content.sha256, uuid::Uuid::new_v4().simple());
    let statement = sql(
        "INSERT INTO blobs (sha256, size, store, store_key, created_at) VALUES (?, ?, ?, ?, ?) \
         ON CONFLICT (sha256) DO UPDATE SET store_key = blobs.store_key RETURNING store_key, verdict",
        [content.sha256.as_str().into(), size.into(), store.into(), fresh_key.into(), now.into()],
    );
    let noted = statement.fetch_one(transaction).await?;
    let doubt = sql(
        "INSERT INTO doubtful_blobs (sha256, noted_at) VALUES (?, ?) \
         ON CONFLICT (sha256) DO UPDATE SET noted_at = excluded.noted_at",
        [content.sha256.as_str().into(), now.into()],
    );
    doubt.execute(transaction).await?;
    Ok(noted)
}

/// Unless another commit has noted the content since.
pub(super) async fn withdraw_note(
    transaction: &Transaction,
    sha256: &str,
    noted_at: i64,
) -> store::Result<()> {
    let text = "UPDATE doubtful_blobs SET noted_at = 0 WHERE sha256 = ? AND noted_at = ?";
    sql(text, [sha256.into(), noted_at.into()]).execute(transaction).await.map(drop)
}

#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub(super) struct Upload {
    pub(super) id: String,
    pub(super) is_multipart: bool,
    pub(super) declared_bytes: Option<i64>,
    pub(super) declared_sha256: Option<String>,
    pub(super) root_id: Option<String>,
    pub(super) reserved_bytes: i64,
}

pub(super) async fn find_upload(
    connection: &Connection,
    tenant_id: i64,
    user_id: &str,
    upload_id: &str,
) -> store::Result<Option<Upload>> {
    let text = "SELECT id, is_multipart, declared_bytes, declared_sha256, root_id, reserved_bytes FROM uploads \
        WHERE id = ? AND +tenant_id = ? AND user_id = ?";
    let values = [upload_id.into(), tenant_id.into(), user_id.into()];
    sql(text, values).fetch_optional::<Upload>(connection).await
}

pub(super) async fn count_uploads(
    connection: &Connection,
    tenant_id: i64,
    user_id: &str,
) -> store::Result<i64> {
    let statement = sql(
        "SELECT COUNT(*) AS uploads FROM uploads WHERE tenant_id = ? AND user_id = ?",
        [tenant_id.into(), user_id.into()],
    );
    statement.fetch_value(connection).await
}

pub(super) async fn insert_upload(
    transaction: &Transaction,
    tenant_id: i64,
    user_id: &str,
    upload: &Upload,
    now: i64,
) -> store::Result<()> {
    let statement = sql(
        "INSERT INTO uploads (id, tenant_id, user_id, is_multipart, declared_bytes, declared_sha256, root_id, reserved_bytes, \
           created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            upload.id.as_str().into(),
            tenant_id.into(),
            user_id.into(),
            upload.is_multipart.into(),
            upload.declared_bytes.into(),
            upload.declared_sha256.as_deref().into(),
            upload.root_id.as_deref().into(),
            upload.reserved_bytes.into(),
            now.into(),
        ],
    );
    statement.execute(transaction).await.map(drop)
}

/// Its stored data becomes a leftover (`abandoned`).
pub(super) async fn remove_upload(transaction: &Transaction, upload_id: &str) -> store::Result<()> {
    sql("DELETE FROM uploads WHERE id = ?", [upload_id.into()]).execute(transaction).await.map(drop)
}
