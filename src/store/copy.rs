//! Copies all rows of a store to another, of any kind.

use std::collections::BTreeSet;

use serde::Serialize;
use sqlx::{Row as _, TypeInfo as _, ValueRef as _};
use sqlx_postgres::PgRow;
use sqlx_sqlite::SqliteRow;

use super::{
    Connection, DatabaseError, FromRow, Result, Store, Transaction, Value, change_log,
    dialect::Dialect,
    placeholders,
    schema::{self, Column, Table},
    sql,
};
use crate::error::Error;

/// Rows of one statement; PostgreSQL takes 65,535 values in it.
const BATCH: u64 = 500;

/// Marks a target whose copy is not complete.
///
/// The value begins with the id of the source.
const MARKER: &str = "copy_of";

/// Tables of a new store that already hold a row.
const FILLED: [&str; 2] = ["change_log_end", "meta"];

/// Tables of running processes, which are not copied.
const OF_PROCESSES: [&str; 3] = ["leases", "replicas", "writers"];

/// Rows of a table in both stores after a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CopiedTable {
    /// Its name.
    pub table: String,
    /// Rows of the source.
    pub from: u64,
    /// Rows of the target.
    pub to: u64,
}

/// Why a store could not be copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The target holds rows of its own.
    #[error("the target is not empty: its table {0} holds rows; copy to a new store")]
    NotEmpty(String),
    /// The target holds a part of another store.
    #[error("the target holds an unfinished copy of another store; copy to a new store")]
    OtherCopy,
    /// The source lacks rows itself.
    #[error("the source is an unfinished copy; complete it first")]
    UnfinishedSource,
    /// The stores have different columns.
    #[error("the table {0} differs between the stores; open both with one version of trawl first")]
    OtherSchema(String),
    /// Rows were written meanwhile.
    #[error("the source changed during the copy; stop its servers and copy again")]
    SourceChanged,
    /// A store could not be read or written.
    #[error(transparent)]
    Store(#[from] Error),
}

impl From<DatabaseError> for CopyError {
    fn from(error: DatabaseError) -> Self {
        Self::Store(error.into())
    }
}

/// Copies `from` to the empty store `to`, or completes such a copy.
///
/// A copy of another state of `from` begins anew. `told` gets each table's name and its rows so far.
///
/// # Errors
/// The target has other rows, the source changed meanwhile, or a database failed.
pub async fn copy(
    from: &Store,
    to: &Store,
    mut told: impl FnMut(&str, u64),
) -> Result<Vec<CopiedTable>, CopyError> {
    let tables = schema::tables(to.reader()).await?;
    check_same(&schema::tables(from.reader()).await?, &tables)?;
    let tables = in_order_of_copy(tables);
    let before = CopyState::of(from, &tables).await?;
    begin(from, to, &tables, &before).await?;
    for table in &tables {
        copy_table(table, from, to, &mut told).await?;
    }
    let counters = identity::counters(from.reader()).await?;
    if CopyState::of(from, &tables).await? != before {
        return Err(CopyError::SourceChanged);
    }
    let copied = CopyState::of(to, &tables).await?;
    if copied.rows == before.rows {
        finish(to, counters).await?;
    }
    let counts = tables.into_iter().zip(before.rows).zip(copied.rows);
    Ok(counts.map(|((table, from), to)| CopiedTable { table: table.name, from, to }).collect())
}

/// The marker of an unfinished copy.
pub async fn origin(store: &Store) -> Result<Option<String>> {
    sql("SELECT value FROM meta WHERE name = ?", [MARKER.into()]).fetch_optional_value(store.reader()).await
}

/// Orders parents before children, and contents after files.
///
/// The trigger of `files` then finds no content, so it adds no texts of its own.
fn in_order_of_copy(tables: Vec<Table>) -> Vec<Table> {
    let mut tables = schema::children_first(tables);
    tables.retain(|table| !OF_PROCESSES.contains(&table.name.as_str()));
    tables.reverse();
    tables.sort_by_key(|table| ["blobs", "blob_texts"].contains(&table.name.as_str()));
    tables
}

/// Checks names, columns and keys; the columns' order may differ.
fn check_same(source: &[Table], target: &[Table]) -> Result<(), CopyError> {
    let shape = |table: &Table| {
        let columns: BTreeSet<_> = table.columns.iter().map(|column| column.name.clone()).collect();
        (table.name.clone(), columns, table.key.clone())
    };
    let [source, target] = [source, target].map(|tables| tables.iter().map(shape).collect::<BTreeSet<_>>());
    match source.symmetric_difference(&target).next() {
        Some((table, ..)) => Err(CopyError::OtherSchema(table.clone())),
        None => Ok(()),
    }
}

#[derive(PartialEq, Eq)]
struct CopyState {
    position: i64,
    rows: Vec<u64>,
}

