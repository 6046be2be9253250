//! `PUT /storage/uploads/{uploadId}/{partNumber}`.

use std::fs;

use bytes::Bytes;
use futures::stream;
use reqwest::Body;
use trawl::storage::{Expected, Part};

use super::{bytes, sha256, started, with_changed_pieces};
use crate::util::{answer::Answer, app::TestApp, eventually, raw::Connection};

async fn put(app: &TestApp, address: &str, content: impl Into<Body>) -> Answer {
    let answer = Answer::read(app.http.put(address).body(content).send().await.unwrap()).await;
    if answer.status == 200 {
        assert_eq!(answer.text, "");
    }
    answer
}

/// A body of which nobody knows how long it is.
fn in_chunks(content: &[u8], size: usize) -> Body {
    let chunks: Vec<_> =
        content.chunks(size).map(|chunk| Ok::<_, std::io::Error>(Bytes::copy_from_slice(chunk))).collect();
    Body::wrap_stream(stream::iter(chunks))
}

fn part(number: u32, content: &[u8]) -> Part {
    Part { number, size: content.len() as u64, e_tag: sha256(content) }
}

/// The names of the files of an upload.
fn files_of(app: &TestApp, upload_id: &str) -> Vec<String> {
    let entries = fs::read_dir(app.files().join("uploads").join(upload_id));
    entries.into_iter().flatten().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The head of a request for this address, with these lines.
fn head(address: &str, lines: &str) -> String {
    let url = url::Url::parse(address).unwrap();
    let target = &url[url::Position::BeforePath..];
    format!("PUT {target} HTTP/1.1\r\nhost: x\r\n{lines}\r\n\r\n")
}

#[tokio::test]
async fn what_came_in_is_there_after_a_restart_and_the_rest_can_follow() {
    let (app, acme) = started().await;
    let upload = app.upload(&acme, "mei", None).await;
    let (first, second) = (bytes(700_000), bytes(300_001));
    let answer = put(&app, &app.part_address(&upload, 1, 1_000_000).await, first.clone()).await;
    assert_eq!((answer.status, answer.header("etag")), (200, format!("\"{}\"", sha256(&first)).as_str()));
    // What a process that was killed was in the middle of.
    let unfinished = app.files().join("uploads").join(&upload).join(".tmpabc");
    fs::write(&unfinished, "half").unwrap();

    let app = app.restart().await;
    assert!(!unfinished.exists());
    assert_eq!(app.app.storage.parts(&upload).await.unwrap(), [part(1, &first)]);
    let address = app.part_address(&upload, 10_000, 1_000_000).await;
    assert_eq!(put(&app, &address, in_chunks(&second, 1_000)).await.status, 200);
    let parts = app.app.storage.parts(&upload).await.unwrap();
    assert_eq!(parts, [part(1, &first), part(10_000, &second)]);

    let composed = app.app.storage.compose(&upload, &parts, None).await.unwrap();
    let whole = [first, second].concat();
    assert_eq!((composed.sha256.as_str(), composed.size), (sha256(&whole).as_str(), 1_000_001));
    // Once more, as after a commit that was refused; and from one part, of which nothing is copied.
    assert_eq!(app.app.storage.compose(&upload, &parts, None).await.unwrap(), composed);
    let (tap, mut tapped) = tokio::sync::mpsc::channel(1);
    let (again, heard) = tokio::join!(app.app.storage.compose(&upload, &parts, Some(tap)), async {
        let mut heard = Vec::new();
        while let Some(piece) = tapped.recv().await {
            heard.extend_from_slice(&piece);
        }
        heard
    });
    assert_eq!((again.unwrap(), heard == whole), (composed, true));
    for _ in 0..2 {
        let single = app.app.storage.compose(&upload, &parts[..1], None).await.unwrap();
        assert_eq!((single.sha256, single.size), (parts[0].e_tag.clone(), 700_000));
    }
    app.app.storage.discard(&upload).await.unwrap();
    assert!(!app.files().join("uploads").join(&upload).exists());
    app.app.storage.discard(&upload).await.unwrap();
}

#[tokio::test]
async fn a_part_that_is_sent_again_takes_the_place_of_the_earlier_one() {
    let (app, acme) = started().await;
    let upload = app.upload(&acme, "mei", None).await;
    let address = app.part_address(&upload, 3, 100).await;
    put(&app, &address, "one").await;
    let listed = app.app.storage.parts(&upload).await.unwrap();
    put(&app, &address, "other").await;
    assert_eq!(app.app.storage.parts(&upload).await.unwrap(), [part(3, b"other")]);
    assert_eq!(files_of(&app, &upload).len(), 1);
    // Who commits what is not there any more is told so.
    for tap in [None, Some(tokio::sync::mpsc::channel(1).0)] {
        let refusal = app.app.storage.compose(&upload, &listed, tap).await.unwrap_err();
        assert_eq!((refusal.kind.code(), refusal.message.contains("partNumber 3")), (400, true));
    }
    // The same once more changes nothing; and nothing is a content too.
    put(&app, &address, "other").await;
    assert_eq!(app.app.storage.parts(&upload).await.unwrap(), [part(3, b"other")]);
    put(&app, &address, "").await;
    assert_eq!(app.app.storage.parts(&upload).await.unwrap(), [part(3, b"")]);
}

#[tokio::test]
async fn of_two_that_send_one_part_at_once_one_is_there_whole() {
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
    let parts = app.app.storage.parts(&upload).await.unwrap();
    assert_eq!(parts.len(), 1);
    assert!(contents.iter().any(|content| part(1, content) == parts[0]));
    assert_eq!(files_of(&app, &upload).len(), 1);
}

#[tokio::test]
async fn what_breaks_off_leaves_nothing() {
    let (app, acme) = started().await;
    let upload = app.upload(&acme, "mei", None).await;
    let address = app.part_address(&upload, 1, 1 << 20).await;
    for (lines, begun) in
        [("content-length: 500000", "abc"), ("transfer-encoding: chunked", "5\r\nabcde\r\n")]
    {
        let mut connection = Connection::open(&app.base).await;
        connection.write(head(&address, lines).as_bytes()).await;
        connection.write(begun.as_bytes()).await;
        // It is being taken in.
        eventually("a file", async || (!files_of(&app, &upload).is_empty()).then_some(())).await;
        assert!(app.app.storage.parts(&upload).await.unwrap().is_empty());
        drop(connection);
        eventually("its end", async || files_of(&app, &upload).is_empty().then_some(())).await;
    }
}

#[tokio::test]
async fn a_sender_who_sends_nothing_for_long_is_given_up() {
    let app = TestApp::start_with(|config| config.limits.idle_timeout_ms = 200).await;
    let acme = app.tenant("acme").await;
    app.sync(&acme.caller, "users", &serde_json::json!([crate::util::items::user("mei", "")])).await;
    let upload = app.upload(&acme, "mei", None).await;
    let address = app.part_address(&upload, 1, 1 << 20).await;
    let mut connection = Connection::open(&app.base).await;
    connection.write(head(&address, "content-length: 500000").as_bytes()).await;
    connection.write(b"abc").await;
    let answer = connection.read().await;
    assert_eq!(
        (answer.status, answer.body.contains("nothing of it came for 200 ms")),
        (408, true),
        "{}",
        answer.body
    );
    assert!(files_of(&app, &upload).is_empty());
}

#[tokio::test]
async fn more_than_an_address_allows_is_refused_and_the_refusal_can_be_read() {
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

/// All parts together may be as large as a file.
#[tokio::test]
async fn all_parts_together_are_no_larger_than_a_file() {
    let app = TestApp::start_with(|config| config.limits.file_bytes = 1_000).await;
    let acme = app.tenant("acme").await;
    app.sync(&acme.caller, "users", &serde_json::json!([crate::util::items::user("mei", "")])).await;
    let upload = app.upload(&acme, "mei", None).await;
    let first = app.part_address(&upload, 1, 1_000).await;
    assert_eq!(put(&app, &first, bytes(600)).await.status, 200);
    let second = app.part_address(&upload, 2, 1_000).await;
    put(&app, &second, bytes(401)).await.fails(413, "1000 bytes, as a file may have");
    put(&app, &second, in_chunks(&bytes(401), 100)).await.fails(413, "1000 bytes, as a file may have");
    assert_eq!(put(&app, &second, in_chunks(&bytes(400), 100)).await.status, 200);
    // In the place of what it had before, it may have as much.
    assert_eq!(put(&app, &first, bytes(600)).await.status, 200);
}

#[tokio::test]
async fn an_address_is_good_as_it_was_made_and_not_for_ever() {
    let (app, acme) = started().await;
    let upload = app.upload(&acme, "mei", None).await;
    let address = app.part_address(&upload, 1, 100).await;
    for changed in with_changed_pieces(&address) {
        put(&app, &changed, "abc").await.fails(403, "this address is not valid, or no longer");
    }
    let expired = Expected { upload_id: &upload, part_number: 1, most_bytes: 100, expires_at: 1_700_000_000 };
    let expired = app.app.storage.sign_upload(expired).await.unwrap().url;
    put(&app, &expired, "abc").await.fails(403, "this address is not valid, or no longer");
    assert!(files_of(&app, &upload).is_empty());
    assert_eq!(put(&app, &address, "abc").await.status, 200);
}

/// Who asks before he sends (curl does, from a MiB on) is not made to send what is refused.
#[tokio::test]
async fn who_asks_first_keeps_his_content() {
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
async fn an_upload_that_is_over_takes_nothing_and_leaves_nothing() {
    let (app, acme) = started().await;
    let upload = app.upload(&acme, "mei", None).await;
    let address = app.part_address(&upload, 1, 1 << 20).await;
    let mut connection = Connection::open(&app.base).await;
    connection.write(head(&address, "content-length: 6").as_bytes()).await;
    connection.write(b"abc").await;
    eventually("a file", async || (!files_of(&app, &upload).is_empty()).then_some(())).await;
    app.execute("DELETE FROM uploads").await;
    connection.write(b"def").await;
    let answer = connection.read().await;
    assert_eq!((answer.status, answer.body.contains("this upload is over")), (404, true), "{}", answer.body);
    assert!(!app.files().join("uploads").join(&upload).exists());
    put(&app, &address, "abc").await.fails(404, "this upload is over");
    assert!(!app.files().join("uploads").join(&upload).exists());
}

#[tokio::test]
async fn whoever_may_not_sign_in_sends_nothing() {
    let (app, acme) = started().await;
    let operator = app.operator().await;
    let upload = app.upload(&acme, "mei", None).await;
    let address = app.part_address(&upload, 1, 100).await;
    operator.caller.post_empty("/v1/enterprises/freeze?eCode=acme").await.ok();
    put(&app, &address, "abc").await.fails(403, "tenant is frozen");
    operator.caller.post_empty("/v1/enterprises/unfreeze?eCode=acme").await.ok();
    app.execute("UPDATE users SET status = 0 WHERE user_id = 'mei'").await;
    put(&app, &address, "abc").await.fails(404, "this upload is over");
    app.execute("UPDATE users SET status = 1 WHERE user_id = 'mei'").await;
    assert_eq!(put(&app, &address, "abc").await.status, 200);
    operator.caller.post_empty("/v1/enterprises/delete?eCode=acme").await;
    app.execute("UPDATE tenants SET removed_at = 1, code = 'gone' WHERE code = 'acme'").await;
    put(&app, &address, "abc").await.fails(404, "this upload is over");
}

#[tokio::test]
async fn quotas_count_what_is_on_its_way() {
    let (app, acme) = started().await;
    let root = app.root(acme.tenant_id, "mei").await;
    app.execute("UPDATE tenants SET quota_bytes = 1000, subject_quota_bytes = 500, file_bytes = 100").await;
    app.execute("UPDATE directories SET file_bytes = 100").await;
    let upload = app.upload(&acme, "mei", Some(&root)).await;
    let first = app.part_address(&upload, 1, 10_000).await;
    let subject = "the quota of whom the folder belongs to does not suffice";
    put(&app, &first, bytes(401)).await.fails(413, subject);
    assert!(files_of(&app, &upload).is_empty());
    assert_eq!(put(&app, &first, bytes(300)).await.status, 200);
    // Another upload for the same root has what is left.
    let other = app.upload(&acme, "mei", Some(&root)).await;
    put(&app, &app.part_address(&other, 1, 10_000).await, bytes(101)).await.fails(413, subject);
    assert_eq!(put(&app, &app.part_address(&other, 1, 10_000).await, bytes(100)).await.status, 200);
    // One for nobody's folders yet goes by the enterprise's alone.
    let nobodys = app.upload(&acme, "mei", None).await;
    let address = app.part_address(&nobodys, 1, 10_000).await;
    put(&app, &address, bytes(501)).await.fails(413, "the quota of the enterprise does not suffice");
    assert_eq!(put(&app, &address, bytes(500)).await.status, 200);
    // What is reserved already is there without a look.
    assert_eq!(put(&app, &address, bytes(400)).await.status, 200);
    // What nobody announced counts as it comes.
    put(&app, &first, in_chunks(&bytes(401), 100)).await.fails(413, subject);
    assert_eq!(files_of(&app, &upload).len(), 1);
}

/// One chunk of a body, as it is sent.
fn chunk(content: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", content.len()).as_bytes(), content, b"\r\n"].concat()
}

/// A sender who has begun to send and not told how much it will be.
async fn begun_in_chunks(app: &TestApp, upload: &str) -> Connection {
    let mut connection = Connection::open(&app.base).await;
    let address = app.part_address(upload, 1, 60 << 20).await;
    connection.write(head(&address, "transfer-encoding: chunked").as_bytes()).await;
    connection.write(&chunk(b"a")).await;
    eventually("a file", async || (!files_of(app, upload).is_empty()).then_some(())).await;
    connection
}

#[tokio::test]
async fn quotas_count_what_nobody_announced_while_it_comes() {
    let (app, acme) = started().await;
    app.execute("UPDATE tenants SET quota_bytes = 1000000").await;
    let upload = app.upload(&acme, "mei", None).await;
    let mut first = begun_in_chunks(&app, &upload).await;
    first.write(&chunk(&bytes(700_000))).await;
    let reserved = async || crate::util::folders::number(&app, "SELECT reserved_bytes FROM uploads").await;
    eventually("what is counted", async || (reserved().await >= 700_001).then_some(())).await;
    // Another one on the same address has what is left, and nothing of it stays while he sends on.
    let mut second = Connection::open(&app.base).await;
    let address = app.part_address(&upload, 1, 60 << 20).await;
    second.write(head(&address, "transfer-encoding: chunked").as_bytes()).await;
    second.write(&chunk(b"a")).await;
    eventually("two files", async || (files_of(&app, &upload).len() == 2).then_some(())).await;
    second.write(&chunk(&bytes(400_000))).await;
    eventually("one file", async || (files_of(&app, &upload).len() == 1).then_some(())).await;
    second.write(b"0\r\n\r\n").await;
    let answer = second.read().await;
    assert_eq!(
        (answer.status, answer.body.contains("quota of the enterprise")),
        (413, true),
        "{}",
        answer.body
    );
    first.write(&chunk(&bytes(200_000))).await;
    first.write(b"0\r\n\r\n").await;
    assert_eq!(first.read().await.status, 200);
    assert_eq!(app.app.storage.parts(&upload).await.unwrap()[0].size, 900_001);
    assert!((900_001..=1_000_000).contains(&reserved().await));
}

#[tokio::test]
async fn who_sends_much_and_may_not_any_more_learns_it_before_the_end() {
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

/// A crash came between a part and the removal of the one whose place it took.
#[tokio::test]
async fn of_two_parts_of_one_number_that_a_crash_left_one_stays() {
    let (app, acme) = started().await;
    let upload = app.upload(&acme, "mei", None).await;
    put(&app, &app.part_address(&upload, 1, 100).await, "one").await;
    let app = app.restart().await;
    let name = files_of(&app, &upload).remove(0);
    let older = app.files().join("uploads").join(&upload).join(format!("1-5-{}", sha256(b"older")));
    fs::write(&older, "older").unwrap();
    fs::File::options().write(true).open(&older).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    put(&app, &app.part_address(&upload, 2, 100).await, "two").await;
    assert_eq!(app.app.storage.parts(&upload).await.unwrap(), [part(1, b"one"), part(2, b"two")]);
    assert!(files_of(&app, &upload).contains(&name) && !older.exists());
}

#[tokio::test]
async fn no_part_is_taken_that_the_disk_has_no_room_for() {
    let (app, acme) = started().await;
    let upload = app.upload(&acme, "mei", None).await;
    let address = app.part_address(&upload, 1, u64::MAX).await;
    let app = app.restart_with(|config| config.limits.file_bytes = u64::MAX).await;
    let address = format!("{}{}", app.base, &address[address.find("/storage").unwrap()..]);
    let mut connection = Connection::open(&app.base).await;
    let lines = format!("expect: 100-continue\r\ncontent-length: {}", u64::MAX / 4);
    connection.write(head(&address, &lines).as_bytes()).await;
    let answer = connection.read().await;
    assert_eq!((answer.status, answer.body.contains("disk is full")), (503, true), "{}", answer.body);
}
