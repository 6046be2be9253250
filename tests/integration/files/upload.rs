//! `PUT /storage/uploads/{uploadId}/{partNumber}`.

use std::fs;

use bytes::Bytes;
use futures::stream;
use reqwest::Body;

use crate::util::{
    answer::Answer,
    app::TestApp,
    eventually,
    files::sha256,
    internals::{Expected, UploadPart},
    raw::Connection,
    stored::{bytes, started},
};

async fn put(app: &TestApp, address: &str, content: impl Into<Body>) -> Answer {
    let answer = Answer::read(app.http.put(address).body(content).send().await.unwrap()).await;
    if answer.status == 200 {
        assert_eq!(answer.text, "");
    }
    answer
}

fn in_chunks(content: &[u8], size: usize) -> Body {
    let chunks: Vec<_> =
        content.chunks(size).map(|chunk| Ok::<_, std::io::Error>(Bytes::copy_from_slice(chunk))).collect();
    Body::wrap_stream(stream::iter(chunks))
}

fn part(number: u32, content: &[u8]) -> UploadPart {
    UploadPart { number, size: content.len() as u64, e_tag: sha256(content) }
}

fn files_of(app: &TestApp, upload_id: &str) -> Vec<String> {
    let entries = fs::read_dir(app.files().join("uploads").join(upload_id));
    entries.into_iter().flatten().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn head(address: &str, lines: &str) -> String {
    let url = url::Url::parse(address).unwrap();
    let target = &url[url::Position::BeforePath..];
    format!("PUT {target} HTTP/1.1\r\nhost: x\r\n{lines}\r\n\r\n")
}

#[tokio::test]
async fn received_parts_survive_a_restart_and_the_upload_continues() {
    let (app, acme) = started().await;
    let upload = app.upload(&acme, "mei", None).await;
    let (first, second) = (bytes(700_000), bytes(300_001));
    let answer = put(&app, &app.part_address(&upload, 1, 1_000_000).await, first.clone()).await;
    assert_eq!((answer.status, answer.header("etag")), (200, format!("\"{}\"", sha256(&first)).as_str()));
    // A partial file of a killed process.
    let unfinished = app.files().join("uploads").join(&upload).join(".tmpabc");
    fs::write(&unfinished, "half").unwrap();

    let app = app.restart().await;
    assert!(!unfinished.exists());
    assert_eq!(app.app.blobs.parts(&upload).await.unwrap(), [part(1, &first)]);
    let address = app.part_address(&upload, 10_000, 1_000_000).await;
    assert_eq!(put(&app, &address, in_chunks(&second, 1_000)).await.status, 200);
    let parts = app.app.blobs.parts(&upload).await.unwrap();
    assert_eq!(parts, [part(1, &first), part(10_000, &second)]);

    let composed = app.app.blobs.compose(&upload, &parts, None).await.unwrap();
    let whole = [first, second].concat();
    assert_eq!((composed.sha256.as_str(), composed.size), (sha256(&whole).as_str(), 1_000_001));
    // Composition can be repeated; a single part is not copied.
    assert_eq!(app.app.blobs.compose(&upload, &parts, None).await.unwrap(), composed);
    let (tap, mut tapped) = tokio::sync::mpsc::channel(1);
    let (again, heard) = tokio::join!(app.app.blobs.compose(&upload, &parts, Some(tap)), async {
        let mut heard = Vec::new();
        while let Some(piece) = tapped.recv().await {
            heard.extend_from_slice(&piece);
        }
        heard
    });
    assert_eq!((again.unwrap(), heard == whole), (composed, true));
    for _ in 0..2 {
        let single = app.app.blobs.compose(&upload, &parts[..1], None).await.unwrap();
        assert_eq!((single.sha256, single.size), (parts[0].e_tag.clone(), 700_000));
    }
    app.app.blobs.discard(&upload).await.unwrap();
    assert!(!app.files().join("uploads").join(&upload).exists());
    app.app.blobs.discard(&upload).await.unwrap();
}

#[tokio::test]
async fn part_sent_again_replaces_the_earlier_one() {
    let (app, acme) = started().await;
    let upload = app.upload(&acme, "mei", None).await;
    let address = app.part_address(&upload, 3, 100).await;
    put(&app, &address, "one").await;
    let listed = app.app.blobs.parts(&upload).await.unwrap();
    put(&app, &address, "other").await;
    assert_eq!(app.app.blobs.parts(&upload).await.unwrap(), [part(3, b"other")]);
    assert_eq!(files_of(&app, &upload).len(), 1);
    for tap in [None, Some(tokio::sync::mpsc::channel(1).0)] {
        let refusal = app.app.blobs.compose(&upload, &listed, tap).await.unwrap_err();
        assert_eq!((refusal.kind.code(), refusal.message.contains("partNumber 3")), (400, true));
    }
    put(&app, &address, "other").await;
    assert_eq!(app.app.blobs.parts(&upload).await.unwrap(), [part(3, b"other")]);
    put(&app, &address, "").await;
    assert_eq!(app.app.blobs.parts(&upload).await.unwrap(), [part(3, b"")]);
}

#[tokio::test]
async fn concurrent_senders_of_a_part_leave_one_whole() {
    let (app, acme) = started().await;
    let upload = app.upload(&acme, "mei", None).await;
    let address = app.part_address(&upload, 1, 1 << 20).await;
    let contents: Vec<Vec<u8>> =
        (0..8_u8).map(|number| vec![number; 400_000 + usize::from(number)]).collect();
    let sent = contents.iter().map(|content| put(&app, &address, content.clone()));
    for (answer, content) in futures::future::join_all(sent).await.iter().zip(&contents) {
        assert_eq!(
            (answer.status, answer.header("etag")),
            (200, format!("\"{}\"", sha256(content)).as_str())
        );
    }
    let parts = app.app.blobs.parts(&upload).await.unwrap();
    assert_eq!(parts.len(), 1);
    assert!(contents.iter().any(|content| part(1, content) == parts[0]));
    assert_eq!(files_of(&app, &upload).len(), 1);
}

#[tokio::test]
async fn interrupted_transfer_leaves_nothing() {
    let (app, acme) = started().await;
    let upload = app.upload(&acme, "mei", None).await;
    let address = app.part_address(&upload, 1, 1 << 20).await;
    for (lines, begun) in
        [("content-length: 500000", "abc"), ("transfer-encoding: chunked", "5\r\nabcde\r\n")]
    {
        let mut connection = Connection::open(&app.base).await;
        connection.write(head(&address, lines).as_bytes()).await;
        connection.write(begun.as_bytes()).await;
        eventually("a file", async || (!files_of(&app, &upload).is_empty()).then_some(())).await;
        assert!(app.app.blobs.parts(&upload).await.unwrap().is_empty());
        drop(connection);
        eventually("its end", async || files_of(&app, &upload).is_empty().then_some(())).await;
    }
}

#[tokio::test]
async fn stalled_sender_times_out() {
    let (app, acme) = TestApp::start_acme_with(|config| config.limits.idle_timeout_ms = 2_000).await;
    app.sync(&acme.caller, "users", &serde_json::json!([crate::util::items::user("mei", "")])).await;
    let upload = app.upload(&acme, "mei", None).await;
    let address = app.part_address(&upload, 1, 1 << 20).await;
    let mut connection = Connection::open(&app.base).await;
    connection.write(head(&address, "content-length: 500000").as_bytes()).await;
    connection.write(b"abc").await;
    connection.read().await.says(408, "no bytes arrived for 2000 ms");
    assert!(files_of(&app, &upload).is_empty());
}

#[tokio::test]
async fn oversized_transfer_is_refused_with_a_readable_answer() {
    let (app, acme) = started().await;
    let upload = app.upload(&acme, "mei", None).await;
    let address = app.part_address(&upload, 1, 1_000_000).await;
    let content = bytes(1_000_001);
    put(&app, &address, content.clone()).await.fails(413, "1000000 bytes");
    put(&app, &address, in_chunks(&content, 10_000)).await.fails(413, "more bytes than this address allows");
    put(&app, &address, bytes(20 << 20)).await.fails(413, "1000000 bytes");
    assert!(files_of(&app, &upload).is_empty());
    assert_eq!(put(&app, &address, content[..1_000_000].to_vec()).await.status, 200);
}

#[tokio::test]
async fn sum_of_parts_is_limited_to_the_file_size() {
    let (app, acme) = TestApp::start_acme_with(|config| config.limits.file_bytes = 1_000).await;
    app.sync(&acme.caller, "users", &serde_json::json!([crate::util::items::user("mei", "")])).await;
    let upload = app.upload(&acme, "mei", None).await;
    let first = app.part_address(&upload, 1, 1_000).await;
    assert_eq!(put(&app, &first, bytes(600)).await.status, 200);
    let second = app.part_address(&upload, 2, 1_000).await;
    put(&app, &second, bytes(401)).await.fails(413, "1000 bytes, the maximum of a file");
    put(&app, &second, in_chunks(&bytes(401), 100)).await.fails(413, "1000 bytes, the maximum of a file");
    assert_eq!(put(&app, &second, in_chunks(&bytes(400), 100)).await.status, 200);
    // A replacement may use the space of the old part.
    assert_eq!(put(&app, &first, bytes(600)).await.status, 200);
}

#[tokio::test]
async fn expired_upload_url_is_refused() {
    let (app, acme) = started().await;
    let upload = app.upload(&acme, "mei", None).await;
    let expired = Expected { upload_id: &upload, part_number: 1, most_bytes: 100, expires_at: 1_700_000_000 };
    let expired = app.app.blobs.sign_upload(expired).await.unwrap().url;
    put(&app, &expired, "abc").await.fails(403, "this address is invalid or expired");
    assert!(files_of(&app, &upload).is_empty());
}

/// curl sends `Expect: 100-continue` from 1 MiB on.
#[tokio::test]
async fn expect_continue_is_refused_before_the_body() {
    let (app, acme) = started().await;
    let upload = app.upload(&acme, "mei", None).await;
    let address = app.part_address(&upload, 1, 100).await;
    let mut connection = Connection::open(&app.base).await;
    connection.write(head(&address, "content-length: 101\r\nexpect: 100-continue").as_bytes()).await;
    assert_eq!(connection.read().await.status, 413);
    let mut connection = Connection::open(&app.base).await;
    connection.write(head(&address, "content-length: 3\r\nexpect: 100-continue").as_bytes()).await;
    assert_eq!(connection.read().await.status, 100);
    connection.write(b"abc").await;
    assert_eq!(connection.read().await.status, 200);
}

#[tokio::test]
async fn ended_upload_accepts_and_leaves_nothing() {
    let (app, acme) = started().await;
    let upload = app.upload(&acme, "mei", None).await;
    let address = app.part_address(&upload, 1, 1 << 20).await;
    let mut connection = Connection::open(&app.base).await;
    connection.write(head(&address, "content-length: 6").as_bytes()).await;
    connection.write(b"abc").await;
    eventually("a file", async || (!files_of(&app, &upload).is_empty()).then_some(())).await;
    app.execute("DELETE FROM uploads").await;
    connection.write(b"def").await;
    connection.read().await.says(404, "this upload was committed or cancelled");
    assert!(!app.files().join("uploads").join(&upload).exists());
    put(&app, &address, "abc").await.fails(404, "this upload was committed or cancelled");
    assert!(!app.files().join("uploads").join(&upload).exists());
}

#[tokio::test]
async fn disabled_person_cannot_upload() {
    let (app, acme) = started().await;
    let operator = app.operator().await;
    let upload = app.upload(&acme, "mei", None).await;
    let address = app.part_address(&upload, 1, 100).await;
    operator.caller.post_empty("/v1/enterprises/freeze?eCode=acme").await.ok();
    put(&app, &address, "abc").await.fails(403, "tenant is frozen");
    operator.caller.post_empty("/v1/enterprises/unfreeze?eCode=acme").await.ok();
    app.execute("UPDATE users SET status = 0 WHERE user_id = 'mei'").await;
    put(&app, &address, "abc").await.fails(404, "this upload was committed or cancelled");
    app.execute("UPDATE users SET status = 1 WHERE user_id = 'mei'").await;
    assert_eq!(put(&app, &address, "abc").await.status, 200);
    operator.caller.post_empty("/v1/enterprises/delete?eCode=acme").await;
    app.execute("UPDATE tenants SET removed_at = 1, code = 'gone' WHERE code = 'acme'").await;
    put(&app, &address, "abc").await.fails(404, "this upload was committed or cancelled");
}

#[tokio::test]
async fn quotas_count_bytes_in_flight() {
    let (app, acme) = started().await;
    let root = app.root(acme.tenant_id, "mei").await;
    app.execute("UPDATE tenants SET quota_bytes = 1000, subject_quota_bytes = 500, file_bytes = 100").await;
    app.execute("UPDATE directories SET file_bytes = 100").await;
    let upload = app.upload(&acme, "mei", Some(&root)).await;
    let first = app.part_address(&upload, 1, 10_000).await;
    let subject = "the quota of the folder's owner does not suffice";
    put(&app, &first, bytes(401)).await.fails(413, subject);
    assert!(files_of(&app, &upload).is_empty());
    assert_eq!(put(&app, &first, bytes(300)).await.status, 200);
    let other = app.upload(&acme, "mei", Some(&root)).await;
    put(&app, &app.part_address(&other, 1, 10_000).await, bytes(101)).await.fails(413, subject);
    assert_eq!(put(&app, &app.part_address(&other, 1, 10_000).await, bytes(100)).await.status, 200);
    // Only the enterprise's quota counts if there is no root.
    let nobodys = app.upload(&acme, "mei", None).await;
    let address = app.part_address(&nobodys, 1, 10_000).await;
    put(&app, &address, bytes(501)).await.fails(413, "the quota of the enterprise does not suffice");
    assert_eq!(put(&app, &address, bytes(500)).await.status, 200);
    // Reserved bytes need no further check.
    assert_eq!(put(&app, &address, bytes(400)).await.status, 200);
    put(&app, &first, in_chunks(&bytes(401), 100)).await.fails(413, subject);
    assert_eq!(files_of(&app, &upload).len(), 1);
}

fn chunk(content: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", content.len()).as_bytes(), content, b"\r\n"].concat()
}

async fn begun_in_chunks(app: &TestApp, upload: &str) -> Connection {
    let mut connection = Connection::open(&app.base).await;
    let address = app.part_address(upload, 1, 60 << 20).await;
    connection.write(head(&address, "transfer-encoding: chunked").as_bytes()).await;
    connection.write(&chunk(b"a")).await;
    eventually("a file", async || (!files_of(app, upload).is_empty()).then_some(())).await;
    connection
}

#[tokio::test]
async fn quotas_count_unannounced_bytes_as_they_arrive() {
    let (app, acme) = started().await;
    app.execute("UPDATE tenants SET quota_bytes = 1000000").await;
    let upload = app.upload(&acme, "mei", None).await;
    let mut first = begun_in_chunks(&app, &upload).await;
    first.write(&chunk(&bytes(700_000))).await;
    let reserved = async || app.number("SELECT reserved_bytes FROM uploads").await;
    eventually("counted bytes", async || (reserved().await >= 700_001).then_some(())).await;
    // A second sender gets the remaining quota, and loses it while the first continues.
    let mut second = Connection::open(&app.base).await;
    let address = app.part_address(&upload, 1, 60 << 20).await;
    second.write(head(&address, "transfer-encoding: chunked").as_bytes()).await;
    second.write(&chunk(b"a")).await;
    eventually("two files", async || (files_of(&app, &upload).len() == 2).then_some(())).await;
    second.write(&chunk(&bytes(400_000))).await;
    eventually("one file", async || (files_of(&app, &upload).len() == 1).then_some(())).await;
    second.write(b"0\r\n\r\n").await;
    second.read().await.says(413, "quota of the enterprise");
    first.write(&chunk(&bytes(200_000))).await;
    first.write(b"0\r\n\r\n").await;
    assert_eq!(first.read().await.status, 200);
    assert_eq!(app.app.blobs.parts(&upload).await.unwrap()[0].size, 900_001);
    assert!((900_001..=1_000_000).contains(&reserved().await));
}

#[tokio::test]
async fn revoked_sender_is_stopped_before_the_end() {
    let (app, acme) = started().await;
    let upload = app.upload(&acme, "mei", None).await;
    let mut in_chunks = begun_in_chunks(&app, &upload).await;
    app.execute("UPDATE users SET status = 0 WHERE user_id = 'mei'").await;
    in_chunks.write(&chunk(&bytes(600_000))).await;
    eventually("the end of it", async || files_of(&app, &upload).is_empty().then_some(())).await;
    in_chunks.write(b"0\r\n\r\n").await;
    assert_eq!(in_chunks.read().await.status, 404);

    app.execute("UPDATE users SET status = 1 WHERE user_id = 'mei'").await;
    let upload = app.upload(&acme, "mei", None).await;
    let mut announced = Connection::open(&app.base).await;
    let address = app.part_address(&upload, 1, 1 << 30).await;
    announced.write(head(&address, &format!("content-length: {}", 66 << 20)).as_bytes()).await;
    announced.write(b"a").await;
    eventually("a file", async || (!files_of(&app, &upload).is_empty()).then_some(())).await;
    app.execute("UPDATE users SET status = 0 WHERE user_id = 'mei'").await;
    let content = bytes(1 << 20);
    for _ in 0..65 {
        announced.write(&content).await;
    }
    eventually("the end of it", async || files_of(&app, &upload).is_empty().then_some(())).await;
    announced.write(&content[1..]).await;
    assert_eq!(announced.read().await.status, 404);
}

/// A crash between storing a part and deleting its predecessor leaves both.
#[tokio::test]
async fn duplicate_part_left_by_a_crash_is_removed() {
    let (app, acme) = started().await;
    let upload = app.upload(&acme, "mei", None).await;
    put(&app, &app.part_address(&upload, 1, 100).await, "one").await;
    let app = app.restart().await;
    let name = files_of(&app, &upload).remove(0);
    let older = app.files().join("uploads").join(&upload).join(format!("1-5-{}", sha256(b"older")));
    fs::write(&older, "older").unwrap();
    fs::File::options().write(true).open(&older).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    put(&app, &app.part_address(&upload, 2, 100).await, "two").await;
    assert_eq!(app.app.blobs.parts(&upload).await.unwrap(), [part(1, b"one"), part(2, b"two")]);
    assert!(files_of(&app, &upload).contains(&name) && !older.exists());
}

#[tokio::test]
async fn part_beyond_the_free_disk_space_is_refused() {
    let (app, acme) = started().await;
    let upload = app.upload(&acme, "mei", None).await;
    let address = app.part_address(&upload, 1, u64::MAX).await;
    let app = app.restart_with(|config| config.limits.file_bytes = u64::MAX).await;
    let address = format!("{}{}", app.base, &address[address.find("/storage").unwrap()..]);
    let mut connection = Connection::open(&app.base).await;
    let lines = format!("expect: 100-continue\r\ncontent-length: {}", u64::MAX / 4);
    connection.write(head(&address, &lines).as_bytes()).await;
    connection.read().await.says(503, "disk is full");
}
