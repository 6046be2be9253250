//! The SQL of each kind of database.

use crate::platform::subscriptions::origins::DatabaseKind;

/// SQLite's name of the type.
const INTEGER: &str = "INTEGER";

/// The SQL that pages need, as a database writes it.
pub(super) type Dialect = DatabaseKind;

impl Dialect {
    pub(super) fn quoted(self, name: &str) -> String {
        match self {
            Self::MySql => format!("subscribed.`{}`", name.replace('`', "``")),
            Self::Postgres | Self::Sqlite => format!("subscribed.\"{}\"", name.replace('"', "\"\"")),
        }
    }

    pub(super) fn as_text(self, expression: &str) -> String {
        let text = if self == Self::MySql { "CHAR" } else { "TEXT" };
        format!("CAST({expression} AS {text})")
    }

    /// The id as it orders rows: byte by byte.
    pub(super) fn as_key(self, expression: &str) -> String {
        match self {
            Self::Postgres => format!("CAST({expression} AS TEXT) COLLATE \"C\""),
            Self::MySql => format!("CAST({expression} AS BINARY)"),
            Self::Sqlite => format!("CAST({expression} AS TEXT)"),
        }
    }

    pub(super) fn key_of(self, placeholder: String) -> String {
        if self == Self::MySql { format!("CAST({placeholder} AS BINARY)") } else { placeholder }
    }

    pub(super) fn placeholder(self, number: usize) -> String {
        match self {
            Self::Postgres => format!("CAST(${number} AS TEXT)"),
            Self::MySql => "?".to_owned(),
            Self::Sqlite => format!("?{number}"),
        }
    }

    /// The value of a cursor, which is given as text.
    pub(super) fn typed(self, placeholder: String, data_type: &str) -> String {
        match self {
            // `CHAR` in a cast is one character.
            Self::Postgres if data_type == "CHAR" => format!("CAST({placeholder} AS BPCHAR)"),
            Self::Postgres => format!("CAST({placeholder} AS {data_type})"),
            Self::MySql if data_type.contains("INT") => format!("CAST({placeholder} AS DECIMAL(20, 0))"),
            Self::MySql if matches!(data_type, "DATETIME" | "TIMESTAMP") => {
                format!("CAST({placeholder} AS DATETIME(6))")
            }
            Self::Sqlite if data_type == INTEGER => format!("CAST({placeholder} AS INTEGER)"),
            Self::MySql | Self::Sqlite => placeholder,
        }
    }

    /// The type of a value where it is the value's own, not the column's.
    pub(super) fn own_type(self, expression: &str) -> Option<String> {
        (self == Self::Sqlite).then(|| format!("upper(typeof({expression}))"))
    }

    /// Whether texts of this type's values, read and given back, are the same values.
    pub(super) fn can_compare(self, data_type: &str) -> bool {
        match self {
            Self::Postgres => data_type.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
            Self::MySql => {
                !matches!(data_type, "FLOAT" | "DOUBLE" | "BLOB" | "BINARY" | "VARBINARY" | "JSON")
            }
            Self::Sqlite => data_type != "REAL" && data_type != "BLOB",
        }
    }
}
