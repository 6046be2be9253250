//! Statements, written for SQLite, as each database reads them.

use std::fmt::Write as _;

use uuid::Uuid;

use super::now_millis;

/// A database's dialect of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite.
    Sqlite,
    /// PostgreSQL 15 or newer.
    Postgres,
}

/// Rows that a write job may touch and no other job changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteScope {
    /// Rows of any tenant, and those of none.
    Any,
    Tenant(i64),
}

/// Lock that PostgreSQL's write transactions take, like SQLite's `BEGIN IMMEDIATE`.
///
/// Those on rows of one tenant share it, and take turns by the tenant's lock.
const WRITE_LOCK: i64 = 500_236_712_812;

/// Names the tenant's lock, with the tenant's number.
const TENANT_LOCK: i32 = 116_503;

impl Dialect {
    /// Begins a write transaction, after those on the same rows.
    pub(super) fn begin(self, scope: WriteScope) -> String {
        match self {
            // A deferred transaction that reads and then writes fails when another process wrote in between.
            Self::Sqlite => "BEGIN IMMEDIATE".to_owned(),
            // READ COMMITTED: a later statement sees what the holder of the lock before committed.
            Self::Postgres => {
                let lock = match scope {
                    WriteScope::Any => format!("SELECT pg_advisory_xact_lock({WRITE_LOCK})"),
                    WriteScope::Tenant(tenant_id) => format!(
                        "SELECT pg_advisory_xact_lock_shared({WRITE_LOCK}); \
                         SELECT pg_advisory_xact_lock({TENANT_LOCK}, {})",
                        lock_number(tenant_id)
                    ),
                };
                format!("BEGIN; {lock}")
            }
        }
    }

    /// Counts a transaction of a writer; follows its begin.
    ///
    /// PostgreSQL's own transaction ids do not tell whether one was committed.
    /// After a crash it gives some of them again.
    pub(super) fn count_transaction(self, writer: Uuid) -> String {
        match self {
            Self::Sqlite => String::new(),
            Self::Postgres => format!(
                "; INSERT INTO writers (id, transactions, begun_at) VALUES ('{writer}', 1, {}) ON CONFLICT (id) DO UPDATE \
                 SET transactions = writers.transactions + 1, begun_at = excluded.begun_at RETURNING transactions::text",
                now_millis()
            ),
        }
    }

    /// Takes the lock of a scope, unless another transaction holds it.
    ///
    /// PostgreSQL tells whether it did. Nothing is to be taken by transactions whose jobs have the same scope.
    pub(super) fn try_lock(self, scope: WriteScope) -> Option<String> {
        match (self, scope) {
            (Self::Postgres, WriteScope::Tenant(tenant_id)) => {
                let number = lock_number(tenant_id);
                Some(format!("SELECT pg_try_advisory_xact_lock({TENANT_LOCK}, {number})::text"))
            }
            _ => None,
        }
    }
}

/// Tenants of one number wait for each other needlessly, and not more.
#[allow(clippy::cast_possible_truncation, reason = "any number will do")]
fn lock_number(tenant_id: i64) -> i32 {
    tenant_id as i32
}

/// `text` for PostgreSQL: numbered parameters, without hints for SQLite's planner.
///
/// Hints are `INDEXED BY index`, `CROSS` before `JOIN`, and a plus before a column's name.
pub(super) fn postgres(text: &str) -> String {
    let mut translated = String::with_capacity(text.len() + 16);
    let mut last_parameter = 0;
    let mut rest = text;
    while let Some(place) = rest.find(['?', '\'', '"', 'I', 'C', '+']) {
        let (before, found) = rest.split_at(place);
        translated.push_str(before);
        let starts_word = !translated.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let taken = match found.as_bytes()[0] {
            b'?' => {
                let digits = found[1..].bytes().take_while(u8::is_ascii_digit).count();
                let number = found[1..=digits].parse().unwrap_or(last_parameter + 1);
                last_parameter = last_parameter.max(number);
                // Writing to a string cannot fail.
                let _ = write!(translated, "${number}");
                1 + digits
            }
            quote @ (b'\'' | b'"') => {
                let end = found[1..].find(char::from(quote)).map_or(found.len(), |end| end + 2);
                translated.push_str(&found[..end]);
                end
            }
            b'I' if starts_word && found.starts_with("INDEXED BY ") => {
                let name = &found["INDEXED BY ".len()..];
                let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(name.len());
                translated.truncate(translated.trim_end().len());
                "INDEXED BY ".len() + end
            }
            b'C' if starts_word && found.starts_with("CROSS JOIN ") => "CROSS ".len(),
            b'+' if is_hint(before, &found[1..]) => 1,
            _ => {
                translated.push_str(&found[..1]);
                1
            }
        };
        rest = &found[taken..];
    }
    translated.push_str(rest);
    translated
}

/// Whether a plus between these is a hint, and no addition.
fn is_hint(before: &str, after: &str) -> bool {
    let follows_operand = before
        .trim_end()
        .ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || [')', '_', '?'].contains(&c));
    !follows_operand && after.starts_with(|c: char| c.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::postgres;

    #[test]
    fn parameters_are_numbered() {
        assert_eq!(postgres("SELECT ?, ?"), "SELECT $1, $2");
        assert_eq!(postgres("SELECT ?2, ?1, ?, ?2"), "SELECT $2, $1, $3, $2");
        assert_eq!(postgres("SELECT ?12"), "SELECT $12");
    }

    #[test]
    fn quoted_text_is_kept() {
        assert_eq!(
            postgres("SELECT 'why? INDEXED BY x', \"a?\" = ?"),
            "SELECT 'why? INDEXED BY x', \"a?\" = $1"
        );
        assert_eq!(postgres("SELECT 'it''s ?', ?"), "SELECT 'it''s ?', $1");
    }

    #[test]
    fn planner_hints_are_dropped() {
        assert_eq!(postgres("FROM a INDEXED BY a_by_b WHERE x"), "FROM a WHERE x");
        assert_eq!(postgres("FROM a CROSS JOIN b ON a.x = b.x"), "FROM a JOIN b ON a.x = b.x");
        assert_eq!(postgres("WHERE +tenant_id = ? AND (+a.b = 1)"), "WHERE tenant_id = $1 AND (a.b = 1)");
    }

    #[test]
    fn additions_are_kept() {
        assert_eq!(
            postgres("SET epoch = epoch + 1, a = b +c, d = MAX(?) + ?"),
            "SET epoch = epoch + 1, a = b +c, d = MAX($1) + $2"
        );
        assert_eq!(postgres("SELECT ? + count"), "SELECT $1 + count");
    }

    #[test]
    fn words_that_only_resemble_hints_are_kept() {
        assert_eq!(
            postgres("INSERT INTO CROSSING SELECT IN_INDEXED"),
            "INSERT INTO CROSSING SELECT IN_INDEXED"
        );
    }
}
