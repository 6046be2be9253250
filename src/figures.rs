//! Stored figures of searches.
//!
//! Hours of the last week, days (UTC) of the weeks before.

use std::collections::{BTreeMap, BTreeSet};

use trawl_search::figures::{FigureSubject, Figures, HOUR, HourlyCounts, MAX_SUBJECTS, SearchCounts};

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

/// A length of time with figures of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// An hour.
    Hour,
    /// A day, from midnight to midnight by UTC.
    Day,
}

impl Span {
    fn hours(self) -> i64 {
        match self {
            Self::Hour => 1,
            Self::Day => 24,
        }
    }

    /// The start of the span that holds a time.
    pub fn start_of(self, time: i64) -> i64 {
        let length = self.hours() * HOUR;
        time.div_euclid(length).saturating_mul(length)
    }
}

/// A module or source by its kind and id.
pub type Subject = (FigureSubject, String);

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
    let mut hours: BTreeMap<(i64, i64), BTreeMap<Subject, SearchCounts>> = BTreeMap::new();
    for HourlyCounts { tenant_id, at, kind, id, counts } in &taken {
        hours.entry((*tenant_id, *at)).or_default().insert((*kind, id.clone()), counts.clone());
    }
    let job = store.write(move |transaction| {
        Box::pin(async move {
            for ((tenant_id, at), counts) in hours {
                add(transaction, tenant_id, (Span::Hour, at), counts).await?;
            }
            Ok(())
        })
    });
    let written = job.await;
    if written.is_err() {
        figures.put_back(&taken);
    }
    written
}

/// Adds to the figures of one span, unless the tenant is removed.
async fn add(
    transaction: &Transaction,
    tenant_id: i64,
    (span, at): (Span, i64),
    added: BTreeMap<Subject, SearchCounts>,
) -> store::Result<()> {
    let tenant = sql("SELECT 1 FROM tenants WHERE id = ? AND removed_at IS NULL", [tenant_id.into()]);
    if !tenant.exists(transaction).await? {
        return Ok(());
    }
    let mut sums = sums(read(transaction, tenant_id, span, at..at + 1).await?);
    let mut changed = BTreeSet::new();
    for (subject, counts) in added {
        let others = sums.keys().filter(|(kind, _)| *kind == subject.0).count();
        if others < MAX_SUBJECTS || sums.contains_key(&subject) {
            sums.entry(subject.clone()).or_default().add(&counts);
            changed.insert(subject);
        }
    }
    sums.retain(|subject, _| changed.contains(subject));
    let rows: Vec<_> = sums.into_iter().collect();
    for batch in rows.chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "INSERT INTO figures (tenant_id, hours, at, kind, subject_id, counts) VALUES {} \
             ON CONFLICT (tenant_id, hours, at, kind, subject_id) DO UPDATE SET counts = excluded.counts",
            vec!["(?, ?, ?, ?, ?, ?)"; batch.len()].join(", ")
        );
        let values = batch.iter().flat_map(|((kind, id), counts)| -> [Value; 6] {
            [
                tenant_id.into(),
                span.hours().into(),
                at.into(),
                kind_name(*kind).into(),
                id.into(),
                counts.pack().into(),
            ]
        });
        sql(text, values).execute(transaction).await?;
    }
    Ok(())
}

fn sums(rows: Vec<FigureRow>) -> BTreeMap<Subject, SearchCounts> {
    let mut sums: BTreeMap<Subject, SearchCounts> = BTreeMap::new();
    for row in rows {
        sums.entry(row.subject()).or_default().add(&SearchCounts::unpack(&row.counts));
    }
    sums
}

async fn read(
    connection: &Connection,
    tenant_id: i64,
    span: Span,
    times: std::ops::Range<i64>,
) -> store::Result<Vec<FigureRow>> {
    let statement = sql(
        "SELECT at, kind, subject_id, counts FROM figures \
         WHERE tenant_id = ? AND hours = ? AND at >= ? AND at < ? ORDER BY at",
        [tenant_id.into(), span.hours().into(), times.start.into(), times.end.into()],
    );
    statement.fetch_all(connection).await
}

/// Stored figures of a tenant by subject and start of span.
pub async fn list(
    connection: &Connection,
    tenant_id: i64,
    span: Span,
    times: std::ops::Range<i64>,
) -> Result<BTreeMap<Subject, BTreeMap<i64, SearchCounts>>> {
    let mut rows = read(connection, tenant_id, Span::Hour, times.clone()).await?;
    if span == Span::Day {
        rows.append(&mut read(connection, tenant_id, Span::Day, times).await?);
    }
    let mut found: BTreeMap<Subject, BTreeMap<i64, SearchCounts>> = BTreeMap::new();
    for row in rows {
        let points = found.entry(row.subject()).or_default();
        points.entry(span.start_of(row.at)).or_default().add(&SearchCounts::unpack(&row.counts));
    }
    Ok(found)
}

/// Folds the hours of one old day and removes expired days.
///
/// Returns whether none is left.
pub async fn fold_portion(store: &Store, now: i64) -> Result<bool> {
    let today = Span::Day.start_of(now);
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
            let day = Span::Day.start_of(at);
            let hours = read(transaction, tenant_id, Span::Hour, day..day + DAY).await?;
            add(transaction, tenant_id, (Span::Day, day), sums(hours)).await?;
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
