//! Checks a store for damage that its database does not refuse.

use serde::Serialize;

use super::{
    Connection, FromRow, Result, Store, copy,
    dialect::Dialect,
    failover::SKIPPED,
    schema::{self, Table},
    sql,
};

/// Damaged rows and pages that are told.
const MAX_REPORTED: u64 = 100;

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StoreCheckReport {
    /// Checked tables.
    pub tables: u64,
    /// Their rows.
    pub rows: u64,
    /// Problems in words.
    pub problems: Vec<String>,
}

impl StoreCheckReport {
    /// Whether there is no problem.
    pub fn is_good(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Checks a store, even in use; `told` gets each table's rows.
///
/// `reference` is a new store, whose tables are those of this version.
///
/// # Errors
/// A failure of the database.
pub async fn check(
    store: &Store,
    reference: &Store,
    mut told: impl FnMut(&str, u64),
) -> Result<StoreCheckReport> {
    let connection = store.reader();
    let tables = schema::tables(connection).await?;
    let expected = schema::tables(reference.reader()).await?;
    let mut report = StoreCheckReport { tables: tables.len() as u64, ..StoreCheckReport::default() };
    compare(&tables, &expected, &mut report.problems);
    if copy::origin(store).await?.is_some() {
        report.problems.push("it is an unfinished copy of another store".to_owned());
    }
    if connection.dialect() == Dialect::Sqlite {
        report.problems.extend(damage(connection).await?);
    }
    for table in &tables {
        let rows = sql(format!("SELECT COUNT(*) FROM {}", table.name), []).count(connection).await?;
        told(&table.name, rows);
        report.rows += rows;
    }
    report.problems.extend(change_log(connection).await?);
    Ok(report)
}

/// Columns may have another order in either kind of database.
fn compare(tables: &[Table], expected: &[Table], problems: &mut Vec<String>) {
    let columns = |table: &Table| {
        let mut names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        names.sort_unstable();
        names.join(", ")
    };
    for table in expected {
        match tables.iter().find(|there| there.name == table.name) {
            None => problems.push(format!("{}: the table is missing", table.name)),
            Some(there) if columns(there) != columns(table) || there.key != table.key => {
                problems.push(format!("{}: it has other columns than this version knows", table.name));
            }
            Some(_) => {}
        }
    }
    let foreign = tables.iter().filter(|there| expected.iter().all(|table| table.name != there.name));
    problems.extend(foreign.map(|table| format!("{}: no table of trawl has this name", table.name)));
}

/// Damaged pages, and rows whose parent is missing. PostgreSQL refuses to read or write such rows.
async fn damage(connection: &Connection) -> Result<Vec<String>> {
    let text = "SELECT integrity_check AS problem FROM pragma_integrity_check WHERE integrity_check <> 'ok' UNION ALL \
                SELECT \"table\" || ': a row names a row of ' || parent || ' that is missing' FROM pragma_foreign_key_check";
    sql(format!("SELECT problem FROM ({text}) LIMIT ?"), [MAX_REPORTED.into()]).fetch_values(connection).await
}

#[derive(FromRow)]
struct LogRow {
    entries: i64,
    first: Option<i64>,
    last: Option<i64>,
    failovers: i64,
    position: i64,
}

/// Positions are given up to the recorded end, without gaps but at failovers.
async fn change_log(connection: &Connection) -> Result<Option<String>> {
    let text = "SELECT (SELECT COUNT(*) FROM change_log) AS entries, (SELECT MIN(position) FROM change_log) AS first, \
                (SELECT MAX(position) FROM change_log) AS last, position, \
                (SELECT COUNT(*) FROM change_log WHERE tenant_id = 0 AND position > (SELECT MIN(position) FROM change_log)) \
                AS failovers FROM change_log_end";
    let LogRow { entries, first, last, failovers, position } = sql(text, []).fetch_one(connection).await?;
    let (Some(first), Some(last)) = (first, last) else { return Ok(None) };
    let missing = last - first + 1 - entries - failovers * (SKIPPED - 1);
    Ok(if last > position {
        Some(format!("change_log: its last entry {last} is behind the recorded end {position}"))
    } else if missing != 0 {
        Some(format!("change_log: {missing} entries between {first} and {last} are missing"))
    } else {
        None
    })
}
