//! Copies all rows of a store to another one, between either kind of database.

use std::collections::BTreeSet;

use serde::Serialize;
use sqlx::{Row as _, TypeInfo as _, ValueRef as _};
use sqlx_postgres::PgRow;
use sqlx_sqlite::SqliteRow;

use super::{
    Connection, DatabaseError, FromRow, Result, Store, Transaction, Value, change_log,
    dialect::Dialect,
    placeholders,
    schema::{self, Table},
    sql,
};
use crate::error::Error;

/// Rows of one statement; PostgreSQL takes 65,535 values in it.
const BATCH: usize = 500;

/// Marks a target whose copy is not complete; the value is the id of the source.
const MARKER: &str = "copy_of";

/// Tables of a new store that already hold a row.
const FILLED: [&str; 2] = ["change_log_end", "meta"];

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
    #[error("the source changed during the copy; stop its servers and copy to a new store")]
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

/// Copies `from` to the empty store `to`, or completes such a copy; `told` learns of each table's progress in rows.
///
/// # Errors
/// A target with other rows; a source that was written to meanwhile; a failure of either database.
pub async fn copy(
    from: &Store,
    to: &Store,
    mut told: impl FnMut(&str, u64),
) -> Result<Vec<CopiedTable>, CopyError> {
    let tables = in_order_of_copy(schema::tables(from.reader()).await?);
    let targets = schema::tables(to.reader()).await?;
    let targets: Vec<Table> =
        tables.iter().map(|table| same_table(table, &targets)).collect::<Result<_, _>>()?;
    let before = state_of(from, &tables).await?;
    begin(from, to, &tables).await?;
    for (table, target) in tables.iter().zip(&targets) {
        copy_table(table, target, from, to, &mut told).await?;
    }
    let counters = identity::counters(from.reader()).await?;
    to.write(move |transaction| {
        Box::pin(async move {
            identity::set_counters(transaction, counters).await?;
            sql("DELETE FROM meta WHERE name = ?", [MARKER.into()]).execute(transaction).await?;
            Ok(())
        })
    })
    .await?;
    let after = state_of(from, &tables).await?;
    if after != before {
        return Err(CopyError::SourceChanged);
    }
    let copied = state_of(to, &tables).await?;
    let counts = tables.into_iter().zip(after.rows).zip(copied.rows);
    Ok(counts.map(|((table, from), to)| CopiedTable { table: table.name, from, to }).collect())
}

/// The id of the store of which `store` is an unfinished copy.
pub async fn origin(store: &Store) -> Result<Option<String>> {
    sql("SELECT value FROM meta WHERE name = ?", [MARKER.into()]).fetch_optional_value(store.reader()).await
}

/// Parents first, contents of files last: a trigger of `files` expects a text of each content that it finds.
fn in_order_of_copy(tables: Vec<Table>) -> Vec<Table> {
    let mut tables = schema::children_first(tables);
    tables.reverse();
    tables.sort_by_key(|table| ["blobs", "blob_texts"].contains(&table.name.as_str()));
    tables
}

/// The target's table, whose columns may have another order.
fn same_table(table: &Table, targets: &[Table]) -> Result<Table, CopyError> {
    let names =
        |table: &Table| table.columns.iter().map(|column| column.name.clone()).collect::<BTreeSet<_>>();
    let target = targets.iter().find(|target| target.name == table.name);
    let target = target.filter(|target| names(target) == names(table) && target.key == table.key);
    target.cloned().ok_or_else(|| CopyError::OtherSchema(table.name.clone()))
}

#[derive(PartialEq, Eq)]
struct State {
    position: i64,
    rows: Vec<u64>,
}

async fn state_of(store: &Store, tables: &[Table]) -> Result<State> {
    let mut rows = Vec::with_capacity(tables.len());
    for Table { name, .. } in tables {
        rows.push(sql(format!("SELECT COUNT(*) FROM {name}"), []).count(store.reader()).await?);
    }
    Ok(State { position: change_log::last_position(store.reader()).await?, rows })
}

