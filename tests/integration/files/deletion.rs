//! Deletion of files.

use serde_json::json;

use crate::util::{
    app::TestApp,
    caller::Caller,
    files::{delete, put, put_file, take},
    folders::{ask, files, folder, give, put_files},
    groups::group,
    internals::remove_portion,
};

struct World {
    app: TestApp,
    mei: Caller,
    omar: Caller,
}

async fn world() -> World {
    let (app, _, [mei, omar]) = TestApp::start_with_people(["mei", "omar"]).await;
    World { app, mei, omar }
}

#[tokio::test]
async fn reported_reason_does_not_depend_on_file_order() {
    let World { mei, omar, .. } = &world().await;
    let mut of = Vec::new();
    for (name, role) in [("Locked", "editor"), ("Shown", "viewer"), ("Hidden", "")] {
        let folder = folder(mei, "", name).await;
        of.push(put_file(mei, &folder, "one.txt", name.as_bytes()).await);
        if !role.is_empty() {
            give(mei, &folder, role, &["omar"]).await;
        }
        if name == "Locked" {
            ask(mei, "lock", json!({"dirId": folder})).await.ok();
        }
    }
    let [locked, shown, hidden] = [of[0].as_str(), &of[1], &of[2]];
    // Each call's hash map has another order.
    for _ in 0..8 {
        delete(omar, &[locked]).await.fails_in_business(430_017, "locked");
        for both in [[locked, shown], [shown, locked]] {
            delete(omar, &both).await.fails_in_business(430_011, "editor");
        }
        for all in [[locked, shown, hidden], [hidden, shown, locked]] {
            delete(omar, &all).await.fails_in_business(430_003, "no such file");
        }
    }
    assert_eq!(take(mei, locked, None).await, b"Locked");
}

/// Changes rows directly, as a concurrent request would between check and write.
#[tokio::test]
async fn rights_lost_since_the_check_are_honoured() {
    let World { app, mei, omar, .. } = &world().await;
    let pilots = group(mei, "Pilots", &["omar"]).await;
    let plans = folder(mei, "", "Plans").await;
    let form = json!({"dirId": plans, "roleIds": ["editor"], "authTarget": [pilots], "targetType": 2});
    ask(mei, "authorize", form).await.ok();
    let file = put_file(mei, &plans, "tide.txt", b"tide").await;
    let said = json!({"dirId": plans});
    for path in ["/v1/stream/upload", "/v1/stream/multipart/upload/start"] {
        omar.post(path, &said).await.ok();
    }
    app.execute("DELETE FROM group_members WHERE user_id = 'omar'").await;
    delete(omar, &[&file]).await.fails_in_business(430_003, "no such file");
    for path in ["/v1/stream/upload", "/v1/stream/multipart/upload/start"] {
        omar.post(path, &said).await.fails_in_business(430_001, "no folder");
    }
    let own = put_file(omar, "root", "own.txt", b"own").await;
    app.execute("UPDATE users SET epoch = epoch + 1 WHERE user_id = 'omar'").await;
    delete(omar, &[&own]).await.fails(401, "sign in again");
    omar.post("/v1/stream/upload", &json!({})).await.fails(401, "sign in again");
    assert_eq!(app.number("SELECT COUNT(*) FROM files").await, 2);
}

#[tokio::test]
async fn every_deleted_file_is_audited() {
    let World { app, mei, .. } = &world().await;
    let mut deleted = [put_file(mei, "root", "a", b"a").await, put_file(mei, "root", "b", b"b").await];
    delete(mei, &[&deleted[0], "nothing"]).await.fails_in_business(430_003, "no such file");
    delete(mei, &deleted.each_ref().map(String::as_str)).await.ok();
    let kept = app.operator().await.caller.on("acme").get("/admin/v1/audit?limit=100").await.ok();
    let of_files = kept.items().iter().filter(|event| event["objectKind"] == "file");
    let mut told: Vec<&str> = of_files
        .inspect(|event| assert_eq!((&event["action"], &event["userId"]), (&json!("delete"), &json!("mei"))))
        .map(|event| event["objectId"].as_str().unwrap())
        .collect();
    told.sort_unstable();
    deleted.sort_unstable();
    assert_eq!(told, deleted);
}

#[tokio::test]
async fn deleted_files_vanish_at_once_and_rows_go_in_portions() {
    let World { app, mei, omar } = &world().await;
    let folder = folder(mei, "", "Plans").await;
    give(mei, &folder, "editor", &["omar"]).await;
    put_files(app, &folder, "f", &[3; 5]).await;
    app.execute(
        "WITH RECURSIVE numbers (number) AS (SELECT 2 UNION ALL SELECT number + 1 FROM numbers WHERE number < 900) \
         INSERT INTO file_versions (file_id, version, tenant_id, sha256, size, created_by, created_at) \
         SELECT id, number, tenant_id, sha256, 0, 'mei', 1 FROM files, numbers WHERE name IN ('f1.txt', 'f2.txt')",
    )
    .await;
    let ids: Vec<String> = (0..4).map(|number| format!("f{number}-{folder}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    app.app.maintenance.stop().await;
    delete(omar, &ids).await.ok();
    let rows = "SELECT (SELECT COUNT(*) FROM files) + (SELECT COUNT(*) FROM file_versions)";
    let mut left = app.number(rows).await;
    assert_eq!(left, 5 + 5 + 2 * 899, "rows were removed by the call");
    assert_eq!(files(mei, &folder).await.ok().names(), ["f4.txt"]);
    assert_eq!(app.number("SELECT file_bytes FROM tenants WHERE code = 'acme'").await, 3);
    assert_eq!(app.number("SELECT file_bytes FROM directories WHERE subject = 'u:mei'").await, 3);
    delete(mei, &ids[..1]).await.fails_in_business(430_003, "no such file");
    mei.post("/v1/stream/download", &json!({"fileId": ids[0]}))
        .await
        .fails_in_business(430_003, "no such file");
    put(mei, &folder, "f1.txt", b"new").await.ok();
    left += 2;
    let mut portions = 0;
    while !remove_portion(&app.app.store).await.unwrap() {
        let now = app.number(rows).await;
        assert!(left - now <= 500, "{left} {now}");
        (left, portions) = (now, portions + 1);
    }
    assert!((3..=5).contains(&portions), "{portions}");
    assert_eq!(app.number(rows).await, 4);
    assert_eq!(app.number("SELECT COUNT(*) FROM directories WHERE removed_at IS NOT NULL").await, 0);
}
