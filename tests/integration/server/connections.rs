//! Limits of connections and bodies, and shutdown.

use std::{net::IpAddr, time::Duration};

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
    caller::Caller,
    eventually,
    external::{ExternalSystem, Reply},
    internals::Limits,
    items::{item, many},
    program::{Server, create_application},
    raw::{Connection, RawAnswer},
};

/// Long enough for a client on a busy machine.
const SHORT_MS: u64 = 2_000;
const ALIVE: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";

async fn start(change: impl FnOnce(&mut Limits)) -> TestApp {
    TestApp::start_with(|config| change(&mut config.limits)).await
}

fn head_of_a_write(caller: &Caller, length: usize) -> String {
    format!(
        "PUT /v1/contents/article HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n",
        caller.token
    )
}

fn body_of(length: usize) -> String {
    let empty = json!([item("1", "", 1)]).to_string().len();
    json!([item("1", &"x".repeat(length - empty), 1)]).to_string()
}

#[track_caller]
fn fails(answer: &RawAnswer, status: u16, named: &str) {
    assert_eq!(answer.status, status, "{}", answer.body);
    let envelope: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!((&envelope["code"], &envelope["data"]), (&json!(status), &Value::Null), "{envelope}");
    assert!(envelope["message"].as_str().unwrap().contains(named), "{envelope}");
}

#[tokio::test]
async fn late_request_head_closes_the_connection() {
    let app = start(|limits| limits.header_timeout_ms = SHORT_MS).await;
    join_all([b"".as_slice(), b"G", b"GET /healthz HTTP/1.1\r\nhost: x\r\n"].map(async |begun| {
        let mut connection = Connection::open(&app.base).await;
        connection.write(begun).await;
        assert_eq!(connection.read_to_end().await, b"");
    }))
    .await;
    let mut connection = Connection::open(&app.base).await;
    connection.write(ALIVE).await;
    assert_eq!(connection.read().await.status, 200);
    connection.write(&ALIVE[..20]).await;
    assert_eq!(connection.read_to_end().await, b"");
}

#[tokio::test]
async fn idle_connection_is_closed() {
    let app = start(|limits| limits.idle_timeout_ms = SHORT_MS).await;
    let mut connection = Connection::open(&app.base).await;
    for _ in 0..3 {
        connection.write(ALIVE).await;
        assert_eq!(connection.read().await.status, 200);
    }
    assert_eq!(connection.read_to_end().await, b"");
}

#[tokio::test]
async fn unread_answer_is_aborted() {
    let app = start(|limits| limits.idle_timeout_ms = SHORT_MS).await;
    let whole =
        app.http.get(format!("{}/openapi.json", app.base)).send().await.unwrap().bytes().await.unwrap();
    let requests = 500;
    let mut connection = Connection::open(&app.base).await;
    connection.write(&b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(requests)).await;
    // The server stops writing when the kernel's buffers are full.
    eventually("the server to stop writing", async || connection.is_broken().then_some(())).await;
    assert!(connection.read_to_end().await.len() < whole.len() * requests);
}

#[tokio::test]
async fn slow_answer_is_not_cut_off() {
    let app = start(|limits| (limits.header_timeout_ms, limits.idle_timeout_ms) = (SHORT_MS, SHORT_MS)).await;
    let acme = app.tenant("acme").await;
    let slow = ExternalSystem::start(Vec::new()).await;
    slow.set_reply(Reply::Silent);
    app.put_contents(&acme.caller, "article", &[item("1", "harbour", 1)]).await;
    app.register_source(&acme, slow.registration("slow"), "all", &["builtin:article", "slow"]).await;
    let terms = [("keyword", "harbour"), ("moduleId", "all"), ("timeout", "4000")];
    let answer = acme.caller.search(&terms).await.ok();
    assert_eq!((answer.ids(), &answer.source("slow")["status"]), (vec!["1"], &json!("timeout")));
}

