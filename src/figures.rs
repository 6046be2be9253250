//! Stored figures of searches.
//!
//! Hours of the last week, days (UTC) of the weeks before.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trawl_search::figures::{FigureSubject, Figures, HOUR, SearchCounts, Subject, SubjectCounts, counts_of};

use crate::{
    error::Result,
    store::{self, Connection, FromRow, ROWS_PER_STATEMENT, Store, Transaction, Value, sql},
};

/// Milliseconds of a day.
pub const DAY: i64 = 24 * HOUR;
/// Days whose hours are kept apart.
pub const DAYS_OF_HOURS: i64 = 7;
/// Days that are kept.
pub const DAYS: i64 = 8 * 7;

/// The length of time of a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// An hour.
    #[default]
    Hour,
    /// A day, from midnight to midnight by UTC.
    Day,
}

impl Step {
    fn hours(self) -> i64 {
        match self {
            Self::Hour => 1,
            Self::Day => 24,
        }
    }

    /// The start of the hour or day that holds a time.
    pub fn start_of(self, time: i64) -> i64 {
        let length = self.hours() * HOUR;
        time.div_euclid(length).saturating_mul(length)
    }
}

#[derive(Debug, FromRow)]
struct FigureRow {
    at: i64,
    kind: String,
    subject_id: String,
    counts: Vec<u8>,
}

impl FigureRow {
    fn subject(&self) -> Subject {
        let kind = if self.kind == kind_name(FigureSubject::Module) {
            FigureSubject::Module
        } else {
            FigureSubject::Source
        };
        (kind, self.subject_id.clone())
    }
}

fn kind_name(kind: FigureSubject) -> &'static str {
    match kind {
        FigureSubject::Module => "module",
        FigureSubject::Source => "source",
    }
}

/// Stores the figures of this replica beside those of others.
pub async fn write_down(store: &Store, figures: &Figures) -> Result<()> {
    let taken = figures.take();
    if taken.is_empty() {
        return Ok(());
    }
    let hours = taken.clone();
    let job = store.write(move |transaction| {
        Box::pin(async move {
            for ((tenant_id, at), counts) in hours {
                add(transaction, tenant_id, (Step::Hour, at), counts).await?;
            }
            Ok(())
        })
    });
    let written = job.await;
    if written.is_err() {
        figures.put_back(taken);
    }
    written
}

/// Adds to the figures of one hour or day, unless the tenant is removed.
async fn add(
    transaction: &Transaction,
    tenant_id: i64,
    (step, at): (Step, i64),
    added: SubjectCounts,
) -> store::Result<()> {
    let tenant = sql("SELECT 1 FROM tenants WHERE id = ? AND removed_at IS NULL", [tenant_id.into()]);
    if !tenant.exists(transaction).await? {
        return Ok(());
    }
    let mut sums = sums(read(transaction, tenant_id, step, at..at + 1).await?);
    let mut rows = Vec::new();
    for (subject, counts) in added {
        if let Some(sum) = counts_of(&mut sums, subject.clone()) {
            sum.add(&counts);
            rows.push((subject, sum.pack()));
        }
    }
    for batch in rows.chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "INSERT INTO figures (tenant_id, hours, at, kind, subject_id, counts) VALUES {} \
             ON CONFLICT (tenant_id, hours, at, kind, subject_id) DO UPDATE SET counts = excluded.counts",
            vec!["(?, ?, ?, ?, ?, ?)"; batch.len()].join(", ")
        );
        let values = batch.iter().flat_map(|((kind, id), counts)| -> [Value; 6] {
            [
                tenant_id.into(),
                step.hours().into(),
                at.into(),
                kind_name(*kind).into(),
                id.into(),
                counts.as_slice().into(),
            ]
        });
        sql(text, values).execute(transaction).await?;
    }
    Ok(())
}

fn sums(rows: Vec<FigureRow>) -> SubjectCounts {
    let mut sums = SubjectCounts::new();
    for row in rows {
        sums.entry(row.subject()).or_default().add(&SearchCounts::unpack(&row.counts));
    }
    sums
}

async fn read(
    connection: &Connection,
    tenant_id: i64,
    step: Step,
    times: std::ops::Range<i64>,
) -> store::Result<Vec<FigureRow>> {
    let statement = sql(
        "SELECT at, kind, subject_id, counts FROM figures \
         WHERE tenant_id = ? AND hours = ? AND at >= ? AND at < ? ORDER BY at",
        [tenant_id.into(), step.hours().into(), times.start.into(), times.end.into()],
    );
    statement.fetch_all(connection).await
}

/// Stored figures of a tenant by subject and start of the hour or day.
pub async fn list(
    connection: &Connection,
    tenant_id: i64,
    step: Step,
    times: std::ops::Range<i64>,
) -> Result<BTreeMap<Subject, BTreeMap<i64, SearchCounts>>> {
    let mut rows = read(connection, tenant_id, Step::Hour, times.clone()).await?;
    if step == Step::Day {
        rows.append(&mut read(connection, tenant_id, Step::Day, times).await?);
    }
    let mut found: BTreeMap<Subject, BTreeMap<i64, SearchCounts>> = BTreeMap::new();
    for row in rows {
        let points = found.entry(row.subject()).or_default();
        points.entry(step.start_of(row.at)).or_default().add(&SearchCounts::unpack(&row.counts));
    }
    Ok(found)
}

/// Folds the hours of one old day and removes expired days.
///
/// Returns whether none is left.
pub async fn fold_portion(store: &Store, now: i64) -> Result<bool> {
    let today = Step::Day.start_of(now);
    let (whole, kept) = (today - DAYS_OF_HOURS * DAY, today - DAYS * DAY);
    let old = sql(
        "SELECT 1 FROM figures WHERE hours = 1 AND at < ? UNION ALL SELECT 1 FROM figures WHERE hours = 24 AND at < ?",
        [whole.into(), kept.into()],
    );
    if !old.exists(store.reader()).await? {
        return Ok(true);
    }
    let job = store.write(move |transaction| {
        Box::pin(async move {
            let outdated = sql("DELETE FROM figures WHERE hours IN (1, 24) AND at < ?", [kept.into()]);
            outdated.execute(transaction).await?;
            let next = sql(
                "SELECT tenant_id, at FROM figures WHERE hours = 1 AND at < ? ORDER BY at LIMIT 1",
                [whole.into()],
            );
            let Some((tenant_id, at)) = next.fetch_optional::<(i64, i64)>(transaction).await? else {
                return Ok(true);
            };
            let day = Step::Day.start_of(at);
            let hours = read(transaction, tenant_id, Step::Hour, day..day + DAY).await?;
            add(transaction, tenant_id, (Step::Day, day), sums(hours)).await?;
            let folded = sql(
                "DELETE FROM figures WHERE tenant_id = ? AND hours = 1 AND at >= ? AND at < ?",
                [tenant_id.into(), day.into(), (day + DAY).into()],
            );
            folded.execute(transaction).await?;
            Ok(false)
        })
    });
    job.await
}
