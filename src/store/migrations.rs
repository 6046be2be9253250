//! Schema changes, oldest first.
//!
//! One that has been released is never edited: a new one follows it.
//!
//! PostgreSQL begins with the schema that SQLite has after its tenth. From there on each name has a script for either.

use super::{
    Connection, Result,
    dialect::{Dialect, WriteScope},
    now_millis, sql,
};

struct Migration {
    name: &'static str,
    script: &'static str,
}

/// The scripts of a database by their names.
macro_rules! migrations {
    ($database:literal: $($name:literal),+ $(,)?) => {
        [$(Migration {
            name: $name,
            script: include_str!(concat!("migrations/", $database, "/", $name, ".sql")),
        }),+]
    };
}

static SQLITE: [Migration; 29] = migrations!("sqlite":
    "0001_foundation",
    "0002_module_ids",
    "0003_weights_and_duplicates",
    "0004_hedging",
    "0005_directory",
    "0006_collaboration",
    "0007_files",
    "0008_sessions",
    "0009_portable",
    "0010_change_log_end",
    "0011_replicas",
    "0012_sign_in",
    "0013_removed_blobs",
    "0014_failover",
    "0015_vocabularies",
    "0016_recency",
    "0017_source_checks",
    "0018_audit_filters",
    "0019_source_credentials",
    "0020_figures",
    "0021_insights",
    "0022_mapped_sources",
    "0023_source_identity",
    "0024_subscriptions",
    "0025_text_problems",
    "0026_source_limits",
    "0027_folded_logins",
    "0028_keyed_secrets",
    "0029_personal_sign_in",
);

static POSTGRES: [Migration; 20] = migrations!("postgres":
    "0010_base",
    "0011_replicas",
    "0012_sign_in",
    "0013_removed_blobs",
    "0014_failover",
    "0015_vocabularies",
    "0016_recency",
    "0017_source_checks",
    "0018_audit_filters",
    "0019_source_credentials",
    "0020_figures",
    "0021_insights",
    "0022_mapped_sources",
    "0023_source_identity",
    "0024_subscriptions",
    "0025_text_problems",
    "0026_source_limits",
    "0027_folded_logins",
    "0028_keyed_secrets",
    "0029_personal_sign_in",
);

fn of(dialect: Dialect) -> &'static [Migration] {
    match dialect {
        Dialect::Sqlite => &SQLITE,
        Dialect::Postgres => &POSTGRES,
    }
}

/// The applied schema changes and when, in seconds since 1970.
///
/// Name and shape are those of `sea-orm-migration`.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS seaql_migrations \
                     (version VARCHAR NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)";

/// The first applied schema change that this program does not know.
pub(super) async fn first_unknown(connection: &Connection) -> Result<Option<String>> {
    in_transaction(connection, async || connection.run_script(TABLE).await).await?;
    let applied = sql("SELECT version FROM seaql_migrations ORDER BY version", []);
    let applied: Vec<String> = applied.fetch_values(connection).await?;
    let known = of(connection.dialect());
    Ok(applied.into_iter().find(|version| known.iter().all(|migration| migration.name != version)))
}

/// Applies what is missing. Another process may be opening the database, too.
pub(super) async fn run(connection: &Connection) -> Result<()> {
    run_first(connection, of(connection.dialect()).len()).await
}

async fn run_first(connection: &Connection, count: usize) -> Result<()> {
    let migrations = &of(connection.dialect())[..count];
    if !is_applied(connection, &migrations[0]).await? {
        // A new database: one durable commit is enough.
        return in_transaction(connection, async || apply_missing(connection, migrations).await).await;
    }
    for migration in migrations {
        if !is_applied(connection, migration).await? {
            let work = async || apply_missing(connection, std::slice::from_ref(migration)).await;
            in_transaction(connection, work).await?;
        }
    }
    Ok(())
}

/// Commits the work, or rolls it back where it fails.
pub(super) async fn in_transaction(
    connection: &Connection,
    work: impl AsyncFnOnce() -> Result<()>,
) -> Result<()> {
    connection.run_script(connection.dialect().begin(WriteScope::Any)).await?;
    let done = work().await;
    let ended = connection.run_script(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await;
    done.and(ended)
}

/// Applies what no other process has applied since.
async fn apply_missing(connection: &Connection, migrations: &[Migration]) -> Result<()> {
    for migration in migrations {
        if is_applied(connection, migration).await? {
            continue;
        }
        connection.run_script(migration.script).await?;
        let values = [migration.name.into(), (now_millis() / 1_000).into()];
        let insert = sql("INSERT INTO seaql_migrations (version, applied_at) VALUES (?, ?)", values);
        insert.execute(connection).await?;
    }
    Ok(())
}

async fn is_applied(connection: &Connection, migration: &Migration) -> Result<bool> {
    sql("SELECT 1 FROM seaql_migrations WHERE version = ?", [migration.name.into()]).exists(connection).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::DatabaseAddress;

    async fn lines(connection: &Connection, select: &'static str) -> Vec<String> {
        sql(select, []).fetch_values(connection).await.unwrap()
    }

    #[tokio::test]
    async fn directory_of_the_fourth_schema_is_converted() {
        let directory = tempfile::tempdir().unwrap();
        let connection =
            Connection::open_writer(&DatabaseAddress::in_directory(directory.path())).await.unwrap();
        assert_eq!(first_unknown(&connection).await.unwrap(), None);
        run_first(&connection, 4).await.unwrap();
        for statement in [
            "INSERT INTO tenants (id, code, name, created_at) VALUES (1, 'acme', 'acme', 1000), (2, 'other', 'other', 2000)",
            "INSERT INTO organizations VALUES (1, 'd1', 'p1', NULL, 'One', 1, 0, 0), (1, 'd2', 'p2', 'd1', 'Two', 1, 0, 1)",
            "INSERT INTO users VALUES (1, 'mei', 'p1', 'mei', 'Mei', 2, '139', 'd1', 1, 0, 0), \
             (1, 'omar', 'p2', 'OMAR', 'Omar', 1, NULL, NULL, 0, 1, 0), (1, 'lin', 'p3', 'mei', 'Lin', 1, NULL, 'd2', 1, 0, 1), \
             (2, 'mei', 'p1', 'MÉI', 'Another', 2, NULL, NULL, 1, 0, 0)",
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
        let select = "SELECT COALESCE(login_folded, '-') FROM users ORDER BY tenant_id, user_id";
        assert_eq!(
            lines(&connection, select).await,
            ["mei", "mei", "omar", "-"],
            "a server folds the last one"
        );
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