impl CopyState {
    async fn of(store: &Store, tables: &[Table]) -> Result<Self> {
        let mut rows = Vec::with_capacity(tables.len());
        for table in tables {
            rows.push(
                sql(format!("SELECT COUNT(*) FROM {}", unmarked(table)), []).count(store.reader()).await?,
            );
        }
        Ok(Self { position: change_log::last_position(store.reader()).await?, rows })
    }
}

/// The rows of a table without the marker, as `FROM` takes them.
fn unmarked(table: &Table) -> String {
    if table.name == "meta" { format!("meta WHERE name <> '{MARKER}'") } else { table.name.clone() }
}

/// Marks the target; removes the rows of another state's copy.
async fn begin(from: &Store, to: &Store, tables: &[Table], state: &CopyState) -> Result<(), CopyError> {
    if origin(from).await?.is_some() {
        return Err(CopyError::UnfinishedSource);
    }
    let mark = format!("{} at {} with {:?} rows", from.id(), state.position, state.rows);
    let begun = origin(to).await?;
    if begun.as_ref() == Some(&mark) {
        return Ok(());
    }
    if begun.as_ref().is_some_and(|begun| !begun.starts_with(from.id())) {
        return Err(CopyError::OtherCopy);
    }
    // A trigger may fill a table while another one is emptied.
    while let Some(table) = last_filled(to, tables).await? {
        if begun.is_none() {
            return Err(CopyError::NotEmpty(table.name.clone()));
        }
        let key = table.key.join(", ");
        let find = sql(format!("SELECT {key} FROM {} LIMIT {BATCH}", table.name), []);
        to.delete_batch(&table.name, &format!("({key})"), find, BATCH).await?;
    }
    let text = "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    let mark = sql(text, [MARKER.into(), mark.into()]);
    to.write(move |transaction| Box::pin(async move { Ok(mark.execute(transaction).await?) })).await?;
    Ok(())
}

async fn last_filled<'a>(store: &Store, tables: &'a [Table]) -> Result<Option<&'a Table>> {
    for table in tables.iter().rev().filter(|table| !FILLED.contains(&table.name.as_str())) {
        if sql(format!("SELECT 1 FROM {} LIMIT 1", table.name), []).exists(store.reader()).await? {
            return Ok(Some(table));
        }
    }
    Ok(None)
}

async fn finish(to: &Store, counters: Vec<identity::Counter>) -> Result<(), Error> {
    to.write(move |transaction| {
        Box::pin(async move {
            identity::set_counters(transaction, counters).await?;
            sql("DELETE FROM meta WHERE name = ?", [MARKER.into()]).execute(transaction).await?;
            Ok(())
        })
    })
    .await
}

async fn copy_table(
    table: &Table,
    from: &Store,
    to: &Store,
    told: &mut impl FnMut(&str, u64),
) -> Result<(), CopyError> {
    let key = table.key.join(", ");
    let columns = table.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
    let is_filled = FILLED.contains(&table.name.as_str());
    let mut last = if is_filled { None } else { last_key(table, to.reader()).await? };
    let mut copied = 0;
    loop {
        let behind = match &last {
            Some(_) => format!("WHERE ({key}) > ({})", placeholders(table.key.len())),
            None => String::new(),
        };
        let text = format!("SELECT {columns} FROM {} {behind} ORDER BY {key} LIMIT {BATCH}", table.name);
        let rows: Vec<CopiedRow> = sql(text, last.unwrap_or_default()).fetch_all(from.reader()).await?;
        let Some(end) = rows.last() else { return Ok(()) };
        last = Some(key_of(table, end));
        copied += rows.len() as u64;
        insert(table, &columns, rows, is_filled && copied <= BATCH, to).await?;
        told(&table.name, copied);
    }
}

async fn last_key(table: &Table, connection: &Connection) -> Result<Option<Vec<Value>>> {
    let descending = table.key.iter().map(|column| format!("{column} DESC")).collect::<Vec<_>>().join(", ");
    let text = format!("SELECT {} FROM {} ORDER BY {descending} LIMIT 1", table.key.join(", "), table.name);
    Ok(sql(text, []).fetch_optional::<CopiedRow>(connection).await?.map(|row| row.0))
}

fn key_of(table: &Table, row: &CopiedRow) -> Vec<Value> {
    let place = |name: &String| table.columns.iter().position(|column| column.name == *name);
    table.key.iter().filter_map(|name| row.0.get(place(name)?).cloned()).collect()
}

/// Inserts rows, in place of a new store's own where `replaces`.
async fn insert(
    table: &Table,
    columns: &str,
    rows: Vec<CopiedRow>,
    replaces: bool,
    to: &Store,
) -> Result<(), CopyError> {
    let row = format!("({})", placeholders(table.columns.len()));
    let text = format!("INSERT INTO {} ({columns}) VALUES {}", table.name, vec![row; rows.len()].join(", "));
    let values = rows.into_iter().flat_map(|row| row.0.into_iter().zip(&table.columns).map(for_column));
    let insert = sql(text, values.collect::<Vec<_>>());
    let removal = replaces.then(|| sql(format!("DELETE FROM {}", unmarked(table)), []));
    to.write(move |transaction| {
        Box::pin(async move {
            if let Some(removal) = removal {
                removal.execute(transaction).await?;
            }
            Ok(insert.execute(transaction).await?)
        })
    })
    .await?;
    Ok(())
}

