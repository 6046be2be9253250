//! Rescan of stored contents with newer malware signatures.

use futures::{StreamExt, stream};
use serde::Serialize;

use super::{
    BlobStore,
    verification::{NamedFile, files_of},
};
use crate::{
    blobs::scanning::{Scanner, Verdict},
    error::{ErrorKind, Result},
    store::{FromRow, ROWS_PER_STATEMENT, Store, sql},
};

/// The result of a rescan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RescanReport {
    /// Scanned contents.
    pub contents: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Infected contents.
    pub r#unsafe: Vec<ScanFinding>,
    /// Formerly infected contents that are now clean.
    pub cleared: Vec<ScanFinding>,
    /// Contents that could not be scanned; their status stays.
    pub not_scanned: Vec<ScanFinding>,
}

impl RescanReport {
    /// Whether everything was scanned and is clean.
    pub fn is_good(&self) -> bool {
        self.r#unsafe.is_empty() && self.not_scanned.is_empty()
    }
}

/// A finding about one content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScanFinding {
    /// Its SHA-256.
    pub sha256: String,
    /// The malware, or the reason for the missing scan.
    pub reason: String,
    /// The file versions with this content.
    pub files: Vec<NamedFile>,
}

#[derive(Clone, Debug, FromRow)]
struct ScannedBlobRow {
    sha256: String,
    size: i64,
    store_key: String,
    verdict: Option<String>,
}

/// Scans all contents, `at_once` in parallel, and stores the verdicts.
///
/// Infected files cannot be downloaded until cleared. `progress` receives the scanned count and the total.
///
/// # Errors
/// The database fails. A failed scan is a finding.
pub async fn rescan(
    rows: &Store,
    store: &dyn BlobStore,
    scanner: &dyn Scanner,
    at_once: usize,
    progress: impl Fn(u64, u64),
) -> Result<RescanReport> {
    let count = sql("SELECT COUNT(*) AS count FROM blobs", []).count(rows.reader()).await?;
    let (mut report, mut after, mut looked_at) = (RescanReport::default(), String::new(), 0);
    loop {
        let statement = sql(
            "SELECT sha256, size, store_key, verdict FROM blobs WHERE sha256 > ? ORDER BY sha256 LIMIT ?",
            [after.as_str().into(), (ROWS_PER_STATEMENT as u64).into()],
        );
        let portion = statement.fetch_all::<ScannedBlobRow>(rows.reader()).await?;
        let Some(last) = portion.last() else { return Ok(report) };
        after.clone_from(&last.sha256);
        let scans = portion.into_iter().map(async |row| (scan(store, scanner, &row).await, row));
        let mut scans = stream::iter(scans).buffered(at_once);
        while let Some((scanned, row)) = scans.next().await {
            note(rows, &mut report, &row, scanned).await?;
            looked_at += 1;
            progress(looked_at, count);
        }
    }
}

async fn scan(store: &dyn BlobStore, scanner: &dyn Scanner, row: &ScannedBlobRow) -> Result<Verdict> {
    let size = u64::try_from(row.size).unwrap_or(0);
    scanner.scan(store.read(&row.store_key, 0..size).await?).await
}

async fn note(
    rows: &Store,
    report: &mut RescanReport,
    row: &ScannedBlobRow,
    scanned: Result<Verdict>,
) -> Result<()> {
    let found = match scanned {
        Ok(Verdict::Safe) => None,
        Ok(Verdict::Unsafe(what)) => Some(what),
        Err(error) => {
            // The content may have been removed with its last file meanwhile.
            if error.kind != ErrorKind::NotFound || is_there(rows, &row.sha256).await? {
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

async fn finding(rows: &Store, row: &ScannedBlobRow, reason: String) -> Result<ScanFinding> {
    let files = files_of(rows.reader(), &row.sha256).await?;
    Ok(ScanFinding { sha256: row.sha256.clone(), reason, files })
}

async fn is_there(rows: &Store, sha256: &str) -> Result<bool> {
    let statement = sql("SELECT 1 FROM blobs WHERE sha256 = ?", [sha256.into()]);
    Ok(statement.exists(rows.reader()).await?)
}

async fn keep(rows: &Store, sha256: String, verdict: Option<String>) -> Result<()> {
    let keeping = rows.write(move |transaction| {
        Box::pin(async move {
            let statement = "UPDATE blobs SET verdict = ? WHERE sha256 = ?";
            sql(statement, [verdict.into(), sha256.into()]).execute(transaction).await?;
            Ok(())
        })
    });
    keeping.await
}
