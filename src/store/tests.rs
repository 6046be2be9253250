//! The store's promises: groups, savepoints, the change log, and what is refused.

use std::sync::Arc;

use sea_orm::{ConnectionTrait, Value};

use super::{FILE_NAME, OpenError, Store, change_log, connect, placeholders, rfc3339, sql};
use crate::error::{Error, Kind};

async fn open() -> (tempfile::TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), 2).await.unwrap();
    (directory, store)
}

/// Writes one row and one log entry; fails or panics afterwards when told.
async fn put(store: &Store, name: &str, then: fn() -> Result<(), Error>) -> Result<(), Error> {
    let name = name.to_owned();
    store
        .write(move |transaction| {
            Box::pin(async move {
                let insert = sql("INSERT INTO meta (name, value) VALUES (?, '')", [name.as_str().into()]);
                transaction.execute_raw(insert).await?;
                transaction.record_change(1, "article", &name);
                then()
            })
        })
        .await
}

async fn names(store: &Store) -> Vec<String> {
    let rows = store
        .reader()
        .query_all_raw(sql("SELECT name FROM meta WHERE name != 'store_id' ORDER BY name", []))
        .await
        .unwrap();
    rows.iter().map(|row| row.try_get("", "name").unwrap()).collect()
}

#[tokio::test]
async fn a_request_that_fails_undoes_only_itself() {
    let (_directory, store) = open().await;
    let store = Arc::new(store);
    let outcomes = futures::future::join_all((0..60).map(|number| {
        let store = Arc::clone(&store);
        async move {
            let name = format!("{number:02}");
            match number % 3 {
                0 => put(&store, &name, || Ok(())).await.map_err(|error| error.kind),
                1 => put(&store, &name, || Err(Error::conflict("no"))).await.map_err(|error| error.kind),
                _ => put(&store, &name, || panic!("a write that panics")).await.map_err(|error| error.kind),
            }
        }
    }))
    .await;
    for (number, outcome) in outcomes.into_iter().enumerate() {
        let expected = [Ok(()), Err(Kind::Conflict), Err(Kind::Internal)][number % 3];
        assert_eq!(outcome, expected, "write {number}");
    }
    let kept: Vec<String> = (0..60).step_by(3).map(|number| format!("{number:02}")).collect();
    assert_eq!(names(&store).await, kept);

    let mut logged: Vec<String> = change_log::entries_after(store.reader(), 0, 1_000)
        .await
        .unwrap()
        .into_iter()
        .map(|entry| entry.item_id)
        .collect();
    logged.sort();
    assert_eq!(logged, kept, "the log speaks of exactly the rows that were kept");
}

#[tokio::test]
async fn positions_have_no_gaps_and_are_announced() {
    let (_directory, store) = open().await;
    let mut positions = store.positions();
    put(&store, "a", || Ok(())).await.unwrap();
    put(&store, "b", || Err(Error::conflict("no"))).await.unwrap_err();
    put(&store, "c", || Ok(())).await.unwrap();
    assert_eq!(*positions.borrow_and_update(), 2, "what was undone took no position");
    let entries = change_log::entries_after(store.reader(), 0, 10).await.unwrap();
    assert_eq!(entries.iter().map(|entry| entry.position).collect::<Vec<_>>(), [1, 2]);
    assert!(entries.iter().all(|entry| entry.is_last), "each was a request of its own");

    let removed = store
        .write(|transaction| Box::pin(async move { Ok(change_log::remove_up_to(transaction, 2, 10).await?) }))
        .await
        .unwrap();
    assert_eq!(removed, 2);
    put(&store, "d", || Ok(())).await.unwrap();
    assert_eq!(
        change_log::first_position(store.reader()).await.unwrap(),
        Some(3),
        "no position is used twice"
    );
}

#[tokio::test]
async fn the_entries_of_one_request_end_with_a_mark() {
    let (_directory, store) = open().await;
    store
        .write(|transaction| {
            Box::pin(async move {
                for number in 0..2_500 {
                    transaction.record_change(1, "article", &number.to_string());
                }
                Ok(())
            })
        })
        .await
        .unwrap();
    let entries = change_log::entries_after(store.reader(), 0, 10_000).await.unwrap();
    assert_eq!(entries.len(), 2_500);
    assert_eq!(entries.iter().position(|entry| entry.is_last), Some(2_499));
}

