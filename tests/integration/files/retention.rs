use serde_json::{Value, json};
use std::{fs, sync::Arc};
use tokio_util::sync::CancellationToken;

use crate::util::{
    app::TestApp,
    database::{SqlValue, write},
    files::{commit, commit_form, commit_parts, put_file, send_part, send_to, sha256, sign, start},
    folders::folder,
    groups::people,
    internals::{App, Config, Contents, discard_leftovers, now_millis, telemetry},
    items::user,
    postgres::{open_store, url_of},
    program::{run, text, trawl},
    stored::{NEVER, bytes, started},
};

async fn remove_doubtful(app: &TestApp) {
    app.app.contents.remove_doubtful(&app.app.store, &CancellationToken::new()).await.unwrap();
}

async fn is_kept(app: &TestApp, sha256: &str) -> bool {
    app.app.blobs.read(sha256, 0..0).await.is_ok()
}

#[tokio::test]
async fn content_is_removed_with_its_last_file() {
    let (app, acme) = started().await;
    // Its rounds would sweep, too; so below.
    app.app.maintenance.stop().await;
    let content = b"the same".to_vec();
    let one = app.file(&acme, "mei", "one.txt", content.clone()).await;
    let other = app.file(&acme, "lin", "other.txt", content.clone()).await;
    assert_eq!((one.sha256.as_str(), app.count_rows("blobs").await), (sha256(&content).as_str(), 1));
    app.execute_with("DELETE FROM files WHERE id = ?", vec![one.id.as_str().into()]).await;
    remove_doubtful(&app).await;
    assert!(is_kept(&app, &one.sha256).await);
    assert_eq!(app.count_rows("doubtful_blobs").await, 0);
    app.execute_with("DELETE FROM files WHERE id = ?", vec![other.id.as_str().into()]).await;
    // A commit of the same content sets this time.
    app.execute_with("UPDATE doubtful_blobs SET noted_at = ?", vec![now_millis().into()]).await;
    remove_doubtful(&app).await;
    assert!(is_kept(&app, &one.sha256).await);
    app.execute("UPDATE doubtful_blobs SET noted_at = 0").await;
    remove_doubtful(&app).await;
    assert!(!is_kept(&app, &one.sha256).await);
    assert_eq!((app.count_rows("blobs").await, app.count_rows("doubtful_blobs").await), (0, 0));
    let again = app.file(&acme, "mei", "again.txt", content.clone()).await;
    let address = app.file_address(&again, "mei", NEVER).await;
    assert_eq!(app.http.get(address).send().await.unwrap().bytes().await.unwrap(), content);
}

/// Hashes of contents that exist nowhere, in order.
fn hashes(count: usize) -> SqlValue {
    SqlValue::list((1..=count).map(|number| format!("{number:064}")))
}

/// One mark lacks a content; one content cannot be deleted.
#[tokio::test]
async fn unreferenced_contents_are_removed_in_portions() {
    let (app, acme) = started().await;
    app.app.maintenance.stop().await;
    let kept = app.file(&acme, "mei", "kept.txt", b"kept".to_vec()).await;
    let text = "INSERT INTO doubtful_blobs (sha256) SELECT value FROM json_each(?)";
    app.execute_with(text, vec![hashes(250)]).await;
    app.execute("INSERT INTO doubtful_blobs (sha256) SELECT sha256 FROM blobs").await;
    let text = "INSERT INTO blobs (sha256, size, store, store_key, created_at) \
        SELECT value, 1, 'local', CASE WHEN value LIKE '%5' THEN 'no key ' || value ELSE value END, 0 FROM json_each(?)";
    app.execute_with(text, vec![hashes(200)]).await;
    let outcome = app.app.contents.remove_doubtful(&app.app.store, &CancellationToken::new()).await;
    assert!(outcome.unwrap_err().to_string().contains("no key"));
    assert_eq!((app.count_rows("blobs").await, app.count_rows("doubtful_blobs").await), (1, 0));
    assert_eq!(app.count_rows("removed_blobs").await, 20);
    assert!(is_kept(&app, &kept.sha256).await);
}

async fn hinder(app: &TestApp) {
    let text = "INSERT INTO blobs (sha256, size, store, store_key, created_at) \
        SELECT value, 1, 'local', '!' || value, 0 FROM json_each(?)";
    app.execute_with(text, vec![hashes(2_100)]).await;
    app.execute("INSERT INTO doubtful_blobs (sha256) SELECT sha256 FROM blobs WHERE store_key LIKE '!%'")
        .await;
}

#[tokio::test]
async fn undeletable_contents_do_not_block_others() {
    let (app, acme) = started().await;
    app.app.maintenance.stop().await;
    let file = app.file(&acme, "mei", "one.txt", b"one".to_vec()).await;
    hinder(&app).await;
    app.execute_with("DELETE FROM files WHERE id = ?", vec![file.id.as_str().into()]).await;
    // A separate instance, unaffected by maintenance.
    let contents = Contents::new(Arc::clone(&app.app.blobs));
    let stop = CancellationToken::new();
    for is_kept_still in [true, false] {
        // A round handles some of them; rounds rotate through all.
        assert!(contents.remove_doubtful(&app.app.store, &stop).await.is_err());
        assert_eq!(is_kept(&app, &file.sha256).await, is_kept_still);
    }
    assert_eq!(app.count_rows("removed_blobs").await, 2_100);
}