/// Flags are integers in SQLite.
fn for_column((value, column): (Value, &Column)) -> Value {
    match value {
        Value::Integer(number) if column.is_flag => Value::Bool(number != 0),
        value => value,
    }
}

/// All columns of a row, as the database has them.
struct CopiedRow(Vec<Value>);

impl FromRow<'_, SqliteRow> for CopiedRow {
    fn from_row(row: &SqliteRow) -> Result<Self> {
        let value = |place| {
            let stored = row.try_get_raw(place)?;
            if stored.is_null() {
                return Ok(Value::Null);
            }
            match stored.type_info().name() {
                "INTEGER" => row.try_get(place).map(Value::Integer),
                "REAL" => row.try_get(place).map(Value::Real),
                "BLOB" => row.try_get(place).map(Value::Bytes),
                _ => row.try_get(place).map(Value::Text),
            }
        };
        (0..row.len()).map(value).collect::<Result<_>>().map(Self)
    }
}

impl FromRow<'_, PgRow> for CopiedRow {
    fn from_row(row: &PgRow) -> Result<Self> {
        let value = |place| {
            let stored = row.try_get_raw(place)?;
            if stored.is_null() {
                return Ok(Value::Null);
            }
            match stored.type_info().name() {
                "BOOL" => row.try_get(place).map(Value::Bool),
                "INT8" => row.try_get(place).map(Value::Integer),
                "BYTEA" => row.try_get(place).map(Value::Bytes),
                _ => row.try_get(place).map(Value::Text),
            }
        };
        (0..row.len()).map(value).collect::<Result<_>>().map(Self)
    }
}

/// Numbers that a database gives to rows.
///
/// None is given again, not even that of a row that is gone.
mod identity {
    use super::*;

    #[derive(FromRow)]
    pub(super) struct Counter {
        table_name: String,
        last: i64,
    }

    pub(super) async fn counters(connection: &Connection) -> Result<Vec<Counter>> {
        let text = match connection.dialect() {
            Dialect::Sqlite => "SELECT name AS table_name, seq AS last FROM sqlite_sequence",
            Dialect::Postgres => {
                "SELECT tables.relname::text AS table_name, \
                   pg_sequence_last_value(pg_get_serial_sequence(tables.relname::text, attname::text)::regclass) AS last \
                 FROM pg_class AS tables JOIN pg_attribute ON attrelid = tables.oid AND attidentity <> '' \
                 WHERE tables.relnamespace = current_schema()::regnamespace \
                   AND pg_sequence_last_value(pg_get_serial_sequence(tables.relname::text, attname::text)::regclass) IS NOT NULL"
            }
        };
        sql(text, []).fetch_all(connection).await
    }

    /// Sets counters to the source's, or the target's largest number if greater.
    pub(super) async fn set_counters(transaction: &Transaction, counters: Vec<Counter>) -> Result<()> {
        let numbered = match transaction.dialect() {
            Dialect::Sqlite => {
                "SELECT name, 'rowid' AS column_name FROM sqlite_schema \
                 WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%' AND name <> 'change_log'"
            }
            Dialect::Postgres => {
                "SELECT tables.relname::text AS name, attname::text AS column_name \
                 FROM pg_class AS tables JOIN pg_attribute ON attrelid = tables.oid AND attidentity <> '' \
                 WHERE tables.relnamespace = current_schema()::regnamespace"
            }
        };
        for (table, column) in sql(numbered, []).fetch_all::<(String, String)>(transaction).await? {
            let largest = sql(format!("SELECT MAX({column}) FROM {table}"), []);
            let largest: Option<i64> = largest.fetch_value(transaction).await?;
            let counter = counters.iter().find(|counter| counter.table_name == table);
            let last = counter.map(|counter| counter.last).max(largest);
            // PostgreSQL counts from 1.
            let Some(last) = last.filter(|last| *last > 0) else { continue };
            match transaction.dialect() {
                Dialect::Sqlite => {
                    let removal = sql("DELETE FROM sqlite_sequence WHERE name = ?", [table.as_str().into()]);
                    removal.execute(transaction).await?;
                    let values = [table.into(), last.into()];
                    let insert = sql("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", values);
                    insert.execute(transaction).await?;
                }
                Dialect::Postgres => {
                    let text = "SELECT setval(pg_get_serial_sequence(?, ?)::regclass, ?)";
                    let values = [table.as_str().into(), column.into(), last.into()];
                    sql(text, values).exists(transaction).await?;
                }
            }
        }
        Ok(())
    }
}
