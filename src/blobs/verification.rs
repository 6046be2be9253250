//! Verification of stored contents, rows and quota sums.
//!
//! Beside a live server each apparent fault is checked twice.

use std::collections::HashMap;

use aws_lc_rs::digest::{Context, SHA256};
use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;

use super::{BlobStore, Stored};
use crate::{
    error::{Error, ErrorKind, Result},
    store::{Connection, FromRow, ROWS_PER_STATEMENT, Store, find_in, sql},
};

const AT_ONCE: usize = 4;

const FILES_NAMED: u64 = 1_000;

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerificationReport {
    /// Contents read.
    pub contents: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Missing or changed contents.
    pub damaged: Vec<DamagedContent>,
    /// Store keys without a row.
    pub unknown: Vec<String>,
    /// Wrong sums.
    pub sums: Vec<WrongSum>,
}

impl VerificationReport {
    /// Whether everything is right.
    pub fn is_good(&self) -> bool {
        self.damaged.is_empty() && self.unknown.is_empty() && self.sums.is_empty()
    }
}

/// A missing or changed content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DamagedContent {
    /// The expected SHA-256.
    pub sha256: String,
    /// The problem.
    pub problem: String,
    /// The file versions with this content.
    pub files: Vec<NamedFile>,
}

/// A file version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, FromRow)]
#[serde(rename_all = "camelCase")]
pub struct NamedFile {
    /// Its tenant's code.
    pub tenant: String,
    /// The file's id.
    pub file_id: String,
    /// The version.
    pub version: i64,
    /// The file's name.
    pub name: String,
}

/// A stored sum that differs from the counted one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, FromRow)]
#[serde(rename_all = "camelCase")]
pub struct WrongSum {
    /// The kind: `tenant`, `root` or `file`.
    pub of: String,
    /// The tenant's code, or the id.
    pub id: String,
    /// Bytes in the row.
    pub told: i64,
    /// Bytes counted.
    pub counted: i64,
}

#[derive(Clone, Debug, FromRow)]
struct BlobRow {
    sha256: String,
    size: i64,
    store_key: String,
}

/// Verifies all contents and sums. `progress` receives the read count and the total.
///
/// # Errors
/// The database or the store's listing fails.
pub async fn verify(
    rows: &Store,
    store: &dyn BlobStore,
    progress: impl Fn(u64, u64) + Sync,
) -> Result<VerificationReport> {
    let mut report = VerificationReport::default();
    read_all(rows.reader(), store, &mut report, progress).await?;
    look_for_unknown(rows.reader(), store, &mut report).await?;
    report.sums = wrong_sums(rows.reader()).await?;
    Ok(report)
}

async fn read_all(
    reader: &Connection,
    store: &dyn BlobStore,
    report: &mut VerificationReport,
    progress: impl Fn(u64, u64),
) -> Result<()> {
    let count = sql("SELECT COUNT(*) AS count FROM blobs", []).count(reader).await?;
    let mut after = String::new();
    loop {
        let statement = sql(
            "SELECT sha256, size, store_key FROM blobs WHERE sha256 > ? ORDER BY sha256 LIMIT ?",
            [after.as_str().into(), (ROWS_PER_STATEMENT as u64).into()],
        );
        let portion = statement.fetch_all::<BlobRow>(reader).await?;
        let Some(last) = portion.last() else { return Ok(()) };
        after.clone_from(&last.sha256);
        let mut looks = stream::iter(portion).map(|row| look_twice(reader, store, row)).buffered(AT_ONCE);
        while let Some((size, damaged)) = looks.try_next().await? {
            report.contents += 1;
            report.bytes += size;
            report.damaged.extend(damaged);
            progress(report.contents, count);
        }
    }
}

async fn look_twice(
    reader: &Connection,
    store: &dyn BlobStore,
    row: BlobRow,
) -> Result<(u64, Option<DamagedContent>)> {
    let size = u64::try_from(row.size).unwrap_or(0);
    if problem_of(store, &row, size).await.is_none() {
        return Ok((size, None));
    }
    let is_there = "SELECT sha256, size, store_key FROM blobs WHERE sha256";
    let still: Vec<BlobRow> = find_in(reader, is_there, &[], std::slice::from_ref(&row.sha256)).await?;
    // A content with a file before and after the second check existed throughout.
    let files_before = files_of(reader, &row.sha256).await?;
    let (Some(row), Some((problem, is_missing))) = (still.first(), problem_of(store, &row, size).await)
    else {
        return Ok((size, None));
    };
    let files = files_of(reader, &row.sha256).await?;
    let is_on_its_way = is_missing && (files_before.is_empty() || files.is_empty());
    Ok((size, (!is_on_its_way).then(|| DamagedContent { sha256: row.sha256.clone(), problem, files })))
}

async fn problem_of(store: &dyn BlobStore, row: &BlobRow, size: u64) -> Option<(String, bool)> {
    match hash(store, row, size).await {
        Ok(sha256) if sha256 == row.sha256 => None,
        Ok(sha256) => Some((format!("its SHA-256 is {sha256}"), false)),
        Err(error) if error.kind == ErrorKind::NotFound => Some(("it is missing".to_owned(), true)),
        Err(error) => Some((format!("it cannot be read: {error}"), false)),
    }
}

async fn hash(store: &dyn BlobStore, row: &BlobRow, size: u64) -> Result<String> {
    let mut pieces = store.read(&row.store_key, 0..size).await?;
    let mut hash = Context::new(&SHA256);
    while let Some(piece) = pieces.try_next().await? {
        hash = tokio::task::spawn_blocking(move || {
            hash.update(&piece);
            hash
        })
        .await
        .map_err(Error::internal)?;
    }
    Ok(hex::encode(hash.finish()))
}

