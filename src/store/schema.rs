//! The schema as the database has it.

use super::{Connection, Dialect, FromRow, Result, sql};

/// A table with its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// The columns, without generated ones.
    pub columns: Vec<Column>,
    /// Columns of the primary key in its order.
    pub key: Vec<String>,
    /// Its foreign keys, each of one column.
    pub foreign_keys: Vec<ForeignKey>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Whether it is a boolean; SQLite has integers for them.
    pub is_flag: bool,
}

impl Table {
    /// Whether it has a foreign key to the table `parent`.
    pub fn refers_to(&self, parent: &str) -> bool {
        self.foreign_keys.iter().any(|key| key.parent == parent)
    }
}

/// A foreign key.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ForeignKey {
    /// The table that refers.
    #[sqlx(rename = "table_name")]
    pub table: String,
    /// Its column.
    #[sqlx(rename = "column_name")]
    pub column: String,
    /// The table that it refers to.
    pub parent: String,
}

#[derive(FromRow)]
struct ColumnRow {
    table_name: String,
    column_name: String,
    is_flag: bool,
    /// The place in the primary key from 1; 0 for other columns.
    key_place: i64,
}

/// All tables of trawl by name, without the list of migrations.
pub async fn tables(connection: &Connection) -> Result<Vec<Table>> {
    let (columns, foreign_keys) = match connection.dialect() {
        Dialect::Sqlite => (SQLITE_COLUMNS, SQLITE_REFERENCES),
        Dialect::Postgres => (POSTGRES_COLUMNS, POSTGRES_REFERENCES),
    };
    let columns: Vec<ColumnRow> = sql(columns, []).fetch_all(connection).await?;
    let foreign_keys: Vec<ForeignKey> = sql(foreign_keys, []).fetch_all(connection).await?;
    let tables = columns.chunk_by(|first, second| first.table_name == second.table_name).map(|columns| {
        let name = columns.first().map(|column| column.table_name.clone()).unwrap_or_default();
        let mut key: Vec<&ColumnRow> = columns.iter().filter(|column| column.key_place > 0).collect();
        key.sort_by_key(|column| column.key_place);
        Table {
            columns: columns
                .iter()
                .map(|column| Column { name: column.column_name.clone(), is_flag: column.is_flag })
                .collect(),
            key: key.into_iter().map(|column| column.column_name.clone()).collect(),
            foreign_keys: foreign_keys.iter().filter(|key| key.table == name).cloned().collect(),
            name,
        }
    });
    Ok(tables.collect())
}

/// Orders tables before those that they refer to; cycles in any order.
pub fn children_first(mut tables: Vec<Table>) -> Vec<Table> {
    let mut ordered = Vec::with_capacity(tables.len());
    while !tables.is_empty() {
        let is_referred_to = |table: &Table| {
            tables.iter().any(|other| other.name != table.name && other.refers_to(&table.name))
        };
        let (waiting, free): (Vec<Table>, Vec<Table>) = tables.iter().cloned().partition(is_referred_to);
        if free.is_empty() {
            ordered.extend(waiting);
            break;
        }
        ordered.extend(free);
        tables = waiting;
    }
    ordered
}

const SQLITE_COLUMNS: &str = "SELECT tables.name AS table_name, columns.name AS column_name, FALSE AS is_flag, \
      columns.pk AS key_place \
    FROM sqlite_schema AS tables JOIN pragma_table_info(tables.name) AS columns \
    WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite%' AND tables.name <> 'seaql_migrations' \
    ORDER BY tables.name, columns.cid";

const SQLITE_REFERENCES: &str = "SELECT tables.name AS table_name, key.\"from\" AS column_name, key.\"table\" AS parent \
    FROM sqlite_schema AS tables JOIN pragma_foreign_key_list(tables.name) AS key \
    WHERE tables.type = 'table' ORDER BY tables.name, key.\"from\", key.\"table\"";

const POSTGRES_COLUMNS: &str = "SELECT tables.relname::text AS table_name, columns.attname::text AS column_name, \
      columns.atttypid = 'boolean'::regtype AS is_flag, \
      COALESCE(array_position(keys.indkey::int2[], columns.attnum) + 1, 0)::bigint AS key_place \
    FROM pg_class AS tables \
    JOIN pg_attribute AS columns ON columns.attrelid = tables.oid AND columns.attnum > 0 \
      AND NOT columns.attisdropped AND columns.attgenerated = '' \
    LEFT JOIN pg_index AS keys ON keys.indrelid = tables.oid AND keys.indisprimary \
    WHERE tables.relkind = 'r' AND tables.relnamespace = current_schema()::regnamespace \
      AND tables.relname <> 'seaql_migrations' ORDER BY tables.relname, columns.attnum";

const POSTGRES_REFERENCES: &str = "SELECT tables.relname::text AS table_name, columns.attname::text AS column_name, \
      parents.relname::text AS parent \
    FROM pg_constraint AS keys JOIN pg_class AS tables ON tables.oid = keys.conrelid \
    JOIN pg_class AS parents ON parents.oid = keys.confrelid \
    JOIN pg_attribute AS columns ON columns.attrelid = tables.oid AND columns.attnum = ANY (keys.conkey) \
    WHERE keys.contype = 'f' AND tables.relnamespace = current_schema()::regnamespace \
    ORDER BY tables.relname, columns.attname, parents.relname";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_refer_to_each_other_are_none_left_out() {
        let table = |name: &str, parents: &[&str]| Table {
            name: name.to_owned(),
            columns: Vec::new(),
            key: Vec::new(),
            foreign_keys: parents
                .iter()
                .map(|&parent| ForeignKey {
                    table: name.to_owned(),
                    column: "x".to_owned(),
                    parent: parent.to_owned(),
                })
                .collect(),
        };
        let tables = vec![
            table("a", &["tenants", "a"]),
            table("b", &["a"]),
            table("c", &["a", "b"]),
            table("x", &["y", "a"]),
            table("y", &["x"]),
        ];
        let order: Vec<String> = children_first(tables).into_iter().map(|table| table.name).collect();
        assert_eq!(order, ["c", "b", "a", "x", "y"]);
    }
}
