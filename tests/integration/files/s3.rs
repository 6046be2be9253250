//! Contents in an S3-compatible store, with direct transfers.

use std::{path::Path, process::Command};

use futures::TryStreamExt;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::util::{
    app::TestApp,
    caller::Caller,
    files::{
        bytes, commit, commit_form, commit_parts, delete, put, put_file, send_part, send_to, sent, sha256,
        sign, start, sweep_until_contents_are, take,
    },
    folders::{files, folder},
    groups::people,
    internals::{S3Settings, StorageKind, discard_leftovers},
    program::{run, text, trawl},
    relay::Relay,
    s3::S3Server,
};

struct Harbour {
    app: TestApp,
    way: Relay,
    settings: S3Settings,
    mei: Caller,
    _store: S3Server,
}

async fn harbour() -> Harbour {
    let store = S3Server::start().await;
    let way = Relay::to(store.settings.endpoint.as_ref().unwrap().as_str()).await;
    let settings = S3Settings { endpoint: Some(way.base.parse().unwrap()), ..store.settings.clone() };
    let app = TestApp::start_with(|config| {
        config.storage.kind = StorageKind::S3;
        config.storage.s3 = Some(settings.clone());
        config.limits.part_bytes = 1_000;
        config.limits.file_bytes = 20 << 20;
    })
    .await;
    let acme = app.tenant("acme").await;
    let [mei] = people(&app, &acme, ["mei"]).await;
    Harbour { app, way, settings, mei, _store: store }
}

/// SHA-256s of contents, and uploads.
async fn stored(app: &TestApp) -> (Vec<String>, Vec<String>) {
    let contents: Vec<_> = app.app.blobs.list().await.unwrap().try_collect().await.unwrap();
    let sha256 = |key: String| key.split('-').next().map(str::to_owned);
    let mut contents: Vec<_> = contents.into_iter().filter_map(|content| sha256(content.store_key)).collect();
    contents.sort();
    (contents, app.app.blobs.uploads().await.unwrap())
}