#[tokio::test]
async fn failing_store_does_not_block_other_maintenance() {
    let (app, _acme) = started().await;
    hinder(&app).await;
    app.execute(
        "WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 10600) \
         INSERT INTO directories (id, tenant_id, name, name_key, created_by, created_at, updated_at) \
         SELECT 'folder' || number, (SELECT MIN(id) FROM tenants), 'f', 'f', 'mei', 1, 1 FROM numbers",
    )
    .await;
    app.execute(
        "INSERT INTO renamed_directories (directory_id, tenant_id, reached) \
         SELECT id, tenant_id, '' FROM directories WHERE id LIKE 'folder%'",
    )
    .await;
    assert!(app.app.maintenance.make_round().await.is_err());
    assert_eq!(app.count_rows("renamed_directories").await, 0);
}

#[tokio::test]
async fn remains_of_ended_uploads_are_discarded() {
    let (app, acme) = started().await;
    app.app.maintenance.stop().await;
    let open = app.upload(&acme, "mei", None).await;
    let over = uuid::Uuid::now_v7().to_string();
    for upload in [&open, &over, "lost+found", "mine"] {
        fs::create_dir_all(app.files().join("uploads").join(upload)).unwrap();
        fs::write(app.files().join("uploads").join(upload).join("x"), "x").unwrap();
    }
    let stop = CancellationToken::new();
    assert!(discard_leftovers(&app.app.contents, &app.app.store, &stop).await.unwrap());
    let mut left = app.app.blobs.uploads().await.unwrap();
    left.sort();
    assert_eq!(left, [open.as_str(), "lost+found", "mine"]);
}

#[tokio::test]
async fn server_refuses_to_start_over_another_store() {
    let data = tempfile::tempdir().unwrap();
    let rows = open_store(data.path()).await;
    let text = "INSERT INTO blobs (sha256, size, store, store_key, created_at) VALUES ('x', 1, 's3', 'x', 0)";
    write(&rows, vec![(text.to_owned(), Vec::new())], Vec::new()).await;
    rows.close().await.unwrap();
    let mut config = Config { data: data.path().to_owned(), ..Config::default() };
    config.store.url = url_of(data.path()).map(Into::into);
    config.master_key = Some("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".into());
    let started = Box::pin(App::start(config, telemetry::collect_metrics().unwrap(), false)).await;
    let refusal = started.err().unwrap().to_string();
    assert!(refusal.contains("storage.kind: is local") && refusal.contains("s3"), "{refusal}");
}

async fn verify(app: &TestApp, arguments: &[&str]) -> (i32, String) {
    let data = app.data().to_str().unwrap();
    let mut command = trawl(&[&["storage", "verify", "--data", data], arguments].concat());
    command.current_dir(app.data());
    let output = run(command).await;
    assert_eq!(text(&output.stderr), "");
    (output.status.code().unwrap(), text(&output.stdout).to_owned())
}

async fn verified(app: &TestApp) -> (i32, Value) {
    let (code, printed) = verify(app, &["--json"]).await;
    (code, serde_json::from_str(&printed).unwrap())
}

#[tokio::test]
async fn verify_reports_damaged_missing_unknown_and_miscounted() {
    let (app, acme) = started().await;
    let good = app.file(&acme, "mei", "good.bin", bytes(600_000)).await;
    let bad = app.file(&acme, "mei", "bad\n.txt", b"right".to_vec()).await;
    let lost = app.file(&acme, "lin", "lost.txt", b"lost".to_vec()).await;
    let longer = app.file(&acme, "lin", "longer.txt", b"longer".to_vec()).await;
    // A commit in flight: its row exists, its content does not yet.
    app.execute(
        "INSERT INTO blobs (sha256, size, store, store_key, created_at) \
         SELECT value, 3, 'local', value, 0 FROM json_each('[\"aa00000000000000000000000000000000000000000000000000000000000000\"]')",
    )
    .await;
    let all_well = json!({"contents": 5, "bytes": 600_018, "damaged": [], "unknown": [], "sums": []});
    assert_eq!(verified(&app).await, (0, all_well));
    assert_eq!(
        verify(&app, &[]).await,
        (0, "5 contents of 600018 bytes were read; all is well\n".to_owned())
    );

    let path =
        |sha256: &str| app.files().join("contents").join(&sha256[..2]).join(&sha256[2..4]).join(sha256);
    fs::write(path(&bad.sha256), "wrong").unwrap();
    fs::remove_file(path(&lost.sha256)).unwrap();
    fs::write(path(&longer.sha256), "longer than that").unwrap();
    let unknown = sha256(b"unknown");
    fs::create_dir_all(path(&unknown).parent().unwrap()).unwrap();
    fs::write(path(&unknown), "unknown").unwrap();
    app.execute("UPDATE tenants SET file_bytes = file_bytes + 1").await;
    app.execute("UPDATE files SET stored_bytes = stored_bytes + 5 WHERE name = 'good.bin'").await;
    let root = app.root(acme.tenant_id, "mei").await;

    let (code, report) = verified(&app).await;
    assert_eq!(code, 1);
    let files = |file: &crate::util::stored::StoredFile| json!([{"tenant": "acme", "fileId": file.id, "version": 1, "name": file.name}]);
    let mut damaged = report["damaged"].as_array().unwrap().clone();
    damaged.sort_by_key(|damaged| damaged["problem"].to_string());
    assert_eq!(
        Value::from(damaged),
        json!([
            {"sha256": longer.sha256, "problem": "it has 16 bytes, not 6", "files": files(&longer)},
            {"sha256": lost.sha256, "problem": "it is missing", "files": files(&lost)},
            {"sha256": bad.sha256, "problem": format!("its SHA-256 is {}", sha256(b"wrong")), "files": files(&bad)},
        ])
    );
    assert_eq!(report["unknown"], json!([unknown]));
    assert_eq!(
        report["sums"],
        json!([
            {"of": "tenant", "id": "acme", "told": 600_016, "counted": 600_020},
            {"of": "root", "id": root, "told": 600_005, "counted": 600_010},
            {"of": "file", "id": good.id, "told": 600_005, "counted": 600_000},
        ])
    );
    let (code, printed) = verify(&app, &[]).await;
    assert_eq!(code, 1);
    for told in [
        format!("damaged  {}: it is missing", lost.sha256),
        format!("{} version 1 in acme: \"bad\\n.txt\"", bad.id),
        format!("unknown  {unknown}"),
        "sum      tenant acme: 600016 bytes are recorded, 600020 are there".to_owned(),
        "something is wrong".to_owned(),
    ] {
        assert!(printed.contains(&told), "{told}: {printed}");
    }
}

