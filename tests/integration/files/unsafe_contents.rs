//! Files that a real `clamd` finds unsafe.

use std::{path::Path, process::Command};

use serde_json::{Value, json};

use crate::util::{
    app::TestApp,
    caller::Caller,
    clamd::{Clamd, FOUND, MARKER, STREAM_MAX},
    files::{
        bytes, commit, commit_form, commit_parts, put, put_file, put_version, send_part, send_to, sent,
        sha256, sign, start, take,
    },
    folders::{ask, files, folder},
    groups::people,
    program::{run, text, trawl},
};

async fn harbour(scanner: &Clamd) -> (TestApp, Caller) {
    let app = TestApp::start_with(|config| {
        config.scanner.clamd = Some(scanner.address());
        config.limits.part_bytes = 1_000;
    })
    .await;
    let acme = app.tenant("acme").await;
    let [mei] = people(&app, &acme, ["mei"]).await;
    (app, mei)
}

async fn assert_nothing_was_committed(app: &TestApp, caller: &Caller) {
    assert_eq!(files(caller, "root").await.ok().names(), [] as [&str; 0]);
    assert_eq!(app.number("SELECT COUNT(*) FROM blobs").await, 0);
    assert_eq!(app.number("SELECT SUM(file_bytes) FROM tenants").await, 0);
}

#[tokio::test]
async fn unsafe_file_is_refused_and_a_safe_replacement_accepted() {
    let scanner = Clamd::start().await;
    let (app, mei) = harbour(&scanner).await;
    let infected = [&bytes(1, 5_000), MARKER.as_bytes()].concat();
    let signed = sign(&mei, &json!({})).await;
    send_to(&mei, &signed, &infected).await;
    let upload = signed["uploadId"].as_str().unwrap();
    let form = commit_form(upload, "root", "tides.txt", infected.len());
    commit(&mei, &form).await.fails_in_business(430_012, "unsafe");
    commit(&mei, &form).await.fails_in_business(430_012, "unsafe");
    assert_nothing_was_committed(&app, &mei).await;
    let clean = bytes(2, 6_000);
    send_to(&mei, &signed, &clean).await;
    let file = commit(&mei, &commit_form(upload, "root", "tides.txt", clean.len())).await.ok();
    assert_eq!(take(&mei, file.data()["id"].as_str().unwrap(), None).await, clean);
    put_version(&mei, "root", "tides.txt", &infected).await.fails_in_business(430_012, "unsafe");
    assert_eq!(take(&mei, file.data()["id"].as_str().unwrap(), None).await, clean);
}

#[tokio::test]
async fn multipart_unsafe_across_parts_is_refused_until_replaced() {
    let scanner = Clamd::start().await;
    let (app, mei) = harbour(&scanner).await;
    let (left, right) = MARKER.as_bytes().split_at(11);
    let pieces = [[&bytes(3, 2_000), left].concat(), [right, &bytes(4, 2_000)].concat(), bytes(5, 3)];
    let upload = start(&mei).await;
    let mut tags = Vec::new();
    for (piece, part_number) in pieces.iter().zip(1..) {
        tags.push(send_part(&mei, &upload, part_number, piece).await);
    }
    let size = |pieces: &[Vec<u8>]| pieces.iter().map(Vec::len).sum();
    let form = commit_form(&upload, "root", "tides.bin", size(&pieces));
    let parts = |tags: &[String]| (1..).zip(tags.to_vec()).collect::<Vec<_>>();
    let named = parts(&tags);
    let named: Vec<_> = named.iter().map(|(number, tag)| (*number, tag.as_str())).collect();
    commit_parts(&mei, form, &named).await.fails_in_business(430_012, "unsafe");
    assert_nothing_was_committed(&app, &mei).await;

    let safe = [pieces[0].clone(), bytes(6, 1_000), pieces[2].clone()];
    tags[1] = send_part(&mei, &upload, 2, &safe[1]).await;
    let named = parts(&tags);
    let named: Vec<_> = named.iter().map(|(number, tag)| (*number, tag.as_str())).collect();
    let file = commit_parts(&mei, commit_form(&upload, "root", "tides.bin", size(&safe)), &named).await.ok();
    assert_eq!(take(&mei, file.data()["id"].as_str().unwrap(), None).await, safe.concat());
}

#[tokio::test]
async fn scan_failure_refuses_the_commit_with_its_reason() {
    let mut scanner = Clamd::start().await;
    let (app, mei) = harbour(&scanner).await;
    let large = vec![b'.'; STREAM_MAX + 1];
    put(&mei, "root", "large", &large).await.fails_in_business(400, "it exceeds the scanner's size limit");
    put(&mei, "root", "huge", &vec![b'.'; STREAM_MAX * 10])
        .await
        .fails_in_business(400, "it exceeds the scanner's size limit");
    let upload = sent(&mei, b"calm sea").await;
    let form = commit_form(&upload, "root", "calm.txt", 8);
    scanner.stop();
    let refused = commit(&mei, &form).await.fails_in_business(400, "the scanner is unreachable");
    assert!(!refused.text.contains("127.0.0.1"), "{}", refused.text);
    assert_nothing_was_committed(&app, &mei).await;
    scanner.restart_with(&[("Harbour.Marker", MARKER)]).await;
    let file = commit(&mei, &form).await.ok();
    assert_eq!(take(&mei, file.data()["id"].as_str().unwrap(), None).await, b"calm sea");
}

