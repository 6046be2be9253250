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
