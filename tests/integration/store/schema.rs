//! The schemas of SQLite and PostgreSQL.

use std::{fs, path::Path};

use crate::{
    layers::rust_files,
    util::{
        database::read,
        internals::{Store, Table, fold_logins, tables},
        postgres::{database, open, query, value},
    },
};

/// Sorts columns and drops their flags.
///
/// SQLite adds new columns at the end, and its booleans are integers.
fn sorted(mut tables: Vec<Table>) -> Vec<Table> {
    for table in &mut tables {
        table.columns.sort_by(|first, second| first.name.cmp(&second.name));
        table.columns.iter_mut().for_each(|column| column.is_flag = false);
    }
    tables
}

async fn names(store: &Store, text: &str) -> Vec<String> {
    read::<(String,)>(store, text, Vec::new()).await.into_iter().map(|(name,)| name).collect()
}

#[tokio::test]
async fn both_databases_have_the_same_tables_indexes_and_triggers() {
    let directory = tempfile::tempdir().unwrap();
    let sqlite = Store::open(directory.path(), 1).await.unwrap();
    let postgres = open(&database("schema")).await;
    let [of_sqlite, of_postgres] =
        [&sqlite, &postgres].map(|store| async { sorted(tables(store.reader()).await.unwrap()) });
    let (of_sqlite, of_postgres) = (of_sqlite.await, of_postgres.await);
    for (left, right) in of_sqlite.iter().zip(&of_postgres) {
        assert_eq!(left, right);
    }
    assert_eq!(of_sqlite.len(), of_postgres.len());

    let in_sqlite = "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name";
    let in_postgres = "SELECT indexes.relname::text AS name FROM pg_index \
        JOIN pg_class AS indexes ON indexes.oid = indexrelid \
        WHERE indexes.relnamespace = 'public'::regnamespace \
          AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u')) \
        ORDER BY indexes.relname";
    assert_eq!(names(&sqlite, in_sqlite).await, names(&postgres, in_postgres).await);
    let in_sqlite = "SELECT name FROM sqlite_schema WHERE type = 'trigger' ORDER BY name";
    let in_postgres = "SELECT tgname::text AS name FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgname";
    assert_eq!(names(&sqlite, in_sqlite).await, names(&postgres, in_postgres).await);
    for store in [sqlite, postgres] {
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn logins_of_an_earlier_schema_are_folded() {
    let url = database("folded");
    open(&url).await.close().await.unwrap();
    query(
        &url,
        "ALTER TABLE users DROP COLUMN login_folded; ALTER TABLE tasks DROP COLUMN assignee_login_folded; \
         ALTER TABLE sessions DROP COLUMN address, DROP COLUMN user_agent; DROP TABLE second_factors; \
         DELETE FROM seaql_migrations WHERE version >= '0027_folded_logins'; \
         INSERT INTO tenants (id, code, name, created_at) VALUES (1, 'acme', 'acme', 0); \
         INSERT INTO users (tenant_id, user_id, platform_user_id, login_id, name, sex, status, is_hidden, is_deleted, \
         created_at, updated_at) SELECT 1, login, login, login, login, 1, 1, FALSE, FALSE, 0, place \
         FROM UNNEST(ARRAY['IRMAK', 'ÜNAL', 'straße']) WITH ORDINALITY AS logins (login, place)",
    )
    .await;
    let folded = "SELECT STRING_AGG(COALESCE(login_folded, '-'), ' ' ORDER BY updated_at) FROM users";
    let store = open(&url).await;
    assert_eq!(value(&url, folded).await.trim(), "irmak - -");
    // Twice, as each start folds what is left.
    for _ in 0..2 {
        fold_logins(&store).await.unwrap();
        assert_eq!(value(&url, folded).await.trim(), "irmak ünal strasse");
    }
}

/// PostgreSQL refuses a prepared statement once a migration has changed what `*` stands for.
#[test]
fn statements_name_the_columns_that_they_read() {
    let mut found = Vec::new();
    for file in rust_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let text = fs::read_to_string(&file).unwrap();
        for (at, _) in text.match_indices('*') {
            let (before, after) = (&text[..at], &text[at + 1..]);
            // A subscribed database is asked once, and a common table names its columns itself.
            let is_all = before.ends_with("SELECT ") && !after.starts_with(" FROM (");
            let table = before.strip_suffix('.').and_then(|before| before.split([' ', '(', '"']).next_back());
            let is_tables =
                table.is_some_and(|table| table != "above" && table.ends_with(char::is_alphabetic));
            if is_all || is_tables {
                found.push(format!(
                    "{}: {}*",
                    file.display(),
                    before.lines().next_back().unwrap_or_default()
                ));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