#[tokio::test]
async fn closing_finishes_what_was_accepted_and_refuses_the_rest() {
    let (directory, store) = open().await;
    let writes: Vec<_> = (0..20)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move { put(&store, &format!("{number:02}"), || Ok(())).await })
        })
        .collect();
    tokio::task::yield_now().await;
    store.clone().close().await.unwrap();
    let late = put(&store, "late", || Ok(())).await.unwrap_err();
    assert_eq!(late.kind, Kind::Unavailable);
    let mut acknowledged = Vec::new();
    for (number, write) in writes.into_iter().enumerate() {
        if write.await.unwrap().is_ok() {
            acknowledged.push(format!("{number:02}"));
        }
    }
    let again = Store::open(directory.path(), 1).await.unwrap();
    assert_eq!(again.id(), store.id());
    assert_eq!(names(&again).await, acknowledged);
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let (directory, store) = open().await;
    store
        .write(|transaction| {
            Box::pin(async move {
                let newer = "INSERT INTO seaql_migrations (version, applied_at) VALUES ('9999_later', 0)";
                transaction.execute_raw(sql(newer, [])).await?;
                Ok(())
            })
        })
        .await
        .unwrap();
    store.close().await.unwrap();
    match Store::open(directory.path(), 1).await {
        Err(OpenError::NewerSchema { migration, .. }) => assert_eq!(migration, "9999_later"),
        other => panic!("{:?}", other.map(|_| "opened")),
    }
}

#[tokio::test]
async fn readers_cannot_write() {
    let (_directory, store) = open().await;
    let refused = store.reader().execute_raw(sql("DELETE FROM meta", [])).await;
    assert!(refused.is_err());
}

/// A database of the first schema keeps its modules, whose ids are their tenant's own from then on, and its sources.
#[tokio::test]
async fn modules_of_the_first_schema_stay() {
    let directory = tempfile::tempdir().unwrap();
    let first = connect(&directory.path().join(FILE_NAME), 1, false).await.unwrap();
    for statements in [
        include_str!("migrations/0001_foundation.sql"),
        "CREATE TABLE seaql_migrations (version TEXT NOT NULL PRIMARY KEY, applied_at INTEGER NOT NULL);
         INSERT INTO seaql_migrations VALUES ('0001_foundation', 1);
         INSERT INTO tenants (id, code, name, created_at) VALUES (1, 'acme', 'acme', 1), (2, 'other', 'other', 1);
         INSERT INTO search_modules (id, tenant_id, code, name, icon, order_no, type, sources)
         VALUES ('m', 1, 'article', 'Articles', 'a', 3, 1, '[\"builtin:article\"]');
         INSERT INTO search_sources (tenant_id, id, name, url, method, auth_type, result_order, timeout_ms, page_size,
         max_concurrency, enabled) VALUES (1, 'x', 'x', 'https://x.example/', 'GET', 'NONE', 'time', 1, 1, 1, 1);",
    ] {
        first.execute_unprepared(statements).await.unwrap();
    }
    first.close().await.unwrap();

    let store = Store::open(directory.path(), 1).await.unwrap();
    let insert = "INSERT INTO search_modules (id, tenant_id, code, name, icon, order_no, type, sources) \
                  SELECT id, ?, code, name, icon, order_no, type, sources FROM search_modules";
    let copied = |tenant: i64| {
        store.write(move |transaction| {
            Box::pin(async move {
                Ok(transaction.execute_raw(sql(insert, [tenant.into()])).await?.rows_affected())
            })
        })
    };
    assert_eq!(copied(2).await.unwrap(), 1, "the same id in another tenant is no obstacle");
    assert!(copied(1).await.is_err(), "an id is there twice");
    let row = sql("SELECT * FROM search_modules WHERE tenant_id = 1", []);
    let row = store.reader().query_one_raw(row).await.unwrap().unwrap();
    let text = |column: &str| row.try_get::<String>("", column).unwrap();
    assert_eq!(["id", "code", "name", "icon"].map(text), ["m", "article", "Articles", "a"]);
    assert_eq!(text("sources"), r#"["builtin:article"]"#);
    let number = |column: &str| row.try_get::<i64>("", column).unwrap();
    assert_eq!(["order_no", "type"].map(number), [3, 1]);
    assert_eq!(text("duplicates"), "keep");
    let source = sql("SELECT weight, hedging FROM search_sources", []);
    let source = store.reader().query_one_raw(source).await.unwrap().unwrap();
    assert_eq!(source.try_get::<i64>("", "weight").unwrap(), 1_000);
    assert!(!source.try_get::<bool>("", "hedging").unwrap());
    store.close().await.unwrap();
}

#[test]
fn a_time_is_written_to_the_millisecond() {
    assert_eq!(rfc3339(1_704_067_200_000), "2024-01-01T00:00:00.000Z");
    assert_eq!(rfc3339(1_704_067_200_050), "2024-01-01T00:00:00.050Z");
}

/// The steps by which SQLite answers what [`find_in`] asks with so many values, on the schema as it is.
pub(crate) async fn plan_of_find(text: &str, first: &[Value], count: usize) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), 1).await.unwrap();
    let text = format!("EXPLAIN QUERY PLAN {text} IN ({})", placeholders(count));
    let values = first.iter().cloned().chain((0..count).map(|_| Value::from("id")));
    let plan = store.reader().query_all_raw(sql(text, values)).await.unwrap();
    store.close().await.unwrap();
    plan.iter().map(|step| step.try_get("", "detail").unwrap()).collect()
}
