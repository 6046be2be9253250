use std::path::PathBuf;

use sqlx::Connection as _;
use sqlx_sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use tokio::runtime::Runtime;

use crate::{
    common::load::block_on,
    engine::{BATCH, Client, Engine, Found, LIMIT},
    queries::{Language, Order, Query, Row},
};

/// FTS5 in this process, without texts of its own; row ids ascend with time.
pub(crate) struct Sqlite {
    directory: tempfile::TempDir,
}

struct SqliteClient {
    runtime: Runtime,
    connection: SqliteConnection,
}

impl Sqlite {
    pub(crate) fn start() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn options(&self) -> SqliteConnectOptions {
        SqliteConnectOptions::new()
            .filename(self.directory.path().join("texts.db"))
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .pragma("mmap_size", "4294967296")
            .pragma("cache_size", "-65536")
    }
}

impl Engine for Sqlite {
    fn name(&self) -> String {
        let version = async {
            let mut connection = SqliteConnection::connect_with(&self.options()).await.unwrap();
            sqlx::query_scalar::<_, String>("SELECT sqlite_version()").fetch_one(&mut connection).await
        };
        format!("SQLite {} FTS5, in process", block_on(version).unwrap())
    }

    fn fill(&mut self, language: Language, rows: &[Row]) {
        block_on(async {
            let mut connection = SqliteConnection::connect_with(&self.options()).await.unwrap();
            for statement in [
                "CREATE TABLE texts (rowid INTEGER PRIMARY KEY, title TEXT, id TEXT, time INTEGER)",
                "CREATE VIRTUAL TABLE words USING fts5(words, content = '', tokenize = 'porter unicode61')",
            ] {
                sqlx::query(statement).execute(&mut connection).await.unwrap();
            }
            for (first, batch) in rows.chunks(BATCH).enumerate() {
                let mut transaction = connection.begin().await.unwrap();
                for (number, row) in batch.iter().enumerate() {
                    let row_id = i64::try_from(first * BATCH + number).unwrap();
                    sqlx::query("INSERT INTO words (rowid, words) VALUES (?, ?)")
                        .bind(row_id)
                        .bind(language.spaced(&row.title))
                        .execute(&mut *transaction)
                        .await
                        .unwrap();
                    sqlx::query("INSERT INTO texts (rowid, title, id, time) VALUES (?, ?, ?, ?)")
                        .bind(row_id)
                        .bind(&row.title)
                        .bind(&row.id)
                        .bind(row.time)
                        .execute(&mut *transaction)
                        .await
                        .unwrap();
                }
                transaction.commit().await.unwrap();
            }
            sqlx::query("INSERT INTO words (words) VALUES ('optimize')")
                .execute(&mut connection)
                .await
                .unwrap();
        });
    }

    fn connect(&self) -> Box<dyn Client> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let connection = runtime.block_on(SqliteConnection::connect_with(&self.options())).unwrap();
        Box::new(SqliteClient { runtime, connection })
    }

    fn process(&self) -> Option<u32> {
        None
    }

    fn files(&self) -> PathBuf {
        self.directory.path().to_owned()
    }
}

impl Client for SqliteClient {
    fn search(&mut self, query: &Query) -> Found {
        let between = match (query.is_phrase, query.order) {
            (true, _) => " ",
            (false, Order::Newest) => "\" \"",
            (false, Order::Best) => "\" OR \"",
        };
        let matching = format!("\"{}\"", query.spaced().replace(' ', between));
        let page = match query.order {
            Order::Newest => {
                "SELECT title, id, time FROM words JOIN texts USING (rowid) WHERE words MATCH ? \
                 ORDER BY words.rowid DESC LIMIT ?"
            }
            Order::Best => {
                "SELECT title, id, time FROM words JOIN texts USING (rowid) WHERE words MATCH ? ORDER BY rank LIMIT ?"
            }
        };
        let limit = i64::try_from(LIMIT).unwrap();
        self.runtime.block_on(async {
            let rows: Vec<(String, String, i64)> = sqlx::query_as(page)
                .bind(&matching)
                .bind(limit)
                .fetch_all(&mut self.connection)
                .await
                .unwrap();
            let total: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM words WHERE words MATCH ?")
                .bind(&matching)
                .fetch_one(&mut self.connection)
                .await
                .unwrap();
            Found { total: total.try_into().unwrap(), rows: rows.len() }
        })
    }
}
