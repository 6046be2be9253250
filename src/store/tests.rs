//! Groups of writes, savepoints, the change log, schemas.

use std::sync::Arc;

use super::{
    BatchedWrites, Connection, DatabaseAddress, FromRow, OpenError, Statement, Store, Value, change_log,
    placeholders, sql,
};
use crate::error::{Error, ErrorKind};

async fn open() -> (tempfile::TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), 2).await.unwrap();
    (directory, store)
}

async fn put(store: &Store, name: &str, then: fn() -> Result<(), Error>) -> Result<(), Error> {
    let name = name.to_owned();
    store
        .write(move |transaction| {
            Box::pin(async move {
                let insert = sql("INSERT INTO meta (name, value) VALUES (?, '')", [name.as_str().into()]);
                insert.execute(transaction).await?;
                transaction.record_change(1, "article", &name);
                then()
            })
        })
        .await
}

async fn names(store: &Store) -> Vec<String> {
    let statement = sql("SELECT name FROM meta WHERE name != 'store_id' ORDER BY name", []);
    statement.fetch_values(store.reader()).await.unwrap()
}

#[tokio::test]
async fn failed_request_undoes_only_itself() {
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
        let expected = [Ok(()), Err(ErrorKind::Conflict), Err(ErrorKind::Internal)][number % 3];
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
    assert_eq!(logged, kept, "the log has an entry for each row");
}

#[tokio::test]
async fn failed_item_of_a_batch_fails_alone() {
    let (_directory, store) = open().await;
    let batches =
        Arc::new(BatchedWrites::<String, String>::new(store.clone(), |transaction, _, _, items| {
            Box::pin(async move {
                for item in items {
                    let insert = sql("INSERT INTO meta (name, value) VALUES (?, '')", [item.as_str().into()]);
                    insert.execute(transaction).await?;
                    match item.parse::<usize>().unwrap() % 20 {
                        10 => return Err(Error::conflict("no")),
                        11 => panic!("a write that panics"),
                        _ => {}
                    }
                }
                Ok(items.to_vec())
            })
        }));
    let owner: Arc<str> = "owner".into();
    let write = |number: usize| batches.write(1, &owner, format!("{number:02}"));
    let outcomes = futures::future::join_all((0..60).map(write)).await;
    for (number, outcome) in outcomes.into_iter().enumerate() {
        let expected = match number % 20 {
            10 => Err(ErrorKind::Conflict),
            11 => Err(ErrorKind::Internal),
            _ => Ok(format!("{number:02}")),
        };
        assert_eq!(outcome.map_err(|error| error.kind), expected, "item {number}");
    }
    let kept = (0..60).filter(|number| !matches!(number % 20, 10 | 11)).map(|number| format!("{number:02}"));
    assert_eq!(names(&store).await, kept.collect::<Vec<_>>());

    store.close().await.unwrap();
    let refused = batches.write(1, &owner, "99".to_owned()).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Unavailable, "{refused}");
}

#[tokio::test]
async fn concurrent_items_of_an_owner_are_one_batch() {
    let (_directory, store) = open().await;
    let batches = Arc::new(BatchedWrites::<(), usize>::new(store, |_, _, _, items| {
        Box::pin(async move { Ok(vec![items.len(); items.len()]) })
    }));
    let owners: [Arc<str>; 2] = ["one".into(), "other".into()];
    let write = |number: usize| batches.write(1, &owners[usize::from(number < 7)], ());
    let sizes = futures::future::join_all((0..20).map(write)).await;
    for (number, size) in sizes.into_iter().enumerate() {
        assert_eq!(size.unwrap(), if number < 7 { 7 } else { 13 });
    }
}

#[tokio::test]
async fn positions_have_no_gaps_and_are_announced() {
    let (_directory, store) = open().await;
    let mut positions = store.positions();
    put(&store, "a", || Ok(())).await.unwrap();
    put(&store, "b", || Err(Error::conflict("no"))).await.unwrap_err();
    put(&store, "c", || Ok(())).await.unwrap();
    assert_eq!(*positions.borrow_and_update(), 2, "an undone write takes no position");
    let entries = change_log::entries_after(store.reader(), 0, 10).await.unwrap();
    assert_eq!(entries.iter().map(|entry| entry.position).collect::<Vec<_>>(), [1, 2]);
    assert!(entries.iter().all(|entry| entry.is_last), "each is its own request");

    let removed = store
        .write(|transaction| Box::pin(async move { Ok(change_log::remove_up_to(transaction, 2, 10).await?) }))
        .await
        .unwrap();
    assert_eq!(removed, 2);
    put(&store, "d", || Ok(())).await.unwrap();
    assert_eq!(
        change_log::first_position(store.reader()).await.unwrap(),
        Some(3),
        "positions are not reused"
    );
}

