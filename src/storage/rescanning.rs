//! Looking for harm in contents that are there already: what is known of harm grows, and a content was looked through once, before
//! its first file was there.

use futures::{StreamExt, stream};
use sea_orm::{ConnectionTrait, FromQueryResult};
use serde::Serialize;

use super::{
    BlobStore,
    verification::{NamedFile, files_of},
};
use crate::{
    error::{Kind, Result},
    scanner::{Scanner, Verdict},
    store::{ROWS_PER_STATEMENT, Store, sql},
};

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Contents that were looked through.
    pub contents: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Contents in which something was found.
    pub r#unsafe: Vec<Finding>,
    /// Contents in which something was found earlier, and nothing is now.
    pub cleared: Vec<Finding>,
    /// Contents that could not be looked through; what was known of them stays.
    pub not_scanned: Vec<Finding>,
}

impl Report {
    /// Whether everything was looked through and nothing was found.
    pub fn is_good(&self) -> bool {
        self.r#unsafe.is_empty() && self.not_scanned.is_empty()
    }
}

/// What there is to say of a content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Its SHA-256.
    pub sha256: String,
    /// What was found in it, or why it could not be looked through.
    pub reason: String,
    /// The versions of files that have it.
    pub files: Vec<NamedFile>,
}

/// A content as its row tells of it.
#[derive(Clone, Debug, FromQueryResult)]
struct Row {
    sha256: String,
    size: i64,
    store_key: String,
    verdict: Option<String>,
}

/// Looks through every content, `at_once` at the same time, and keeps what is found in the rows: such files are not given to anybody
/// from then on, until a later look finds nothing. `progress` hears how many contents have been looked through, of how many.
///
/// # Errors
/// The database fails; a content that cannot be looked through is a finding.
pub async fn rescan(
    rows: &Store,
    store: &dyn BlobStore,
    scanner: &dyn Scanner,
    at_once: usize,
    progress: impl Fn(u64, u64),
) -> Result<Report> {
    let count = rows.reader().query_one_raw(sql("SELECT COUNT(*) AS count FROM blobs", [])).await?;
    let count: i64 = count.map_or(Ok(0), |row| row.try_get("", "count"))?;
    let (mut report, mut after, mut looked_at) = (Report::default(), String::new(), 0);
    loop {
        let statement = sql(
            "SELECT sha256, size, store_key, verdict FROM blobs WHERE sha256 > ? ORDER BY sha256 LIMIT ?",
            [after.as_str().into(), (ROWS_PER_STATEMENT as u64).into()],
        );
        let portion = Row::find_by_statement(statement).all(rows.reader()).await?;
        let Some(last) = portion.last() else { return Ok(report) };
        after.clone_from(&last.sha256);
        let scans = portion.into_iter().map(async |row| (scan(store, scanner, &row).await, row));
        let mut scans = stream::iter(scans).buffered(at_once);
        while let Some((scanned, row)) = scans.next().await {
            note(rows, &mut report, &row, scanned).await?;
            looked_at += 1;
            progress(looked_at, u64::try_from(count).unwrap_or(0));
        }
    }
}

async fn scan(store: &dyn BlobStore, scanner: &dyn Scanner, row: &Row) -> Result<Verdict> {
    let size = u64::try_from(row.size).unwrap_or(0);
    scanner.scan(store.read(&row.store_key, 0..size).await?).await
}

/// Keeps what was found in a content, and adds it to the report.
async fn note(rows: &Store, report: &mut Report, row: &Row, scanned: Result<Verdict>) -> Result<()> {
    let found = match scanned {
        Ok(Verdict::Safe) => None,
        Ok(Verdict::Unsafe(what)) => Some(what),
        Err(error) => {
            // Its last file may have gone meanwhile, and it with that.
            if error.kind != Kind::NotFound || is_there(rows, &row.sha256).await? {
                report.not_scanned.push(finding(rows, row, error.message).await?);
            }
            return Ok(());
        }
    };
    report.contents += 1;
    report.bytes += u64::try_from(row.size).unwrap_or(0);
    if found != row.verdict {
        keep(rows, row.sha256.clone(), found.clone()).await?;
    }
    match (found, &row.verdict) {
        (Some(what), _) => report.r#unsafe.push(finding(rows, row, what).await?),
        (None, Some(earlier)) => report.cleared.push(finding(rows, row, earlier.clone()).await?),
        (None, None) => {}
    }
    Ok(())
}

async fn finding(rows: &Store, row: &Row, reason: String) -> Result<Finding> {
    let files = files_of(rows.reader(), &row.sha256).await?;
    Ok(Finding { sha256: row.sha256.clone(), reason, files })
}

async fn is_there(rows: &Store, sha256: &str) -> Result<bool> {
    let statement = sql("SELECT 1 FROM blobs WHERE sha256 = ?", [sha256.into()]);
    Ok(rows.reader().query_one_raw(statement).await?.is_some())
}

async fn keep(rows: &Store, sha256: String, verdict: Option<String>) -> Result<()> {
    let keeping = rows.write(move |transaction| {
        Box::pin(async move {
            let statement = "UPDATE blobs SET verdict = ? WHERE sha256 = ?";
            transaction.execute_raw(sql(statement, [verdict.into(), sha256.into()])).await?;
            Ok(())
        })
    });
    keeping.await
}