#[tokio::test]
async fn late_body_is_408() {
    let app = start(|limits| limits.body_timeout_ms = SHORT_MS).await;
    let acme = app.tenant("acme").await;
    let body = body_of(200);
    let first = &body[..100];
    let mut connection = Connection::open(&app.base).await;
    connection.write(head_of_a_write(&acme.caller, body.len()).as_bytes()).await;
    connection.write(first.as_bytes()).await;
    fails(&connection.read().await, 408, "body: did not arrive within 2000 ms");
    assert_eq!(connection.read_to_end().await, b"", "the rest might be read as a request");
    let mut connection = Connection::open(&app.base).await;
    connection.write(head_of_a_write(&acme.caller, 9 << 20).as_bytes()).await;
    connection.write(first.as_bytes()).await;
    fails(&connection.read().await, 413, "body: must be at most");
    assert_eq!(*app.app.store.positions().borrow(), 0);
}

/// The refusal is ready before the body is: its sender must not be cut off.
#[tokio::test]
async fn refusal_before_the_body_is_read_by_who_sends_it_whole() {
    let app = start(|_| {}).await;
    let body = body_of(8 << 20);
    let mut connection = Connection::open(&app.base).await;
    for _ in 0..2 {
        connection.write(head_of_a_write(&app.caller("unknown"), body.len()).as_bytes()).await;
        connection.write(body.as_bytes()).await;
        fails(&connection.read().await, 401, "");
    }
}

/// Its client may send the next request instead of the body.
#[tokio::test]
async fn refusal_of_a_request_that_expects_continue_closes_the_connection() {
    let app = start(|_| {}).await;
    let mut connection = Connection::open(&app.base).await;
    let head = head_of_a_write(&app.caller("unknown"), 100);
    let head = head.replace("\r\n\r\n", "\r\nexpect: 100-continue\r\n\r\n");
    connection.write(head.as_bytes()).await;
    let refusal = connection.read().await;
    fails(&refusal, 401, "");
    assert!(refusal.head.contains("\r\nconnection: close\r\n"), "{}", refusal.head);
    connection.write(&[b' '; 100]).await;
    assert_eq!(connection.read_to_end().await, b"");
}

async fn start_with_small_budget() -> (TestApp, Application) {
    let start = TestApp::start_with(|config| {
        config.limits.held_body_bytes = BUDGET;
        // All writes wait in one queue.
        config.store.writers = 0;
    });
    let app = start.await;
    let acme = app.tenant("acme").await;
    (app, acme)
}

const BODY: usize = 4_000;
/// Bytes of two bodies for a tenant alone, and of a small one.
const BUDGET: usize = 2 * (2 * BODY + 500);

async fn put(caller: &Caller, body: &str) -> Answer {
    caller.send_text(Method::PUT, "/v1/contents/article", body).await
}

#[track_caller]
fn assert_no_budget(answer: Answer) {
    let answer = answer.fails(503, "bodies of other requests");
    assert_eq!(answer.header("retry-after"), "1");
}

#[tokio::test]
async fn bodies_beyond_a_share_are_503_while_others_go_on() {
    let (app, acme) = start_with_small_budget().await;
    let other = app.tenant("other").await;
    let body = body_of(BODY);
    let mut connections = Vec::new();
    for _ in 0..2 {
        let mut connection = Connection::open(&app.base).await;
        connection.write(head_of_a_write(&acme.caller, body.len()).as_bytes()).await;
        connection.write(&body.as_bytes()[..BODY - 1]).await;
        connections.push(connection);
    }
    let arrived = async || (app.app.body_budget.available() + 2 * BODY < BUDGET + 10).then_some(());
    eventually("both to have arrived", arrived).await;
    assert_no_budget(put(&acme.caller, &body).await);
    put(&other.caller, &body).await.ok();
    // Small bodies and requests without one still fit.
    put(&acme.caller, &body_of(300)).await.ok();
    acme.caller.search(&[("keyword", "x"), ("moduleId", "article")]).await.ok();
    for connection in &mut connections {
        connection.write(&body.as_bytes()[BODY - 1..]).await;
        assert_eq!(connection.read().await.status, 200);
    }
    put(&acme.caller, &body).await.ok();
    for _ in 0..20 {
        let mut connection = Connection::open(&app.base).await;
        connection.write(head_of_a_write(&acme.caller, body.len()).as_bytes()).await;
        connection.write(&body.as_bytes()[..BODY - 1]).await;
    }
    eventually("free budget", async || (put(&acme.caller, &body).await.status == 200).then_some(())).await;
}

/// A body of over 64 KiB, with so many values that nobody reads.
fn body_of_values(count: usize) -> String {
    let mut item = item("1", "harbour", 1);
    item["values"] = json!(vec![0; count]);
    json!([item]).to_string()
}

