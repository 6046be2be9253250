//! The statements that read a query page by page.

use serde::{Deserialize, Serialize};

use super::dialect::Dialect;

/// Maximum rows of a page.
pub(super) const PAGE_ROWS: usize = 200;
/// Bytes of texts that fill a page.
const PAGE_BYTES: usize = 8 << 20;
/// The last columns of a row, which are no fields.
pub(super) const OWN_COLUMNS: usize = 3;
/// Maximum characters of a long text, and bytes of a brief.
const LONG_CHARACTERS: usize = 64 << 10;
/// Maximum characters of an id, a cursor and other texts.
///
/// One more is read, so that longer ones are known.
pub(super) const SHORT_CHARACTERS: usize = 8 << 10;
/// The column with long texts.
const LONG: &str = "brief";

/// The columns that an item is made of, as rows of files call them.
const FIELDS: [&str; 9] =
    ["id", "title", "subTitle", "brief", "author", "displayTime", "image", "link", "action"];

/// A column of the query.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct QueryColumn {
    pub(super) name: String,
    /// The database's name of the type; in SQLite it may be any.
    pub(super) data_type: String,
}

/// The columns of the query that are read.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    /// Fields and their columns.
    pub(super) fields: Vec<(&'static str, QueryColumn)>,
    id: QueryColumn,
    cursor: QueryColumn,
}

/// The value of the cursor column in a row.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Cursor {
    pub(super) text: String,
    pub(super) data_type: String,
}

/// Rows of a page as texts.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct PageRows {
    pub(super) rows: Vec<Vec<Option<String>>>,
    bytes: usize,
}

impl PageRows {
    pub(super) fn push(&mut self, row: Vec<Option<String>>) {
        self.bytes += row.iter().flatten().map(String::len).sum::<usize>();
        self.rows.push(row);
    }

    /// Whether more rows may follow, on the next page.
    pub(super) fn is_full(&self) -> bool {
        self.rows.len() >= PAGE_ROWS || self.bytes >= PAGE_BYTES
    }
}

/// The beginning of a page.
#[derive(Clone, Copy, Debug)]
pub(super) enum Begin<'a> {
    First,
    /// The rows of this cursor.
    At(&'a Cursor),
    /// The rows behind the one of this cursor and id.
    Behind(&'a Cursor, &'a str),
}

impl Columns {
    /// Finds the columns, whatever the case of their names.
    ///
    /// # Errors
    /// A column is missing, or unfit for a cursor.
    pub(super) fn find(dialect: Dialect, columns: &[QueryColumn], cursor: &str) -> Result<Self, String> {
        let find = |name: &str| {
            let is_same = |column: &&QueryColumn| {
                let plain = column.name.replace('_', "");
                column.name.eq_ignore_ascii_case(name) || plain.eq_ignore_ascii_case(name)
            };
            columns.iter().find(is_same).cloned()
        };
        let id = find("id").ok_or("sql.query: must give a column id")?;
        let fields: Vec<_> = FIELDS.into_iter().filter_map(|field| Some((field, find(field)?))).collect();
        if !fields.iter().any(|(field, _)| matches!(*field, "title" | "brief")) {
            return Err("sql.query: must give a column title or brief".to_owned());
        }
        let is_cursor = |column: &&QueryColumn| column.name.eq_ignore_ascii_case(cursor);
        let cursor = columns.iter().find(is_cursor).cloned();
        let cursor = cursor.ok_or("sql.cursorColumn: must name a column of the query")?;
        if !dialect.can_compare(&cursor.data_type) {
            return Err("sql.cursorColumn: must hold whole numbers, times or texts".to_owned());
        }
        Ok(Self { fields, id, cursor })
    }
}