fn scan(data: &Path, scanner: &str) -> Command {
    let mut command = trawl(&["storage", "scan", "--json"]);
    command.arg("--data").arg(data).current_dir(data).env("TRAWL_SCANNER__CLAMD", scanner);
    command
}

async fn report(data: &Path, scanner: &Clamd, code: i32) -> Value {
    let output = run(scan(data, &scanner.address())).await;
    assert_eq!(output.status.code(), Some(code), "{}{}", text(&output.stdout), text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test]
async fn rescan_withholds_a_file_and_restores_a_false_positive() {
    let mut scanner = Clamd::start_with(&[("Harbour.Other", "nobody has this")]).await;
    let (app, mei) = harbour(&scanner).await;
    let [open, locked, other] =
        [folder(&mei, "", "Open").await, folder(&mei, "", "Locked").await, folder(&mei, "", "Other").await];
    let id = put_file(&mei, &open, "tides.txt", MARKER.as_bytes()).await;
    let second = put_file(&mei, &locked, "again.txt", MARKER.as_bytes()).await;
    let safe = put_file(&mei, &other, "calm.txt", b"calm sea").await;
    ask(&mei, "lock", json!({"dirId": locked})).await.ok();
    let address = mei.post("/v1/stream/download", &json!({"fileId": id})).await.ok();
    let address = address.data().as_str().unwrap();
    let nothing = report(app.data(), &scanner, 0).await;
    let calm =
        json!({"contents": 2, "bytes": MARKER.len() + 8, "unsafe": [], "cleared": [], "notScanned": []});
    assert_eq!(nothing, calm);
    assert_eq!(mei.http.get(address).send().await.unwrap().status(), 200);

    scanner.restart_with(&[("Harbour.Marker", MARKER)]).await;
    let found = report(app.data(), &scanner, 1).await;
    let versions = json!([
        {"tenant": "acme", "fileId": id, "version": 1, "name": "tides.txt"},
        {"tenant": "acme", "fileId": second, "version": 1, "name": "again.txt"},
    ]);
    let finding = json!([{"sha256": sha256(MARKER.as_bytes()), "reason": FOUND, "files": versions}]);
    assert_eq!((&found["unsafe"], &found["contents"]), (&finding, &json!(2)), "{found}");
    mei.post("/v1/stream/download", &json!({"fileId": id})).await.fails_in_business(430_012, "unsafe");
    assert_eq!(mei.http.get(address).send().await.unwrap().status(), 403);
    ask(&mei, "lock", json!({"dirId": open})).await.fails_in_business(430_020, "unsafe");
    ask(&mei, "unlock", json!({"dirId": locked})).await.fails_in_business(430_020, "unsafe");
    ask(&mei, "lock", json!({"dirId": other})).await.ok();
    assert_eq!(take(&mei, &safe, None).await, b"calm sea");

    scanner.restart_with(&[("Harbour.Other", "nobody has this")]).await;
    let cleared = report(app.data(), &scanner, 0).await;
    assert_eq!((&cleared["cleared"], &cleared["unsafe"]), (&finding, &json!([])), "{cleared}");
    assert_eq!(take(&mei, &id, None).await, MARKER.as_bytes());
    assert_eq!(mei.http.get(address).send().await.unwrap().status(), 200);
    ask(&mei, "unlock", json!({"dirId": locked})).await.ok();
}

#[tokio::test]
async fn failed_rescan_is_reported_and_changes_nothing() {
    let mut scanner = Clamd::start().await;
    let (app, mei) = harbour(&scanner).await;
    let id = put_file(&mei, "root", "calm.txt", b"calm sea").await;
    put_file(&mei, "root", "tides.txt", b"tides").await;
    app.execute("UPDATE blobs SET verdict = 'Harbour.Earlier' WHERE size = 8").await;
    std::fs::remove_file(content_path(&app, b"calm sea").await).unwrap();
    let report = report(app.data(), &scanner, 1).await;
    assert_eq!(report["contents"], 1);
    assert_eq!(report["notScanned"][0]["reason"], "there is no such content", "{report}");
    assert_eq!(report["notScanned"][0]["files"][0]["fileId"], id);
    assert_eq!(app.number("SELECT COUNT(*) FROM blobs WHERE verdict = 'Harbour.Earlier'").await, 1);

    scanner.stop();
    let output = run(scan(app.data(), &scanner.address())).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("the scanner is unreachable"), "{}", text(&output.stderr));
    let mut none = trawl(&["storage", "scan"]);
    none.arg("--data").arg(app.data()).current_dir(app.data());
    let output = run(none).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("scanner.clamd"), "{}", text(&output.stderr));
}

async fn content_path(app: &TestApp, content: &[u8]) -> std::path::PathBuf {
    let sha256 = sha256(content);
    let key = app.text(&format!("SELECT store_key FROM blobs WHERE sha256 = '{sha256}'")).await;
    app.data().join("files/contents").join(&sha256[..2]).join(&sha256[2..4]).join(key)
}