#[tokio::test]
async fn large_json_counts_by_its_values() {
    let app = start(|limits| limits.held_body_bytes = 16 << 20).await;
    let [acme, other] = [app.tenant("acme").await, app.tenant("other").await];
    put(&acme.caller, &body_of_values(40_000)).await.ok();
    put(&acme.caller, &body_of_values(200_000)).await.fails(413, "body: must hold at most 12");
    let body = body_of_values(80_000);
    let (begun, last) = body.as_bytes().split_at(body.len() - 1);
    let mut connection = Connection::open(&app.base).await;
    connection.write(head_of_a_write(&acme.caller, body.len()).as_bytes()).await;
    connection.write(begun).await;
    let arrived = async || (app.app.body_budget.available() < 11 << 20).then_some(());
    eventually("the body to have arrived", arrived).await;
    assert_no_budget(put(&acme.caller, &body).await);
    put(&other.caller, &body_of_values(40_000)).await.ok();
    connection.write(last).await;
    assert_eq!(connection.read().await.status, 200);
    put(&acme.caller, &body).await.ok();
}

/// Other large answers wait only while these connections last.
#[tokio::test]
async fn unread_answers_share_one_byte_budget() {
    let app = start(|limits| limits.held_answer_bytes = 2 << 20).await;
    let [acme, other] = [app.tenant("acme").await, app.tenant("other").await];
    let brief = "harbour ".repeat(8_000);
    for call in 0..4 {
        let items: Vec<Value> =
            (0..100).map(|item| json!({"id": format!("{call}-{item}"), "brief": brief})).collect();
        app.put_contents(&acme.caller, "article", &items).await;
    }
    let path = "/contents/search?moduleId=article&keyword=harbour&limit=1000";
    let head =
        format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n", acme.caller.token);
    let mut connection = Connection::open(&app.base).await;
    connection.write(head.as_bytes()).await;
    let is_taken = async || (app.app.answer_budget.available() < 2 << 20).then_some(());
    eventually("the unread answer to take the budget", is_taken).await;
    let full = async || {
        let answer = acme.caller.get(path).await;
        (answer.status == 503).then_some(answer)
    };
    let refused = eventually("taken budget", full).await.fails(503, "unread answers use all memory");
    let items = ["1", "2"].map(|id| json!({"id": id, "brief": brief}));
    app.put_contents(&other.caller, "article", &items).await;
    assert!(other.caller.get(path).await.ok().text.len() > 64 << 10);
    assert_eq!(refused.header("retry-after"), "1");
    acme.caller.get("/contents/search?moduleId=article&keyword=harbour&limit=1&paging=cursor").await.ok();
    drop(connection);
    eventually("free budget", async || (acme.caller.get(path).await.status == 200).then_some(())).await;
}

/// Even when its client is gone.
#[tokio::test]
async fn queued_write_holds_its_budget_until_done() {
    let (app, acme) = start_with_small_budget().await;
    // Its writes would wait, too.
    app.app.maintenance.stop().await;
    let (begin, has_begun) = oneshot::channel::<()>();
    let (go_on, held_up) = oneshot::channel::<()>();
    let blocked = tokio::spawn({
        let store = app.app.store.clone();
        let wait = async {
            begin.send(()).unwrap();
            held_up.await.unwrap();
            Ok(())
        };
        async move { store.write(|_| Box::pin(wait)).await }
    });
    has_begun.await.unwrap();
    let body = body_of(BODY);
    let left: Vec<_> = (0..2)
        .map(|_| {
            let (caller, body) = (acme.caller.clone(), body.clone());
            tokio::spawn(async move { put(&caller, &body).await })
        })
        .collect();
    eventually("both to wait", async || (app.app.store.waiting_writes() == 2).then_some(())).await;
    for caller in left {
        caller.abort();
        drop(caller.await);
    }
    assert_no_budget(put(&acme.caller, &body).await);
    go_on.send(()).unwrap();
    blocked.await.unwrap().unwrap();
    eventually("free budget", async || (put(&acme.caller, &body).await.status == 200).then_some(())).await;
}