#[tokio::test]
async fn last_entry_of_a_request_is_marked() {
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
async fn closing_finishes_accepted_writes_and_refuses_others() {
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
    assert_eq!(late.kind, ErrorKind::Unavailable);
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
async fn newer_schema_is_refused() {
    let (directory, store) = open().await;
    store
        .write(|transaction| {
            Box::pin(async move {
                let newer = "INSERT INTO seaql_migrations (version, applied_at) VALUES ('9999_later', 0)";
                sql(newer, []).execute(transaction).await?;
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
    sql("DELETE FROM meta", []).execute(store.reader()).await.unwrap_err();
}

#[tokio::test]
async fn modules_of_the_first_schema_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let first = Connection::open_writer(&DatabaseAddress::in_directory(directory.path())).await.unwrap();
    for statements in [
        include_str!("migrations/sqlite/0001_foundation.sql"),
        "CREATE TABLE seaql_migrations (version TEXT NOT NULL PRIMARY KEY, applied_at INTEGER NOT NULL);
         INSERT INTO seaql_migrations VALUES ('0001_foundation', 1);
         INSERT INTO tenants (id, code, name, created_at) VALUES (1, 'acme', 'acme', 1), (2, 'other', 'other', 1);
         INSERT INTO search_modules (id, tenant_id, code, name, icon, order_no, type, sources)
         VALUES ('m', 1, 'article', 'Articles', 'a', 3, 1, '[\"builtin:article\"]');
         INSERT INTO search_sources (tenant_id, id, name, url, method, auth_type, result_order, timeout_ms, page_size,
         max_concurrency, enabled) VALUES (1, 'x', 'x', 'https://x.example/', 'GET', 'NONE', 'time', 1, 1, 1, 1);",
    ] {
        first.run_script(statements).await.unwrap();
    }
    first.close_writer().await.unwrap();

    let store = Store::open(directory.path(), 1).await.unwrap();
    let insert = "INSERT INTO search_modules (id, tenant_id, code, name, icon, order_no, type, sources) \
                  SELECT id, ?, code, name, icon, order_no, type, sources FROM search_modules";
    let copied = |tenant: i64| {
        store.write(move |transaction| {
            Box::pin(async move { Ok(sql(insert, [tenant.into()]).execute(transaction).await?) })
        })
    };
    assert_eq!(copied(2).await.unwrap(), 1, "ids are unique per tenant");
    assert!(copied(1).await.is_err(), "duplicate id");
    let text = "SELECT id, code, name, icon, sources, duplicates FROM search_modules WHERE tenant_id = 1";
    let texts: (String, String, String, String, String, String) =
        sql(text, []).fetch_one(store.reader()).await.unwrap();
    let expected = ["m", "article", "Articles", "a", r#"["builtin:article"]"#, "keep"];
    assert_eq!(<[String; 6]>::from(texts), expected);
    let text = "SELECT order_no, type, recency_percent, recency_half_life_days FROM search_modules WHERE tenant_id = 1";
    let numbers: (i64, i64, i64, i64) = sql(text, []).fetch_one(store.reader()).await.unwrap();
    assert_eq!(numbers, (3, 1, 15, 90));
    let text = "SELECT weight, hedging FROM search_sources";
    assert_eq!(sql(text, []).fetch_one::<(i64, bool)>(store.reader()).await.unwrap(), (1_000, false));
    store.close().await.unwrap();
}

pub(crate) async fn query_plan(connection: &Connection, statement: Statement) -> Vec<String> {
    #[derive(FromRow)]
    struct Step {
        detail: String,
    }

    let text = format!("EXPLAIN QUERY PLAN {}", statement.text);
    let steps: Vec<Step> = sql(text, statement.values).fetch_all(connection).await.unwrap();
    steps.into_iter().map(|step| step.detail).collect()
}

pub(crate) async fn plan_of_find(text: &str, first: &[Value], count: usize) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), 1).await.unwrap();
    let text = format!("{text} IN ({})", placeholders(count));
    let values = first.iter().cloned().chain((0..count).map(|_| Value::from("id")));
    let plan = query_plan(store.reader(), sql(text, values)).await;
    store.close().await.unwrap();
    plan
}