#[tokio::test]
async fn file_round_trips_through_the_store_and_is_deleted() {
    let Harbour { app, mei, way, .. } = &harbour().await;
    let folder = folder(mei, "", "Plans").await;
    let content = bytes(1, 100_000);
    let signed =
        sign(mei, &json!({"fileName": "Häfen.pdf", "fileSize": content.len(), "dirId": folder})).await;
    assert!(signed["url"].as_str().unwrap().starts_with(&way.base), "{signed}");
    send_to(mei, &signed, &content).await;
    let upload = signed["uploadId"].as_str().unwrap();
    assert_eq!(stored(app).await, (vec![], vec![upload.to_owned()]));
    let mut form = commit_form(upload, &folder, "Häfen.pdf", content.len());
    form["fileHash"] = json!(sha256(&content));
    let file = commit(mei, &form).await.ok();
    let id = file.data()["id"].as_str().unwrap();
    assert_eq!(file.data()["fileHash"], sha256(&content));
    assert_eq!(stored(app).await, (vec![sha256(&content)], vec![]));
    assert_eq!(take(mei, id, None).await, content);

    let address = mei.post("/v1/stream/download", &json!({"fileId": id})).await.ok();
    let address = address.data().as_str().unwrap();
    assert!(address.starts_with(&way.base), "{address}");
    let range = mei.http.get(address).header("range", "bytes=10-19").send().await.unwrap();
    assert_eq!(range.status(), 206);
    let disposition = range.headers()["content-disposition"].to_str().unwrap().to_owned();
    assert_eq!(disposition, "attachment; filename=\"H_fen.pdf\"; filename*=UTF-8''H%C3%A4fen.pdf");
    assert_eq!(range.headers()["content-type"], "application/pdf");
    assert_eq!(range.bytes().await.unwrap(), content[10..20]);

    delete(mei, &[id]).await.ok();
    sweep_until_contents_are(app, 0).await;
    assert_eq!(stored(app).await, (vec![], vec![]));
    assert!(mei.http.get(address).send().await.unwrap().status().is_client_error());
    // Routes of the embedded store are off.
    let at = format!("{}/storage/files/x/1?user=mei&expires=9999999999&signature=x", app.base);
    assert_eq!(mei.http.get(at).send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn refused_multipart_commit_keeps_reordered_parts() {
    let Harbour { app, mei, .. } = &harbour().await;
    let upload = start(mei).await;
    let pieces = [bytes(2, 9 << 20), bytes(3, 1_500), bytes(4, 10)];
    let last = send_part(mei, &upload, 7, &pieces[2]).await;
    send_part(mei, &upload, 2, &bytes(5, 2_000)).await;
    let first = send_part(mei, &upload, 1, &pieces[0]).await;
    let second = send_part(mei, &upload, 2, &pieces[1]).await;
    let whole = pieces.concat();
    let mut form = commit_form(&upload, "root", "tides.bin", whole.len());
    let parts = [(1, first.as_str()), (2, second.as_str()), (7, last.as_str())];
    form["fileHash"] = json!(sha256(b"another"));
    commit_parts(mei, form.clone(), &parts).await.fails_in_business(400, "fileHash");
    assert_eq!(app.number("SELECT COUNT(*) FROM blobs").await, 0);
    form["fileHash"] = json!(sha256(&whole));
    let file = commit_parts(mei, form, &parts).await.ok();
    assert!(take(mei, file.data()["id"].as_str().unwrap(), None).await == whole, "another content was kept");
    assert_eq!(stored(app).await, (vec![sha256(&whole)], vec![]));
}

#[tokio::test]
async fn oversized_content_is_refused_at_commit() {
    let Harbour { app, mei, .. } = &harbour().await;
    let content = bytes(6, (20 << 20) + 1);
    put(mei, "root", "large", &content).await.fails_in_business(400, "fileSize");
    assert_eq!(app.number("SELECT COUNT(*) FROM files").await, 0);
}

#[tokio::test]
async fn unreachable_store_fails_the_commit_and_keeps_the_upload() {
    let Harbour { app, mei, way, settings, .. } = &harbour().await;
    let upload = sent(mei, b"harbour").await;
    let form = commit_form(&upload, "root", "harbour.txt", 7);
    way.cut();
    let refused = commit(mei, &form).await.fails(503, "store");
    assert_eq!(refused.header("retry-after"), "10");
    for secret in ["127.0.0.1", &settings.bucket, &settings.access_key_id] {
        assert!(!refused.text.contains(secret), "{}", refused.text);
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM files").await, 0);
    way.mend();
    let file = commit(mei, &form).await.ok();
    assert_eq!(take(mei, file.data()["id"].as_str().unwrap(), None).await, b"harbour");
    assert_eq!(files(mei, "root").await.ok().names(), ["harbour.txt"]);
}

#[tokio::test]
async fn content_sent_after_the_commit_is_swept() {
    let Harbour { app, mei, .. } = &harbour().await;
    app.app.maintenance.stop().await;
    let signed = sign(mei, &json!({})).await;
    send_to(mei, &signed, b"harbour").await;
    let upload = signed["uploadId"].as_str().unwrap();
    let file = commit(mei, &commit_form(upload, "root", "harbour.txt", 7)).await.ok();
    send_to(mei, &signed, b"another").await;
    assert_eq!(stored(app).await.1, [upload]);
    discard_leftovers(&app.app.contents, &app.app.store, &CancellationToken::new()).await.unwrap();
    assert_eq!(stored(app).await, (vec![sha256(b"harbour")], vec![]));
    assert_eq!(take(mei, file.data()["id"].as_str().unwrap(), None).await, b"harbour");
}

fn verify(data: &Path, settings: &S3Settings) -> Command {
    let mut command = trawl(&["storage", "verify", "--json"]);
    command.arg("--data").arg(data).current_dir(data);
    for (name, value) in [
        ("TRAWL_STORAGE__KIND", "s3"),
        ("TRAWL_STORAGE__S3__ENDPOINT", settings.endpoint.as_ref().unwrap().as_str()),
        ("TRAWL_STORAGE__S3__BUCKET", &settings.bucket),
        ("TRAWL_STORAGE__S3__REGION", &settings.region),
        ("TRAWL_STORAGE__S3__ACCESS_KEY_ID", &settings.access_key_id),
        ("TRAWL_STORAGE__S3__SECRET_ACCESS_KEY", "secret-of-the-key"),
    ] {
        command.env(name, value);
    }
    command
}

#[tokio::test]
async fn verify_checks_contents_in_the_store() {
    let Harbour { app, mei, settings, .. } = &harbour().await;
    put_file(mei, "root", "empty", b"").await;
    put_file(mei, "root", "harbour", b"harbour").await;
    let good = run(verify(app.data(), settings)).await;
    assert_eq!(good.status.code(), Some(0), "{}{}", text(&good.stdout), text(&good.stderr));
    for sha256 in [sha256(b""), sha256(b"harbour")] {
        let key = app.text(&format!("SELECT store_key FROM blobs WHERE sha256 = '{sha256}'")).await;
        app.app.blobs.remove(&key).await.unwrap();
    }
    let bad = run(verify(app.data(), settings)).await;
    assert_eq!(bad.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&bad.stdout).unwrap();
    let mut names: Vec<_> =
        report["damaged"].as_array().unwrap().iter().map(|damaged| &damaged["files"][0]["name"]).collect();
    names.sort_by_key(ToString::to_string);
    assert_eq!(names, ["empty", "harbour"], "{report}");
}
