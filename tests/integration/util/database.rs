//! The database of a server.

pub(crate) use trawl::store::Value as SqlValue;
use trawl::store::{Record, Store, sql};

use super::app::TestApp;

/// A statement and its values.
pub(crate) type Statement = (String, Vec<SqlValue>);

/// Writes in one transaction, with changes (tenant, module, item) for the index.
pub(crate) async fn write(
    store: &Store,
    statements: Vec<Statement>,
    changes: Vec<(i64, &'static str, String)>,
) {
    let job = store.write(move |transaction| {
        Box::pin(async move {
            for (text, values) in statements {
                sql(text, values).execute(transaction).await?;
            }
            for (tenant_id, module, id) in changes {
                transaction.record_change(tenant_id, module, &id);
            }
            Ok(())
        })
    });
    job.await.unwrap();
}

pub(crate) async fn read<T: Record>(store: &Store, text: &str, values: Vec<SqlValue>) -> Vec<T> {
    sql(text.to_owned(), values).fetch_all(store.reader()).await.unwrap()
}

impl TestApp {
    pub(crate) async fn execute(&self, text: &str) {
        self.execute_with(text, Vec::new()).await;
    }

    pub(crate) async fn execute_with(&self, text: &str, values: Vec<SqlValue>) {
        write(&self.app.store, vec![(text.to_owned(), values)], Vec::new()).await;
    }

    pub(crate) async fn row<T: Record>(&self, text: &str, values: Vec<SqlValue>) -> T {
        sql(text.to_owned(), values).fetch_one(self.app.store.reader()).await.unwrap()
    }

    pub(crate) async fn number(&self, query: &str) -> i64 {
        // PostgreSQL's sums are not integers.
        self.row::<(i64,)>(&format!("SELECT CAST(({query}) AS BIGINT)"), Vec::new()).await.0
    }

    pub(crate) async fn text(&self, query: &str) -> String {
        self.row::<(String,)>(query, Vec::new()).await.0
    }

    pub(crate) async fn count_rows(&self, table: &str) -> i64 {
        self.number(&format!("SELECT COUNT(*) FROM {table}")).await
    }
}