/// Removal in portions changes sums.
#[tokio::test]
async fn verify_tolerates_removal_in_progress() {
    let (app, acme) = started().await;
    let globex = app.tenant("globex").await;
    app.sync(&globex.caller, "users", &json!([user("mei", "")])).await;
    app.file(&globex, "mei", "gone.txt", b"gone".to_vec()).await;
    let mei = app.user(&acme, "mei").await;
    let gone = folder(&mei, "", "Gone").await;
    put_file(&mei, &gone, "gone too.txt", b"gone too").await;
    app.execute("UPDATE tenants SET removed_at = 9000000000000 WHERE code = 'globex'").await;
    app.execute("UPDATE directories SET removed_at = 9000000000000, parent_id = NULL WHERE name = 'Gone'")
        .await;
    app.execute("UPDATE directories SET file_bytes = 0 WHERE tenant_id = (SELECT id FROM tenants WHERE code = 'acme')").await;
    app.execute("UPDATE tenants SET file_bytes = 0 WHERE code = 'acme'").await;
    app.execute("DELETE FROM file_versions").await;
    let (_, report) = verified(&app).await;
    assert_eq!(report["sums"], json!([]));
}

fn entries(app: &TestApp, upload: &str) -> usize {
    fs::read_dir(app.files().join("uploads").join(upload)).unwrap().count()
}

#[tokio::test]
async fn refused_commits_leave_only_the_parts() {
    let (app, acme) = TestApp::start_acme_with(|config| config.limits.part_bytes = 4).await;
    let [mei] = people(&app, &acme, ["mei"]).await;
    let (single, parts) = (sign(&mei, &json!({})).await, start(&mei).await);
    let single_id = single["uploadId"].as_str().unwrap();
    let refused = |upload: &str| {
        let mut form = commit_form(upload, "root", "tides.txt", 8);
        form["fileHash"] = json!(sha256(b"something else"));
        form
    };
    for round in 0..3_u8 {
        send_to(&mei, &single, &[round; 8]).await;
        commit(&mei, &refused(single_id)).await.fails_in_business(400, "fileHash");
        assert_eq!(entries(&app, single_id), 1);
        let first = send_part(&mei, &parts, 1, &[round; 4]).await;
        let second = send_part(&mei, &parts, 2, b"same").await;
        commit_parts(&mei, refused(&parts), &[(1, &first), (2, &second)])
            .await
            .fails_in_business(400, "fileHash");
        assert_eq!(entries(&app, &parts), 2);
    }
    // A composition of a killed process is removed at startup; its parts stay.
    app.app.blobs.compose(single_id, &app.app.blobs.parts(single_id).await.unwrap(), None).await.unwrap();
    assert_eq!(entries(&app, single_id), 2);
    let app = app.restart().await;
    assert_eq!(entries(&app, single_id), 1);
    let mei = app.user(&acme, "mei").await;
    commit(&mei, &commit_form(single_id, "root", "tides.txt", 8)).await.ok();
}

#[tokio::test]
async fn verify_does_not_create_a_data_directory() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("none");
    let mut command = trawl(&["storage", "verify", "--data", data.to_str().unwrap()]);
    command.current_dir(directory.path());
    let output = run(command).await;
    assert_eq!((output.status.code(), data.exists()), (Some(1), false));
    assert!(text(&output.stderr).contains("there is no data directory"));
}