/// The statement of a page, and its values.
///
/// Its columns are the fields, the id that orders, the cursor, and the cursor's type. The order by cursor and id lets a page begin
/// amid rows of one cursor.
pub(super) fn statement(
    dialect: Dialect,
    query: &str,
    columns: &Columns,
    begin: Begin<'_>,
) -> (String, Vec<String>) {
    let cut = |expression: &str, most: usize| format!("SUBSTR({}, 1, {most})", dialect.as_text(expression));
    let short = |column: &QueryColumn| cut(&dialect.quoted(&column.name), SHORT_CHARACTERS + 1);
    let cursor = dialect.quoted(&columns.cursor.name);
    let key = dialect.as_key(&dialect.quoted(&columns.id.name));
    let data_type = format!("'{}'", columns.cursor.data_type.replace('\'', ""));
    let own = [short(&columns.id), short(&columns.cursor), dialect.own_type(&cursor).unwrap_or(data_type)];
    let fields = columns.fields.iter().map(|(field, column)| {
        if *field == LONG { cut(&dialect.quoted(&column.name), LONG_CHARACTERS) } else { short(column) }
    });
    let selected: Vec<String> = fields.chain(own).collect();
    let mut values = Vec::new();
    let mut value = |text: &str| {
        values.push(text.to_owned());
        dialect.placeholder(values.len())
    };
    let condition = match begin {
        Begin::First => String::new(),
        Begin::At(at) => format!(" AND {cursor} >= {}", dialect.typed(value(&at.text), &at.data_type)),
        Begin::Behind(at, id) => {
            let above = dialect.typed(value(&at.text), &at.data_type);
            let equal = dialect.typed(value(&at.text), &at.data_type);
            let behind = dialect.key_of(value(id));
            format!(" AND ({cursor} > {above} OR ({cursor} = {equal} AND {key} > {behind}))")
        }
    };
    let selected = selected.join(", ");
    // A comment at the query's end ends with its line.
    let statement = format!(
        "SELECT {selected} FROM ({query}\n) AS subscribed WHERE {cursor} IS NOT NULL{condition} \
         ORDER BY {cursor}, {key} LIMIT {PAGE_ROWS}"
    );
    (statement, values)
}

/// The statement of the bytes of the longest id and cursor, in SQLite's words.
pub(super) fn lengths(dialect: Dialect, query: &str, columns: &Columns) -> String {
    let longest = |column: &QueryColumn| {
        format!("CAST(MAX(LENGTH(CAST({} AS BLOB))) AS TEXT)", dialect.quoted(&column.name))
    };
    let (id, cursor) = (longest(&columns.id), longest(&columns.cursor));
    format!("SELECT {id}, {cursor} FROM ({query}\n) AS subscribed")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, data_type: &str) -> QueryColumn {
        QueryColumn { name: name.to_owned(), data_type: data_type.to_owned() }
    }

    #[test]
    fn columns_are_found_by_any_case() {
        let columns = [column("ID", "INT8"), column("display_time", "INT8"), column("Title", "TEXT")];
        let found = Columns::find(Dialect::Postgres, &columns, "id").unwrap();
        let fields: Vec<_> = found.fields.iter().map(|(field, column)| (*field, &*column.name)).collect();
        assert_eq!(fields, [("id", "ID"), ("title", "Title"), ("displayTime", "display_time")]);
        for (columns, cursor, named) in [
            (&columns[1..], "title", "a column id"),
            (&columns[..2], "id", "title or brief"),
            (&columns[..], "updated", "sql.cursorColumn"),
        ] {
            assert!(Columns::find(Dialect::MySql, columns, cursor).unwrap_err().contains(named));
        }
        let real = [column("id", "TEXT"), column("title", "TEXT"), column("at", "REAL")];
        assert!(Columns::find(Dialect::Sqlite, &real, "at").is_err());
    }

    #[test]
    fn values_are_bound_and_names_quoted() {
        let columns = [column("id", "INT8"), column("title", "TEXT"), column("a\"b", "TIMESTAMPTZ")];
        let columns = Columns::find(Dialect::Postgres, &columns, "a\"b").unwrap();
        let cursor = Cursor { text: "'; DROP".to_owned(), data_type: "TIMESTAMPTZ".to_owned() };
        let (text, values) =
            statement(Dialect::Postgres, "SELECT 1 -- all", &columns, Begin::Behind(&cursor, "7"));
        assert_eq!(values, ["'; DROP", "'; DROP", "7"]);
        assert!(text.contains("(SELECT 1 -- all\n) AS subscribed"), "{text}");
        assert!(text.contains("subscribed.\"a\"\"b\" > CAST(CAST($1 AS TEXT) AS TIMESTAMPTZ)"), "{text}");
        assert!(!text.contains("DROP"));
    }
}