pub(super) async fn files_of(reader: &Connection, sha256: &str) -> Result<Vec<NamedFile>> {
    let statement = sql(
        "SELECT tenants.code AS tenant, files.id AS file_id, file_versions.version, files.name FROM file_versions \
         JOIN files ON files.id = file_versions.file_id JOIN tenants ON tenants.id = files.tenant_id \
         WHERE file_versions.sha256 = ? ORDER BY files.sequence, file_versions.version LIMIT ?",
        [sha256.into(), FILES_NAMED.into()],
    );
    Ok(statement.fetch_all::<NamedFile>(reader).await?)
}

async fn look_for_unknown(
    reader: &Connection,
    store: &dyn BlobStore,
    report: &mut VerificationReport,
) -> Result<()> {
    let mut listed = store.list().await?.try_chunks(ROWS_PER_STATEMENT);
    while let Some(portion) = listed.next().await {
        let portion: Vec<Stored> = portion.map_err(|failed| failed.1)?;
        // A row in one of two tables is written before a content and deleted after it.
        let rows = rows_of(reader, &portion).await?;
        let by_key: HashMap<&str, &BlobRow> = rows.iter().map(|row| (row.store_key.as_str(), row)).collect();
        for Stored { store_key, size } in portion {
            let Some(row) = by_key.get(store_key.as_str()) else {
                if is_still_unknown(reader, store, &store_key).await? {
                    report.unknown.push(store_key);
                }
                continue;
            };
            let is_told = report.damaged.iter().any(|damaged| damaged.sha256 == row.sha256);
            // An overlong content still has the expected hash over its beginning.
            if !is_told && u64::try_from(row.size) != Ok(size) {
                let problem = format!("it has {size} bytes, not {}", row.size);
                let files = files_of(reader, &row.sha256).await?;
                report.damaged.push(DamagedContent { sha256: row.sha256.clone(), problem, files });
            }
        }
    }
    Ok(())
}

async fn is_still_unknown(reader: &Connection, store: &dyn BlobStore, store_key: &str) -> Result<bool> {
    // The reads follow the order in which a sweep moves a key between tables and then removes its content.
    let stored = Stored { store_key: store_key.to_owned(), size: 0 };
    let leaves = sql("SELECT 1 FROM removed_blobs WHERE store_key = ?", [store_key.into()]);
    if !rows_of(reader, &[stored]).await?.is_empty() || leaves.exists(reader).await? {
        return Ok(false);
    }
    let read = store.read(store_key, 0..0).await;
    // An unreadable content exists.
    Ok(!read.is_err_and(|error| error.kind == ErrorKind::NotFound))
}

async fn rows_of(reader: &Connection, stored: &[Stored]) -> Result<Vec<BlobRow>> {
    let keys: Vec<&str> = stored.iter().map(|stored| stored.store_key.as_str()).collect();
    let text = "SELECT sha256, size, store_key FROM blobs WHERE store_key";
    Ok(find_in(reader, text, &[], &keys).await?)
}

/// Finds wrong sums; each statement reads one snapshot.
async fn wrong_sums(reader: &Connection) -> Result<Vec<WrongSum>> {
    // Removed folders are below no root. Removed tenants vanish in batches and are skipped.
    let live = "WITH RECURSIVE tree (root_id, tenant_id, id) AS ( \
            SELECT id, tenant_id, id FROM directories WHERE subject IS NOT NULL AND removed_at IS NULL \
              AND tenant_id IN (SELECT id FROM tenants WHERE removed_at IS NULL) \
            UNION ALL \
            SELECT root_id, tree.tenant_id, below.id FROM directories AS below JOIN tree ON below.parent_id = tree.id), \
          live (root_id, tenant_id, bytes) AS ( \
            SELECT root_id, tree.tenant_id, SUM(stored_bytes) FROM tree JOIN files ON files.directory_id = tree.id \
            GROUP BY root_id, tree.tenant_id)";
    let statements = [
        format!(
            "SELECT of, id, told, counted FROM ({live} SELECT 'tenant' AS of, code AS id, file_bytes AS told, \
               CAST(COALESCE((SELECT SUM(bytes) FROM live WHERE live.tenant_id = tenants.id), 0) AS BIGINT) AS counted \
             FROM tenants WHERE removed_at IS NULL) AS sums WHERE told <> counted ORDER BY id"
        ),
        format!(
            "SELECT of, id, told, counted FROM ({live} SELECT 'root' AS of, sequence, directories.id, file_bytes AS told, \
               CAST(COALESCE((SELECT bytes FROM live WHERE live.root_id = directories.id), 0) AS BIGINT) AS counted \
             FROM directories WHERE id IN (SELECT root_id FROM tree WHERE tree.id = root_id)) AS sums \
             WHERE told <> counted ORDER BY sequence"
        ),
        format!(
            "SELECT of, id, told, counted FROM ({live} SELECT 'file' AS of, sequence, id, stored_bytes AS told, \
               CAST(COALESCE((SELECT SUM(size) FROM file_versions WHERE file_id = files.id), 0) AS BIGINT) AS counted \
             FROM files WHERE directory_id IN (SELECT id FROM tree)) AS sums \
             WHERE told <> counted ORDER BY sequence"
        ),
    ];
    let mut wrong = Vec::new();
    for statement in statements {
        wrong.extend(sql(statement, []).fetch_all::<WrongSum>(reader).await?);
    }
    Ok(wrong)
}
