//! Schema changes, oldest first. One that has been released is never edited: a new one follows it.

use super::{Connection, Result, now_millis, sql};

const MIGRATIONS: [(&str, &str); 9] = [
    ("0001_foundation", include_str!("migrations/0001_foundation.sql")),
    ("0002_module_ids", include_str!("migrations/0002_module_ids.sql")),
    ("0003_weights_and_duplicates", include_str!("migrations/0003_weights_and_duplicates.sql")),
    ("0004_hedging", include_str!("migrations/0004_hedging.sql")),
    ("0005_directory", include_str!("migrations/0005_directory.sql")),
    ("0006_collaboration", include_str!("migrations/0006_collaboration.sql")),
    ("0007_files", include_str!("migrations/0007_files.sql")),
    ("0008_sessions", include_str!("migrations/0008_sessions.sql")),
    ("0009_portable", include_str!("migrations/0009_portable.sql")),
];

/// The applied schema changes and when, in seconds since 1970. Name and shape are those of `sea-orm-migration`.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS seaql_migrations \
                     (version varchar NOT NULL PRIMARY KEY, applied_at integer NOT NULL)";

pub(super) async fn run(connection: &Connection) -> Result<()> {
    run_first(connection, MIGRATIONS.len()).await
}

async fn run_first(connection: &Connection, count: usize) -> Result<()> {
    connection.run_script(TABLE).await?;
    for (name, script) in &MIGRATIONS[..count] {
        if is_applied(connection, name).await? {
            continue;
        }
        // IMMEDIATE: another process may be opening the database, too.
        connection.run_script("BEGIN IMMEDIATE").await?;
        let applied = apply(connection, name, script).await;
        let ended = connection.run_script(if applied.is_ok() { "COMMIT" } else { "ROLLBACK" }).await;
        applied.and(ended)?;
    }
    Ok(())
}

async fn apply(connection: &Connection, name: &str, script: &'static str) -> Result<()> {
    if is_applied(connection, name).await? {
        return Ok(());
    }
    connection.run_script(script).await?;
    let values = [name.into(), (now_millis() / 1_000).into()];
    let insert = sql("INSERT INTO seaql_migrations (version, applied_at) VALUES (?, ?)", values);
    insert.execute(connection).await.map(drop)
}

async fn is_applied(connection: &Connection, name: &str) -> Result<bool> {
    sql("SELECT 1 FROM seaql_migrations WHERE version = ?", [name.into()]).exists(connection).await
}

pub(super) async fn first_unknown(connection: &Connection) -> Result<Option<String>> {
    let table = sql("SELECT name FROM sqlite_master WHERE name = 'seaql_migrations'", []);
    if !table.exists(connection).await? {
        return Ok(None);
    }
    let applied = sql("SELECT version FROM seaql_migrations ORDER BY version", []);
    let applied: Vec<String> = applied.fetch_values(connection).await?;
    Ok(applied.into_iter().find(|version| MIGRATIONS.iter().all(|(name, _)| name != version)))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(connection: &Connection, select: &'static str) -> Vec<String> {
        sql(select, []).fetch_values(connection).await.unwrap()
    }

    #[tokio::test]
    async fn directory_of_the_fourth_schema_is_converted() {
        let directory = tempfile::tempdir().unwrap();
        let connection = Connection::open_writer(&directory.path().join("trawl.db")).await.unwrap();
        run_first(&connection, 4).await.unwrap();
        for statement in [
            "INSERT INTO tenants (id, code, name, created_at) VALUES (1, 'acme', 'acme', 1000), (2, 'other', 'other', 2000)",
            "INSERT INTO organizations VALUES (1, 'd1', 'p1', NULL, 'One', 1, 0, 0), (1, 'd2', 'p2', 'd1', 'Two', 1, 0, 1)",
            "INSERT INTO users VALUES (1, 'mei', 'p1', 'mei', 'Mei', 2, '139', 'd1', 1, 0, 0), \
             (1, 'omar', 'p2', 'omar', 'Omar', 1, NULL, NULL, 0, 1, 0), (1, 'lin', 'p3', 'mei', 'Lin', 1, NULL, 'd2', 1, 0, 1), \
             (2, 'mei', 'p1', 'mei', 'Another', 2, NULL, NULL, 1, 0, 0)",
        ] {
            connection.run_script(statement).await.unwrap();
        }
        run(&connection).await.unwrap();

        let select = "SELECT tenant_id || ' ' || user_id || ' ' || name || ' ' || COALESCE(mobile, '-') || ' ' || \
                      COALESCE(org_id, '-') || ' ' || status || is_hidden || is_deleted || ' ' || type || ' ' || updated_at AS line \
                      FROM users ORDER BY tenant_id, user_id";
        let expected = [
            "1 lin Lin - d2 101 1 1001",
            "1 mei Mei 139 d1 100 1 1002",
            "1 omar Omar - - 010 1 1003",
            "2 mei Another - - 100 1 2001",
        ];
        assert_eq!(lines(&connection, select).await, expected, "each row has its own time of change");
        let select = "SELECT code || ' ' || last_change || ' ' || (SELECT COUNT(*) FROM organizations WHERE tenant_id = tenants.id) \
                      AS line FROM tenants ORDER BY id";
        assert_eq!(lines(&connection, select).await, ["acme 1003 2", "other 2001 0"]);
        let select =
            "SELECT module || ' ' || COUNT(*) AS line FROM change_log GROUP BY module ORDER BY module";
        assert_eq!(lines(&connection, select).await, ["department 2", "people 4"], "all become searchable");
        connection.run_script("DELETE FROM tenants WHERE id = 1").await.unwrap();
        let select = "SELECT name FROM users UNION ALL SELECT name FROM organizations";
        assert_eq!(lines(&connection, select).await, ["Another"], "the tenant's rows go with it");
    }
}
