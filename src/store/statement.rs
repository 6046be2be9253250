//! Statements with their values, and the rows that they give.

use std::borrow::Cow;

use sqlx_postgres::PgRow;
use sqlx_sqlite::SqliteRow;

use super::{Connection, DatabaseError, Result, dialect, json_column::to_json};

/// Rows of one `INSERT`, or values of one `IN`.
///
/// SQLite takes 32,766 values in a statement, PostgreSQL 65,535.
pub const ROWS_PER_STATEMENT: usize = 1_000;

/// A value of a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Texts, which `json_each(?)` gives as rows of `key` (from 0) and `value`.
    List(Vec<String>),
}

impl Value {
    /// `value` as JSON text.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    pub fn json(value: &(impl serde::Serialize + ?Sized)) -> Result<Self> {
        to_json(value).map(Self::Text)
    }

    /// `texts` as the argument of `json_each`.
    pub fn list(texts: impl IntoIterator<Item: Into<String>>) -> Self {
        Self::List(texts.into_iter().map(Into::into).collect())
    }
}

/// A text that PostgreSQL would not take; SQLite is given none either.
#[derive(Debug, thiserror::Error)]
#[error("a text holds the character U+0000, which cannot be stored")]
pub(super) struct NullCharacter;

/// `text`, unless it holds U+0000.
pub(super) fn storable(text: String) -> Result<String> {
    if text.contains('\0') { Err(DatabaseError::Encode(NullCharacter.into())) } else { Ok(text) }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<u64> for Value {
    /// Saturates at `i64::MAX`.
    fn from(value: u64) -> Self {
        Self::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&String> for Value {
    fn from(value: &String) -> Self {
        Self::Text(value.clone())
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value)
    }
}

impl From<&[u8]> for Value {
    fn from(value: &[u8]) -> Self {
        Self::Bytes(value.to_vec())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A struct or tuple that is read from a row; derive [`FromRow`](super::FromRow) for it.
pub trait Record: for<'r> sqlx::FromRow<'r, SqliteRow> + for<'r> sqlx::FromRow<'r, PgRow> {}

impl<R> Record for R where R: for<'r> sqlx::FromRow<'r, SqliteRow> + for<'r> sqlx::FromRow<'r, PgRow> {}

/// A row of either database.
pub(super) enum DatabaseRow {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl DatabaseRow {
    fn read<R: Record>(&self) -> Result<R> {
        match self {
            Self::Sqlite(row) => R::from_row(row),
            Self::Postgres(row) => R::from_row(row),
        }
    }
}

/// A record, or its row's error, which does not fail the other rows.
#[derive(Debug)]
pub struct RowResult<R>(pub Result<R>);

impl<'r, D: sqlx::Row, R: sqlx::FromRow<'r, D>> sqlx::FromRow<'r, D> for RowResult<R> {
    fn from_row(row: &'r D) -> Result<Self> {
        Ok(Self(R::from_row(row)))
    }
}

/// A statement and its values.
#[derive(Clone, Debug)]
pub struct Statement {
    pub(super) text: Cow<'static, str>,
    pub(super) values: Vec<Value>,
}

/// A statement with a value for each placeholder.
pub fn sql(text: impl Into<Cow<'static, str>>, values: impl IntoIterator<Item = Value>) -> Statement {
    Statement { text: text.into(), values: values.into_iter().collect() }
}

impl Statement {
    /// The text, in the dialect that both databases read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text that PostgreSQL reads, and the values.
    pub fn for_postgres(&self) -> (String, &[Value]) {
        (dialect::postgres(&self.text), &self.values)
    }

    /// A statement by which the database plans this one without running it.
    #[must_use]
    pub fn explain(&self) -> Self {
        Self { text: format!("EXPLAIN {}", self.text).into(), values: self.values.clone() }
    }

    /// Runs the statement; returns the number of rows it changed.
    pub async fn execute(self, connection: &Connection) -> Result<u64> {
        connection.execute(self).await
    }

    /// The first row; [`DatabaseError::RowNotFound`] when there is none.
    pub async fn fetch_one<R: Record>(self, connection: &Connection) -> Result<R> {
        self.fetch_optional(connection).await?.ok_or(DatabaseError::RowNotFound)
    }

    /// The first row, if there is one.
    pub async fn fetch_optional<R: Record>(self, connection: &Connection) -> Result<Option<R>> {
        connection.fetch_optional(self).await?.as_ref().map(DatabaseRow::read).transpose()
    }

    /// All rows.
    pub async fn fetch_all<R: Record>(self, connection: &Connection) -> Result<Vec<R>> {
        connection.fetch_all(self).await?.iter().map(DatabaseRow::read).collect()
    }

    /// The first column of the first row; [`DatabaseError::RowNotFound`] when there is none.
    pub async fn fetch_value<T>(self, connection: &Connection) -> Result<T>
    where
        (T,): Record,
    {
        self.fetch_one(connection).await.map(|(value,)| value)
    }

    /// The first column of the first row, if there is one.
    pub async fn fetch_optional_value<T>(self, connection: &Connection) -> Result<Option<T>>
    where
        (T,): Record,
    {
        Ok(self.fetch_optional(connection).await?.map(|(value,)| value))
    }

    /// The first column of all rows.
    pub async fn fetch_values<T>(self, connection: &Connection) -> Result<Vec<T>>
    where
        (T,): Record,
    {
        Ok(self.fetch_all(connection).await?.into_iter().map(|(value,)| value).collect())
    }

    /// The number that a `SELECT COUNT(*)` gives.
    pub async fn count(self, connection: &Connection) -> Result<u64> {
        let count: i64 = self.fetch_value(connection).await?;
        Ok(u64::try_from(count).unwrap_or_default())
    }

    /// Whether the statement gives any row.
    pub async fn exists(self, connection: &Connection) -> Result<bool> {
        Ok(connection.fetch_optional(self).await?.is_some())
    }
}

/// `count` placeholders, separated by commas.
pub fn placeholders(count: usize) -> String {
    vec!["?"; count].join(", ")
}

/// The rows of `text IN (values)`, read in batches that fit into a statement.
///
/// `text` ends before its `IN`; `first` are the values of its own placeholders.
pub async fn find_in<R: Record>(
    connection: &Connection,
    text: &str,
    first: &[Value],
    values: &[impl AsRef<str>],
) -> Result<Vec<R>> {
    let mut rows = Vec::with_capacity(values.len());
    for batch in values.chunks(ROWS_PER_STATEMENT) {
        rows.extend(in_batch(text, first, batch).fetch_all::<R>(connection).await?);
    }
    Ok(rows)
}

/// The column of `text IN (values)`, read like [`find_in`].
pub async fn find_values_in<T, C: FromIterator<T>>(
    connection: &Connection,
    text: &str,
    first: &[Value],
    values: &[impl AsRef<str>],
) -> Result<C>
where
    (T,): Record,
{
    Ok(find_in(connection, text, first, values).await?.into_iter().map(|(value,)| value).collect())
}

/// Runs `text IN (values)` in batches like [`find_in`]; returns the number of changed rows.
pub async fn execute_in(
    connection: &Connection,
    text: &str,
    first: &[Value],
    values: &[impl AsRef<str>],
) -> Result<u64> {
    let mut changed = 0;
    for batch in values.chunks(ROWS_PER_STATEMENT) {
        changed += in_batch(text, first, batch).execute(connection).await?;
    }
    Ok(changed)
}

fn in_batch(text: &str, first: &[Value], batch: &[impl AsRef<str>]) -> Statement {
    let values = first.iter().cloned().chain(batch.iter().map(|value| value.as_ref().into()));
    sql(format!("{text} IN ({})", placeholders(batch.len())), values)
}
