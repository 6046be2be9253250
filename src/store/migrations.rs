//! Schema changes, oldest first. One that has been released is never edited: a new one follows it.

use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr};
use sea_orm_migration::{MigrationName, MigrationTrait, MigratorTrait, SchemaManager};

use super::sql;

/// Brings the database to the schema of this version.
pub(super) async fn run(connection: &DatabaseConnection) -> Result<(), DbErr> {
    Migrator::up(connection, None).await
}

/// The first schema change that the database has and this version does not know.
pub(super) async fn first_unknown(connection: &DatabaseConnection) -> Result<Option<String>, DbErr> {
    let table = sql("SELECT name FROM sqlite_master WHERE name = 'seaql_migrations'", []);
    if connection.query_one_raw(table).await?.is_none() {
        return Ok(None);
    }
    let known: Vec<String> =
        Migrator::migrations().iter().map(|migration| migration.name().to_owned()).collect();
    let applied = sql("SELECT version FROM seaql_migrations ORDER BY version", []);
    for row in connection.query_all_raw(applied).await? {
        let name: String = row.try_get("", "version")?;
        if !known.contains(&name) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

struct Migrator;

impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![
            Box::new(SqlMigration {
                name: "0001_foundation",
                sql: include_str!("migrations/0001_foundation.sql"),
            }),
            Box::new(SqlMigration {
                name: "0002_module_ids",
                sql: include_str!("migrations/0002_module_ids.sql"),
            }),
            Box::new(SqlMigration {
                name: "0003_weights_and_duplicates",
                sql: include_str!("migrations/0003_weights_and_duplicates.sql"),
            }),
            Box::new(SqlMigration { name: "0004_hedging", sql: include_str!("migrations/0004_hedging.sql") }),
            Box::new(SqlMigration {
                name: "0005_directory",
                sql: include_str!("migrations/0005_directory.sql"),
            }),
            Box::new(SqlMigration {
                name: "0006_collaboration",
                sql: include_str!("migrations/0006_collaboration.sql"),
            }),
            Box::new(SqlMigration { name: "0007_files", sql: include_str!("migrations/0007_files.sql") }),
            Box::new(SqlMigration {
                name: "0008_sessions",
                sql: include_str!("migrations/0008_sessions.sql"),
            }),
        ]
    }
}

/// A schema change written as SQL, applied whole or not at all.
struct SqlMigration {
    name: &'static str,
    sql: &'static str,
}

impl MigrationName for SqlMigration {
    fn name(&self) -> &str {
        self.name
    }
}

#[async_trait::async_trait]
impl MigrationTrait for SqlMigration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.get_connection().execute_unprepared(self.sql).await?;
        Ok(())
    }

    /// SQLite migrations run outside a transaction unless told.
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::connect;

    async fn lines(connection: &DatabaseConnection, select: &str) -> Vec<String> {
        let rows = connection.query_all_raw(sql(select, [])).await.unwrap();
        rows.iter().map(|row| row.try_get("", "line").unwrap()).collect()
    }

    /// What was kept before the directory had all its fields is there afterwards, each row with a time of change of its own.
    #[tokio::test]
    async fn a_directory_of_before_is_taken_over() {
        let directory = tempfile::tempdir().unwrap();
        let connection = connect(&directory.path().join("trawl.db"), 1, false).await.unwrap();
        Migrator::up(&connection, Some(4)).await.unwrap();
        for statement in [
            "INSERT INTO tenants (id, code, name, created_at) VALUES (1, 'acme', 'acme', 1000), (2, 'other', 'other', 2000)",
            "INSERT INTO organizations VALUES (1, 'd1', 'p1', NULL, 'One', 1, 0, 0), (1, 'd2', 'p2', 'd1', 'Two', 1, 0, 1)",
            "INSERT INTO users VALUES (1, 'mei', 'p1', 'mei', 'Mei', 2, '139', 'd1', 1, 0, 0), \
             (1, 'omar', 'p2', 'omar', 'Omar', 1, NULL, NULL, 0, 1, 0), (1, 'lin', 'p3', 'mei', 'Lin', 1, NULL, 'd2', 1, 0, 1), \
             (2, 'mei', 'p1', 'mei', 'Another', 2, NULL, NULL, 1, 0, 0)",
        ] {
            connection.execute_unprepared(statement).await.unwrap();
        }
        run(&connection).await.unwrap();

        let select = "SELECT tenant_id || ' ' || user_id || ' ' || name || ' ' || COALESCE(mobile, '-') || ' ' || \
                      COALESCE(org_id, '-') || ' ' || status || is_hidden || is_deleted || ' ' || type || ' ' || updated_at AS line \
                      FROM users ORDER BY tenant_id, user_id";
        let found = lines(&connection, select).await;
        let expected = [
            "1 lin Lin - d2 101 1 1001",
            "1 mei Mei 139 d1 100 1 1002",
            "1 omar Omar - - 010 1 1003",
            "2 mei Another - - 100 1 2001",
        ];
        assert_eq!(found, expected);
        let select = "SELECT code || ' ' || last_change || ' ' || (SELECT COUNT(*) FROM organizations WHERE tenant_id = tenants.id) \
                      AS line FROM tenants ORDER BY id";
        let found = lines(&connection, select).await;
        assert_eq!(found, ["acme 1003 2", "other 2001 0"]);
        // All of them are to be found from now on.
        let select =
            "SELECT module || ' ' || COUNT(*) AS line FROM change_log GROUP BY module ORDER BY module";
        let found = lines(&connection, select).await;
        assert_eq!(found, ["department 2", "people 4"]);
        // A tenant still takes all that it has with it.
        connection.execute_unprepared("DELETE FROM tenants WHERE id = 1").await.unwrap();
        let left =
            connection.query_all_raw(sql("SELECT 1 FROM users UNION ALL SELECT 1 FROM organizations", []));
        assert_eq!(left.await.unwrap().len(), 1);
    }
}
