//! Reads the rows of a query in another database.

mod connection;
mod database;
mod dialect;
mod frontier;
mod moment;
mod page;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trawl_connectors::grouped;

pub use self::database::serve as serve_sqlite;
use self::{
    connection::OUT_OF_MEMORY,
    database::Database,
    frontier::Frontier,
    page::{Begin, Columns, Cursor, OWN_COLUMNS, PageRows, SHORT_CHARACTERS},
};
use super::{
    batch::{ItemBatch, RunProgress},
    entries::{self, read_entries},
    forms::SqlQuery,
    origins::check_address,
    report::{EntryProblem, RunOutcome},
    run::{FinishedRun, Run, RunStop},
};
use crate::{
    confined::limits::ReaderMemory,
    error::Error,
    rows::row::{Rejection, truncate},
};

/// Rows that are committed so much later than greater cursors are found.
const OVERLAP: i64 = 10 * 60_000;
/// Maximum bytes of a cursor that is shown.
const SHOWN_BYTES: usize = 100;
const SUPERUSER: &str = "sql.address: its user is a superuser, whom the read-only transaction does not keep from writing; give one \
                         that may only read";
const NO_ORDER: &str = "is no whole number, time or text of at most 8,192 characters";

/// The places where runs begin.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct QueryPosition {
    /// The cursor with whose rows the next run begins; absent at first.
    begin: Option<Cursor>,
    /// The end of a run; `begin` once a run began [`OVERLAP`] later.
    end: Option<TimedCursor>,
    /// The place where a run was cut off, and its begin.
    cut: Option<TimedCursor>,
    /// Whether single rows with odd cursors did not move it, as they did in earlier versions.
    is_guarded: bool,
}

/// A cursor and a time.
#[derive(Debug, Deserialize, Serialize)]
struct TimedCursor {
    cursor: Cursor,
    at: i64,
}

impl QueryPosition {
    /// Reads a stored position. One of an earlier version begins anew.
    fn read(text: &str) -> Self {
        let stored = serde_json::from_str(text).ok().filter(|position: &Self| position.is_guarded);
        Self { is_guarded: true, ..stored.unwrap_or_default() }
    }

    /// The cursor with whose rows a run begins.
    fn first(&self) -> Option<&Cursor> {
        self.cut.as_ref().map(|cut| &cut.cursor).or(self.begin.as_ref())
    }

    /// Ends a run that began at this time.
    ///
    /// Rows of later commits have at least the cursor `begin`.
    ///
    /// Rows that are late by more than [`OVERLAP`] may have a smaller one.
    fn end_run(&mut self, begun_at: i64, end: Option<TimedCursor>) {
        self.cut = None;
        if self.end.as_ref().is_none_or(|end| end.at <= begun_at - OVERLAP) {
            self.begin = self.end.take().map(|end| end.cursor).or(self.begin.take());
            self.end = end;
        }
    }
}

/// A page of rows.
struct QueryPage {
    rows: Vec<Map<String, Value>>,
    /// Rows whose ids are too long.
    refused: Vec<Rejection>,
    /// Cursors and ids that order the rows.
    places: Vec<(Cursor, String)>,
    /// Rows whose cursors are of a type that does not order them.
    unordered: Vec<(Cursor, String)>,
    is_last: bool,
}

/// Reads new and changed rows, page by page.
pub(super) async fn read(
    run: &mut Run<'_>,
    sql: &SqlQuery,
    password: Option<&SecretString>,
) -> Result<FinishedRun, RunStop> {
    let state = &run.runner.state;
    check_address(&sql.address, &state.folders, &state.databases)
        .map_err(|error| RunStop::failed(error.message))?;
    let mut database =
        Database::connect(&sql.address, password, &state.folders, (&run.runner.readers, run.asker()))
            .await
            .map_err(RunStop::failed)?;
    let read = read_pages(run, sql, &mut database).await;
    database.close().await;
    read
}