#[tokio::test]
async fn longest_idle_connection_gives_way_beyond_the_limit() {
    let app = start(|limits| limits.connections = 3).await;
    let mut open = Vec::new();
    for _ in 0..4 {
        let mut connection = Connection::open(&app.base).await;
        connection.write(ALIVE).await;
        assert_eq!(connection.read().await.status, 200);
        open.push(connection);
    }
    assert_eq!(open.remove(0).read_to_end().await, b"");
    for connection in &mut open {
        connection.write(ALIVE).await;
        assert_eq!(connection.read().await.status, 200);
    }
}

#[tokio::test]
async fn unfinished_requests_of_one_network_give_way_to_another() {
    let app = start(|limits| limits.connections = 3).await;
    let acme = app.tenant("acme").await;
    let free = app.app.body_budget.available();
    let mut stalled = Vec::new();
    for number in 1..=3 {
        let mut connection = Connection::open(&app.base).await;
        connection.write(head_of_a_write(&acme.caller, 100).as_bytes()).await;
        connection.write(&[b' '; 50]).await;
        let arrived = async || (app.app.body_budget.available() == free - 50 * number).then_some(());
        eventually("the body to have begun", arrived).await;
        stalled.push(connection);
    }
    let elsewhere = reqwest::Client::builder().no_proxy().local_address(IpAddr::from([127, 1, 2, 1]));
    let health = format!("{}/healthz", app.base);
    assert_eq!(elsewhere.build().unwrap().get(health).send().await.unwrap().status(), 200);
    assert_eq!(stalled[0].read_to_end().await, b"");
}

/// No new connections; idle ones are closed.
#[tokio::test]
async fn shutdown_completes_requests_in_flight() {
    let (app, acme) = TestApp::start_with_acme().await;
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    app.register_source(&acme, system.registration("x"), "all", &["x"]).await;
    let mut idle = Connection::open(&app.base).await;
    idle.write(ALIVE).await;
    assert_eq!(idle.read().await.status, 200);
    let mut unasked = Connection::open(&app.base).await;
    system.hold_answers();
    let search = tokio::spawn({
        let caller = acme.caller.clone();
        async move { caller.search(&[("keyword", "harbour"), ("moduleId", "all")]).await }
    });
    eventually("the search to run", async || (!system.requests().is_empty()).then_some(())).await;
    app.stop();
    assert_eq!(idle.read_to_end().await, b"");
    assert_eq!(unasked.read_to_end().await, b"");
    eventually("the server to take no more connections", async || {
        tokio::net::TcpStream::connect(app.base.trim_start_matches("http://")).await.is_err().then_some(())
    })
    .await;
    system.release_answers();
    assert_eq!(search.await.unwrap().ok().ids().len(), 3);
    app.wait_for_end().await;
}

/// HTTP/2 is left to a proxy.
#[tokio::test]
async fn http_2_is_refused() {
    let app = start(|_| {}).await;
    let client = reqwest::Client::builder().no_proxy().http2_prior_knowledge().build().unwrap();
    let health = format!("{}/healthz", app.base);
    assert!(client.get(&health).send().await.is_err());
    assert_eq!(app.http.get(&health).send().await.unwrap().status(), 200);
}

/// `serve` aborts it after its own timeout, and says so.
#[tokio::test]
async fn dripping_request_does_not_delay_the_stop() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::start(directory.path()).await;
    let caller = server.caller(&create_application(directory.path(), "acme").await).await;
    let mut body = Connection::open(&server.base).await;
    let begun = head_of_a_write(&caller, 1 << 20).replace("\r\n\r\n", "\r\nexpect: 100-continue\r\n\r\n");
    body.write(begun.as_bytes()).await;
    assert_eq!(body.read().await.status, 100);
    let mut head = Connection::open(&server.base).await;
    head.write(b"GET /healthz HTTP/1.1\r\nhost: x\r\nx: ").await;
    server.terminate();
    let ended = async {
        let status = server.wait_for_end().await;
        assert!(status.success(), "{status}");
    };
    let drips = async {
        loop {
            tokio::time::sleep(Duration::from_millis(100)).await;
            for connection in [&mut body, &mut head] {
                let _ = connection.try_write(b"[").await;
            }
        }
    };
    tokio::select! {
        () = ended => {}
        () = drips => {}
    }
    assert!(!server.log().contains("aborting requests in flight"), "{}", server.log());
}