/// Marks the target, unless it holds rows of another origin.
async fn begin(from: &Store, to: &Store, tables: &[Table]) -> Result<(), CopyError> {
    if origin(from).await?.is_some() {
        return Err(CopyError::UnfinishedSource);
    }
    match origin(to).await? {
        Some(origin) if origin == from.id() => return Ok(()),
        Some(_) => return Err(CopyError::OtherCopy),
        None => {}
    }
    for Table { name, .. } in tables.iter().filter(|table| !FILLED.contains(&table.name.as_str())) {
        if sql(format!("SELECT 1 FROM {name} LIMIT 1"), []).exists(to.reader()).await? {
            return Err(CopyError::NotEmpty(name.clone()));
        }
    }
    let values = [MARKER.into(), from.id().into()];
    let mark = sql("INSERT INTO meta (name, value) VALUES (?, ?)", values);
    to.write(move |transaction| Box::pin(async move { Ok(mark.execute(transaction).await?) })).await?;
    Ok(())
}

async fn copy_table(
    table: &Table,
    target: &Table,
    from: &Store,
    to: &Store,
    told: &mut impl FnMut(&str, u64),
) -> Result<(), CopyError> {
    let key = table.key.join(", ");
    let columns = table.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
    let is_filled = FILLED.contains(&table.name.as_str());
    let mut last = if is_filled { None } else { last_key(target, to.reader()).await? };
    let mut copied = 0;
    loop {
        let behind = match &last {
            Some(_) => format!("WHERE ({key}) > ({})", placeholders(table.key.len())),
            None => String::new(),
        };
        let text = format!("SELECT {columns} FROM {} {behind} ORDER BY {key} LIMIT {BATCH}", table.name);
        let rows: Vec<Row> = sql(text, last.unwrap_or_default()).fetch_all(from.reader()).await?;
        let Some(end) = rows.last() else { return Ok(()) };
        last = Some(key_of(table, end));
        copied += rows.len() as u64;
        insert(target, table, &columns, rows, is_filled && copied <= BATCH as u64, to).await?;
        told(&table.name, copied);
    }
}

async fn last_key(table: &Table, connection: &Connection) -> Result<Option<Vec<Value>>> {
    let descending = table.key.iter().map(|column| format!("{column} DESC")).collect::<Vec<_>>().join(", ");
    let text = format!("SELECT {} FROM {} ORDER BY {descending} LIMIT 1", table.key.join(", "), table.name);
    Ok(sql(text, []).fetch_optional::<Row>(connection).await?.map(|row| row.0))
}

fn key_of(table: &Table, row: &Row) -> Vec<Value> {
    let place = |name: &String| table.columns.iter().position(|column| column.name == *name);
    table.key.iter().filter_map(|name| row.0.get(place(name)?).cloned()).collect()
}

/// Inserts rows in place of those of a new store where `replaces`.
async fn insert(
    target: &Table,
    table: &Table,
    columns: &str,
    rows: Vec<Row>,
    replaces: bool,
    to: &Store,
) -> Result<(), CopyError> {
    let row = format!("({})", placeholders(table.columns.len()));
    let text = format!("INSERT INTO {} ({columns}) VALUES {}", table.name, vec![row; rows.len()].join(", "));
    let is_flag: Vec<bool> = table
        .columns
        .iter()
        .map(|column| target.columns.iter().any(|other| other.name == column.name && other.is_flag))
        .collect();
    let values = rows.into_iter().flat_map(|row| row.0.into_iter().zip(&is_flag).map(for_column));
    let insert = sql(text, values.collect::<Vec<_>>());
    let name = table.name.clone();
    to.write(move |transaction| {
        Box::pin(async move {
            if replaces {
                let (condition, values) = match name.as_str() {
                    "meta" => (" WHERE name <> ?", vec![MARKER.into()]),
                    _ => ("", Vec::new()),
                };
                sql(format!("DELETE FROM {name}{condition}"), values).execute(transaction).await?;
            }
            Ok(insert.execute(transaction).await?)
        })
    })
    .await?;
    Ok(())
}

/// Flags are integers in SQLite.
fn for_column((value, is_flag): (Value, &bool)) -> Value {
    match value {
        Value::Integer(number) if *is_flag => Value::Bool(number != 0),
        value => value,
    }
}

/// All columns of a row, as the database has them.
struct Row(Vec<Value>);

impl FromRow<'_, SqliteRow> for Row {
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

impl FromRow<'_, PgRow> for Row {
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

/// Numbers that a database gives to rows, also those of rows that are gone: none is given again.
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

    /// Goes on behind these counters and behind all rows.
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
            let Some(last) = counter.map(|counter| counter.last).max(largest) else { continue };
            match transaction.dialect() {
                Dialect::Sqlite => {
                    for text in [
                        "DELETE FROM sqlite_sequence WHERE name = ?1 AND ?2 > 0",
                        "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)",
                    ] {
                        sql(text, [table.as_str().into(), last.into()]).execute(transaction).await?;
                    }
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