async fn read_pages(
    run: &mut Run<'_>,
    sql: &SqlQuery,
    database: &mut Database,
) -> Result<FinishedRun, RunStop> {
    let state = &run.runner.state;
    let mut position = QueryPosition::read(&run.begun.position);
    let begun_at = position.cut.as_ref().map_or_else(|| state.clock.now(), |cut| cut.at);
    let is_whole = position.begin.is_none() && position.cut.is_none();
    let begun_with = position.first().cloned();
    let columns = database.columns(&sql.query).await.map_err(RunStop::failed)?;
    let columns = Columns::find(sql.kind(), &columns, &sql.cursor_column).map_err(RunStop::failed)?;
    if database.is_superuser().await {
        run.note([SUPERUSER.to_owned()]);
    }
    let mut frontier = Frontier::new(database.zone_millis().await, position.first());
    let mut last: Option<(Cursor, String)> = None;
    loop {
        let begin = match (&last, position.first()) {
            (Some((cursor, id)), _) => Begin::Behind(cursor, id),
            (None, Some(cursor)) => Begin::At(cursor),
            (None, None) => Begin::First,
        };
        let statement = page::statement(sql.kind(), &sql.query, &columns, begin);
        let rows = match database.rows(statement).await {
            Err(reason) if reason == OUT_OF_MEMORY => Err(name_long_column(database, sql, &columns).await),
            rows => rows,
        };
        let rows = rows.map_err(RunStop::failed)?;
        let page = read_page(sql, &columns, rows).map_err(RunStop::failed)?;
        let page_end = page.places.last().cloned();
        let is_some_ordered =
            page_end.is_some() || page.is_last && (last.is_some() || position.first().is_some());
        if !page.unordered.is_empty() && !is_some_ordered {
            return Err(RunStop::failed("sql.cursorColumn: must hold whole numbers, times or texts"));
        }
        if page_end.is_some() && page_end == last {
            return Err(RunStop::failed("sql.cursorColumn: must order the rows of the query"));
        }
        for (cursor, id) in page.unordered {
            run.pass_over(problem(cursor, id, NO_ORDER));
        }
        let now = state.clock.now();
        for (cursor, id) in page.places {
            if let Some(reason) = frontier.pass(&cursor, now) {
                run.pass_over(problem(cursor, id, reason));
            }
        }
        let id = &run.begun.settings.id;
        let (rows, mut refused) = entries::prepare(page.rows);
        refused.extend(page.refused);
        let items = run.take(read_entries(id, rows, refused)?)?;
        let items = run.write_but_last(items).await?;
        last = page_end.or(last);
        let mark = |at| frontier.reached().map(|cursor| TimedCursor { cursor: cursor.clone(), at });
        if page.is_last {
            position.end_run(begun_at, mark(state.clock.now()));
        } else {
            position.cut = mark(begun_at).or(position.cut.take());
        }
        let next = serde_json::to_string(&position).map_err(Error::internal)?;
        let batch = ItemBatch { items, gone: Vec::new() };
        if page.is_last {
            let outcome = RunOutcome::Read;
            return Ok(FinishedRun { outcome, position: Some(next), batch, is_whole });
        }
        run.write(batch, RunProgress::Page(next)).await?;
        // A run that stops where it began would read the same rows again.
        if position.first() != begun_with.as_ref() {
            run.give_way()?;
        }
    }
}

/// Says which column a process could not sort by.
async fn name_long_column(database: &mut Database, sql: &SqlQuery, columns: &Columns) -> String {
    let found = database.rows((page::lengths(sql.kind(), &sql.query, columns), Vec::new())).await;
    let found = found.ok().and_then(|mut found| found.rows.pop()).unwrap_or_default();
    let long = ["id", "sql.cursorColumn"].into_iter().zip(found).filter_map(|(column, bytes)| {
        let bytes: usize = bytes?.parse().ok()?;
        (bytes > SHORT_CHARACTERS).then(|| format!("{column} has values of up to {} bytes", grouped(bytes)))
    });
    let long: Vec<String> = long.collect();
    let most = ReaderMemory::Large.mib();
    if long.is_empty() {
        return format!(
            "sql.query: takes more than {most} MiB of memory; it must give fewer or shorter rows"
        );
    }
    format!(
        "sql.query: cannot be sorted in {most} MiB of memory: {}; give shorter ones, such as substr(…, 1, 200)",
        long.join(", ")
    )
}

