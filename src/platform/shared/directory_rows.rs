//! Rows of a directory synchronisation: users and departments (book: reference/directory.md).

use std::collections::HashMap;

use crate::{
    audit::{self, Actor, AuditEvent},
    auth::tenants::Tenant,
    error::Result,
    store::{ROWS_PER_STATEMENT, Transaction, Value, placeholders, sql},
};

/// A synchronised table.
pub trait DirectoryRow: PartialEq {
    /// Table name.
    const TABLE: &'static str;
    /// Written columns, the source id first.
    const COLUMNS: &'static [&'static str];
    /// Columns whose values are unique in the tenant and may move between rows.
    const UNIQUE: &'static [&'static str];
    /// Object kind in the audit log.
    const KIND: &'static str;

    /// Source id.
    fn id(&self) -> &str;
    /// Values of [`Self::COLUMNS`].
    fn values(&self) -> Result<Vec<Value>>;
    /// Whether a unique value becomes free.
    fn leaves_something_unique(&self, before: &Self) -> bool;
    /// Whether the row is marked as deleted.
    fn is_deleted(&self) -> bool;
    /// 1 enabled, 0 disabled.
    fn status(&self) -> i64;
    /// Fields that differ, by their names in the form.
    fn changed_fields(&self, before: &Self) -> Vec<&'static str>;
}

/// Stored rows and those written over them, one synchronisation long.
#[derive(Debug)]
pub struct SynchronisationBatch<T> {
    stored: HashMap<String, T>,
    written: HashMap<String, T>,
    /// Written ids, first write first.
    order: Vec<String>,
}

/// Changed row.
#[derive(Debug)]
pub struct RowChange<'a, T> {
    /// Row to write.
    pub row: &'a T,
    /// Stored row.
    pub before: Option<&'a T>,
}

impl<T: DirectoryRow> SynchronisationBatch<T> {
    /// Batch over stored rows.
    pub fn new(stored: Vec<T>) -> Self {
        let mut batch = Self { stored: HashMap::new(), written: HashMap::new(), order: Vec::new() };
        batch.add_stored(stored);
        batch
    }

    /// Adds rows as the database holds them.
    pub fn add_stored(&mut self, rows: Vec<T>) {
        self.stored.extend(rows.into_iter().map(|row| (row.id().to_owned(), row)));
    }

    /// Present row with this id.
    pub fn find(&self, id: &str) -> Option<&T> {
        self.written.get(id).or_else(|| self.stored.get(id))
    }

    /// Writes a row over the one with its id.
    pub fn put(&mut self, row: T) {
        let id = row.id().to_owned();
        if self.written.insert(id.clone(), row).is_none() {
            self.order.push(id);
        }
    }

    /// Rows that differ from the stored ones, in order of first write.
    pub fn changes(&self) -> Vec<RowChange<'_, T>> {
        self.order
            .iter()
            .filter_map(|id| Some(RowChange { row: self.written.get(id)?, before: self.stored.get(id) }))
            .filter(|change| Some(change.row) != change.before)
            .collect()
    }
}

impl<T: DirectoryRow> RowChange<'_, T> {
    fn event(&self) -> AuditEvent {
        let row = self.row;
        let action = match self.before {
            None => "create",
            Some(before) if row.is_deleted() && !before.is_deleted() => "delete",
            Some(before) if row.status() < before.status() => "disable",
            Some(before) if row.status() > before.status() => "enable",
            Some(_) => "change",
        };
        let event = AuditEvent::new(action, T::KIND, row.id());
        match self.before {
            Some(before) => event.with("fields", row.changed_fields(before)),
            None => event,
        }
    }
}

/// Ids of changes of stored rows that `differ` selects.
pub fn ids_where<'a, T: DirectoryRow>(
    changes: &[RowChange<'a, T>],
    differ: impl Fn(&T, &T) -> bool,
) -> Vec<&'a str> {
    let selected =
        changes.iter().filter(|change| change.before.is_some_and(|before| differ(change.row, before)));
    selected.map(|change| change.row.id()).collect()
}

/// Begins a vacated unique value; stored values hold no control characters.
const VACANT: &str = "\u{1}";

/// Writes and audits changed rows in order, with change times from `first_time`.
pub async fn store<T: DirectoryRow + Sync>(
    transaction: &Transaction,
    actor: &Actor,
    tenant: &Tenant,
    changes: &[RowChange<'_, T>],
    first_time: i64,
) -> Result<()> {
    let (table, id) = (T::TABLE, T::COLUMNS[0]);
    // Unique values may move between rows.
    let vacated: Vec<String> = T::UNIQUE.iter().map(|column| format!("{column} = ? || {id}")).collect();
    for chunk in ids_where(changes, T::leaves_something_unique).chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "UPDATE {table} SET {} WHERE tenant_id = ? AND {id} IN ({})",
            vacated.join(", "),
            placeholders(chunk.len())
        );
        let vacant = T::UNIQUE.iter().map(|_| Value::from(VACANT));
        let values = vacant.chain([tenant.id.into()]).chain(chunk.iter().map(|id| (*id).into()));
        sql(text, values).execute(transaction).await?;
    }
    let updates: Vec<String> =
        T::COLUMNS[1..].iter().map(|column| format!("{column} = excluded.{column}")).collect();
    let row = format!("({})", placeholders(T::COLUMNS.len() + 3));
    let mut times = first_time..;
    for chunk in changes.chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "INSERT INTO {table} ({}, tenant_id, created_at, updated_at) VALUES {} \
             ON CONFLICT (tenant_id, {id}) DO UPDATE SET {}, updated_at = excluded.updated_at",
            T::COLUMNS.join(", "),
            vec![row.as_str(); chunk.len()].join(", "),
            updates.join(", ")
        );
        let mut values = Vec::with_capacity(chunk.len() * (T::COLUMNS.len() + 3));
        for change in chunk {
            values.extend(change.row.values()?);
            let time = times.next();
            values.extend([tenant.id.into(), time.into(), time.into()]);
        }
        sql(text, values).execute(transaction).await?;
    }
    audit::record(transaction, actor, tenant, changes.iter().map(RowChange::event).collect()).await?;
    Ok(())
}
