use serde_json::json;

use crate::util::{
    app::TestApp,
    eventually,
    folders::{ask, files, folder, give, list, put_files},
    internals::remove_portion,
};

async fn bytes(app: &TestApp) -> [i64; 3] {
    let live = "WITH RECURSIVE live (id) AS (SELECT id FROM directories WHERE subject IS NOT NULL \
          UNION ALL SELECT next.id FROM live JOIN directories AS next ON next.parent_id = live.id) \
        SELECT COALESCE(SUM(stored_bytes), 0) FROM files WHERE directory_id IN (SELECT id FROM live)";
    [
        app.number("SELECT SUM(file_bytes) FROM tenants").await,
        app.number("SELECT SUM(file_bytes) FROM directories WHERE subject IS NOT NULL").await,
        app.number(live).await,
    ]
}

#[tokio::test]
async fn folder_is_deleted_with_everything_below() {
    let (app, _, [mei, omar]) = TestApp::start_with_people(["mei", "omar"]).await;
    let (kept, gone) = (folder(&mei, "", "Kept").await, folder(&mei, "", "Gone").await);
    let below = folder(&mei, &gone, "Below").await;
    let deep = folder(&mei, &below, "Deep").await;
    give(&mei, &deep, "viewer", &["omar"]).await;
    for (id, sizes) in [(&kept, [1, 2]), (&gone, [10, 20]), (&below, [100, 200]), (&deep, [1_000, 2_000])] {
        put_files(&app, id, "f", &sizes).await;
    }
    assert_eq!(bytes(&app).await, [3_333; 3]);
    let answer = ask(&mei, "delete", json!({"dirId": gone})).await.ok_epoch();
    let only = json!({"id": gone, "name": null, "fullPath": null, "parentId": null, "version": null, "permissions": null});
    assert_eq!(answer.data(), &only);
    assert_eq!(bytes(&app).await, [3; 3]);
    assert_eq!(list(&mei, "").await.ok_epoch().ids(), [kept.as_str()]);
    assert_eq!(list(&omar, "").await.ok_epoch().total(), 0);
    for id in [&gone, &below, &deep] {
        files(&mei, id).await.fails_in_business(430_003, "no folder");
        files(&omar, id).await.fails_in_business(430_003, "no folder");
    }
    folder(&mei, "", "Gone").await;
    app.app.maintenance.make_round().await.unwrap();
    for (query, left) in [
        ("SELECT COUNT(*) FROM directories", 3),
        ("SELECT COUNT(*) FROM files", 2),
        ("SELECT COUNT(*) FROM file_versions", 2),
        ("SELECT COUNT(*) FROM directory_grants", 0),
    ] {
        assert_eq!(app.number(query).await, left, "{query}");
    }
    assert_eq!(files(&mei, &kept).await.ok_epoch().total(), 2);
}

/// Portions of 500 rows, versions included.
#[tokio::test]
async fn many_rows_are_removed_in_portions() {
    let (app, _, [mei]) = TestApp::start_with_people(["mei"]).await;
    let gone = folder(&mei, "", "Gone").await;
    put_files(&app, &gone, "f", &[1; 700]).await;
    app.execute(
        "WITH RECURSIVE numbers (number) AS (SELECT 2 UNION ALL SELECT number + 1 FROM numbers WHERE number < 900) \
         INSERT INTO file_versions (file_id, version, tenant_id, sha256, size, created_by, created_at) \
         SELECT id, number, tenant_id, sha256, 1, 'mei', 1 FROM files, numbers WHERE name = 'f7.txt'",
    )
    .await;
    app.execute(
        "WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 1200) \
         INSERT INTO directories (id, tenant_id, parent_id, name, name_key, created_by, created_at, updated_at) \
         SELECT 'd' || number, tenant_id, id, 'f' || number, 'f' || number, 'mei', 1, 1 FROM directories, numbers \
         WHERE name = 'Gone'",
    )
    .await;
    app.app.maintenance.stop().await;
    ask(&mei, "delete", json!({"dirId": gone})).await.ok_epoch();
    let rows = "SELECT (SELECT COUNT(*) FROM directories) + (SELECT COUNT(*) FROM files) + (SELECT COUNT(*) FROM file_versions)";
    let mut left = app.number(rows).await;
    assert_eq!(left, 2 + 1_200 + 700 + 700 + 899);
    let mut portions = 0;
    while !remove_portion(&app.app.store).await.unwrap() {
        let now = app.number(rows).await;
        assert!(left - now <= 500, "{left} {now}");
        left = now;
        portions += 1;
    }
    assert_eq!(app.number(rows).await, 1, "the root");
    // 3,500 rows, and each folder once more.
    assert!((7..=12).contains(&portions), "{portions}");
    // Contents that lost a version need a reference check.
    assert_eq!(app.number("SELECT COUNT(*) FROM doubtful_blobs").await, 700);
}

#[tokio::test]
async fn interrupted_removal_resumes_at_startup() {
    let (app, _, [mei]) = TestApp::start_with_people(["mei"]).await;
    let gone = folder(&mei, "", "Gone").await;
    put_files(&app, &gone, "f", &[1; 20]).await;
    ask(&mei, "delete", json!({"dirId": gone})).await.ok_epoch();
    let is_empty = async |app: &TestApp| {
        let rows = "SELECT (SELECT COUNT(*) FROM files) + (SELECT COUNT(*) FROM directories WHERE removed_at IS NOT NULL)";
        (app.number(rows).await == 0).then_some(())
    };
    eventually("the end of the rows", async || is_empty(&app).await).await;
    let gone = folder(&mei, "", "Gone too").await;
    put_files(&app, &gone, "f", &[1; 20]).await;
    app.app.maintenance.stop().await;
    ask(&mei, "delete", json!({"dirId": gone})).await.ok_epoch();
    let app = app.restart().await;
    eventually("the end of the rows", async || is_empty(&app).await).await;
}