fn read_page(sql: &SqlQuery, columns: &Columns, page: PageRows) -> Result<QueryPage, String> {
    let (is_last, count) = (!page.is_full(), page.rows.len());
    let (mut read, mut places, mut unordered) = (Vec::with_capacity(count), Vec::new(), Vec::new());
    let mut refused = Vec::new();
    let is_long = |text: &str| text.chars().nth(SHORT_CHARACTERS).is_some();
    for (number, mut row) in (1..).zip(page.rows) {
        let own = row.split_off(row.len().saturating_sub(OWN_COLUMNS));
        let fields = columns.fields.iter().zip(row).filter_map(|((field, _), text)| {
            let text = text?;
            let number = (*field == "displayTime").then(|| text.parse::<i64>().ok()).flatten();
            Some(((*field).to_owned(), number.map_or(Value::String(text), Value::from)))
        });
        match own.first() {
            Some(Some(id)) if is_long(id) => {
                let reason = format!("id: must be at most {} characters", grouped(SHORT_CHARACTERS));
                refused.push(Rejection::row(number, Some(id.clone()), reason));
            }
            _ => read.push(fields.collect()),
        }
        // A row without an id is refused as an entry.
        let [Some(id), Some(text), Some(data_type)] = <[_; OWN_COLUMNS]>::try_from(own).unwrap_or_default()
        else {
            continue;
        };
        let is_ordered = sql.kind().can_compare(&data_type) && !is_long(&text);
        let place = (Cursor { text, data_type }, id);
        if is_ordered { places.push(place) } else { unordered.push(place) }
    }
    if places.is_empty() && unordered.is_empty() && !is_last {
        return Err(format!("sql.query: gives {count} rows without an id"));
    }
    Ok(QueryPage { rows: read, refused, places, unordered, is_last })
}

/// Names a row that does not move the cursor.
fn problem(cursor: Cursor, id: String, reason: &str) -> EntryProblem {
    let mut text = cursor.text;
    truncate(&mut text, SHOWN_BYTES);
    entries::problem(
        Some(id),
        format!("sql.cursorColumn: {text:?} {reason}; the row does not move the cursor"),
    )
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    const MINUTE: i64 = 60_000;

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        /// Cursors are the times at which rows got them.
        #[test]
        fn rows_are_found_that_are_committed_late(
            runs in vec((0..30 * MINUTE, 0..5 * MINUTE), 1..20),
            rows in vec((0..200 * MINUTE, 0..=OVERLAP), 0..50),
        ) {
            let (mut position, mut now, mut found) = (QueryPosition::default(), 0, vec![false; rows.len()]);
            for (pause, duration) in runs {
                let begun_at = now + pause;
                now = begun_at + duration;
                let begin = position.begin.as_ref().map_or(0, |cursor| cursor.text.parse().unwrap());
                // The last row that is committed during the run may be read alone.
                let last = rows.iter().filter(|(at, late)| *at >= begin && at + late <= now).map(|(at, _)| *at).max();
                for ((at, late), found) in rows.iter().zip(&mut found) {
                    *found |= *at >= begin && at + late <= begun_at;
                    prop_assert!(*found || at + late > begun_at);
                }
                let cursor = |at: i64| Cursor { text: at.to_string(), data_type: "INT8".to_owned() };
                position.end_run(begun_at, last.map(|at| TimedCursor { cursor: cursor(at), at: now }));
            }
        }
    }

    #[test]
    fn position_of_an_earlier_version_begins_anew() {
        let cursor = Cursor { text: "infinity".to_owned(), data_type: "TIMESTAMPTZ".to_owned() };
        let mut position = QueryPosition { begin: Some(cursor), ..QueryPosition::default() };
        let stored = |position: &QueryPosition| serde_json::to_string(position).unwrap();
        let read = QueryPosition::read(&stored(&position));
        assert!(read.is_guarded && read.first().is_none());
        position.is_guarded = true;
        assert_eq!(QueryPosition::read(&stored(&position)).first(), position.begin.as_ref());
    }

    #[test]
    fn begin_follows_the_runs() {
        let mut position = QueryPosition::default();
        let begins: Vec<_> = (1..=5)
            .map(|run| {
                let (at, cursor) =
                    (run * OVERLAP, Cursor { text: run.to_string(), data_type: "INT8".to_owned() });
                position.end_run(at, Some(TimedCursor { cursor, at }));
                position.begin.as_ref().map(|cursor| cursor.text.clone())
            })
            .collect();
        assert_eq!(
            begins,
            [None, Some("1"), Some("2"), Some("3"), Some("4")].map(|text| text.map(str::to_owned))
        );
    }
}
