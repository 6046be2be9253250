//! Misbehaving callbacks: the task stays, the caller and the log get the reason.

use crate::util::{
    app::TestApp,
    callback::{Callback, CallbackReply},
    items::user,
    program::own_address,
    quick_handling::{Desk, READ, TO_READ, press, to_read},
};
use serde_json::json;
use tokio::{io::AsyncWriteExt as _, net::TcpListener};

/// Milliseconds in which a busy machine still reaches the callback.
const SHORTLY: u64 = 500;

const UNREACHABLE: &str = "the callback cannot be reached, or does not answer in HTTP";

async fn fails(desk: &Desk, task_id: &str, reason: &str) {
    let answer = desk.press(task_id).await.fails(502, &format!("quickDealCallback: {reason}"));
    assert!(answer.message().ends_with("; nothing has changed"), "{}", answer.text);
    assert!(!answer.text.contains("secret"), "{}", answer.text);
    desk.assert_state(task_id, TO_READ).await;
    let log = desk.log(task_id).await;
    let last = log.last().unwrap();
    assert_eq!(last.outcome, "failed");
    assert!(last.message.as_deref().unwrap().contains(reason), "{last:?}");
    assert!(last.took_ms.is_some());
}

#[tokio::test]
async fn failing_callback_leaves_the_task_unchanged() {
    let desk = Desk::start().await;
    let callback = Callback::start(CallbackReply::Closes).await;
    let id = desk.create(&to_read("t1", &callback.url)).await;
    let text = |text: &str| CallbackReply::Text(text.to_owned());
    let elsewhere = Callback::start(CallbackReply::Status(200)).await;
    let moods = [
        (CallbackReply::Status(500), "the callback answered with HTTP 500"),
        (CallbackReply::Status(404), "the callback answered with HTTP 404"),
        (
            text("HTTP/1.1 503 No\r\nRetry-After: 5\r\nContent-Length: 6\r\n\r\nsecret"),
            "the callback answered with HTTP 503",
        ),
        (
            CallbackReply::redirect(302, "http://169.254.169.254/latest/meta-data"),
            "the callback answered with a redirect (HTTP 302)",
        ),
        (CallbackReply::redirect(307, &elsewhere.url), "the callback answered with a redirect (HTTP 307)"),
        (CallbackReply::redirect(308, "/handled"), "the callback answered with a redirect (HTTP 308)"),
        (CallbackReply::Closes, UNREACHABLE),
        (text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n"), UNREACHABLE),
        (text("secret\r\n\r\n"), UNREACHABLE),
    ];
    let count = moods.len();
    for (reply, reason) in moods {
        callback.set_reply(reply);
        fails(&desk, &id, reason).await;
    }
    assert_eq!((callback.calls().len(), callback.connections()), (count, count));
    assert_eq!(elsewhere.connections(), 0);
    assert_eq!(desk.log(&id).await.len(), count);
    let deliveries = callback.calls().iter().map(|told| told.header("x-trawl-delivery").to_owned()).collect();
    let deliveries: std::collections::HashSet<String> = deliveries;
    assert_eq!(deliveries.len(), count);

    callback.set_reply(CallbackReply::Status(200));
    desk.press(&id).await.ok();
    desk.assert_state(&id, READ).await;
}

/// Applications choose the address, and must not learn which ports of the network are open.
#[tokio::test]
async fn failed_connection_tells_the_same_whatever_its_cause() {
    let desk = Desk::start().await;
    let closed = own_address();
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let without_tls = format!("https://{}/", plain.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = plain.accept().await {
            let _ = connection.write_all(b"no TLS here\r\n").await;
        }
    });
    for (number, url) in [
        format!("http://{closed}/"),
        without_tls,
        format!("https://{closed}/"),
        "https://callback.invalid/".to_owned(),
    ]
    .into_iter()
    .enumerate()
    {
        let id = desk.create(&to_read(&format!("t{number}"), &url)).await;
        let answer = desk.press(&id).await.fails(502, UNREACHABLE);
        let expected = format!("quickDealCallback: {UNREACHABLE}; nothing has changed");
        assert_eq!(answer.body["message"], expected, "{url}");
        assert_eq!(desk.log(&id).await[0].message.as_deref(), Some(UNREACHABLE), "{url}");
    }
}

#[tokio::test]
async fn slow_callback_leaves_the_task_unchanged() {
    let desk = Desk::start_with(|config| config.tasks.callback_timeout_ms = SHORTLY).await;
    let callback = Callback::start(CallbackReply::Silent).await;
    let id = desk.create(&to_read("t1", &callback.url)).await;
    let late = format!("the callback did not answer within {SHORTLY} ms");
    for reply in [
        CallbackReply::Silent,
        CallbackReply::Drips("HTTP/1.1 200 O"),
        CallbackReply::Drips("HTTP/1.1 200 OK\r\nX-Long: "),
    ] {
        callback.set_reply(reply);
        fails(&desk, &id, &late).await;
    }
    let (reply, held) = CallbackReply::held(200);
    callback.set_reply(reply);
    fails(&desk, &id, &late).await;
    held.close();
    callback.set_reply(CallbackReply::Silent);
    fails(&desk, &id, &late).await;
    assert_eq!(desk.log(&id).await.len(), 5);
    // A busy machine may time out before the call.
    assert!(callback.calls().len() <= 5);
}

#[tokio::test]
async fn status_2xx_decides_whatever_the_body() {
    let desk = Desk::start().await;
    let text = |text: &str| CallbackReply::Text(text.to_owned());
    for (number, reply) in [
        CallbackReply::Huge,
        CallbackReply::Drips("HTTP/1.1 200 OK\r\n\r\n"),
        CallbackReply::Drips("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"),
        CallbackReply::Drips("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1234"),
        text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n1234\r\n"),
    ]
    .into_iter()
    .enumerate()
    {
        let callback = Callback::start(reply).await;
        let id = desk.create(&to_read(&format!("t{number}"), &callback.url)).await;
        assert_eq!(desk.press(&id).await.ok().data(), &json!(id));
        desk.assert_state(&id, READ).await;
        let [handled] = &desk.log(&id).await[..] else { panic!("not one row") };
        assert_eq!((handled.outcome.as_str(), &handled.message), ("succeeded", &None));
        assert_eq!((callback.calls().len(), callback.connections()), (1, 1));
    }
}

#[tokio::test]
async fn callback_hosts_are_restricted() {
    let desk =
        Desk::start_with(|config| config.connectors.allow_http_hosts = vec!["localhost:1".to_owned()]).await;
    let callback = Callback::start(CallbackReply::Status(200)).await;
    let port = callback.url.rsplit_once(':').unwrap().1.strip_suffix("/handled").unwrap().to_owned();
    for (number, (url, reason)) in [
        (callback.url.clone(), "the address of the callback must be https"),
        (format!("http://localhost:{port}/"), "the address of the callback must be https"),
        (format!("https://127.0.0.1:{port}/"), "the address of the callback leads to a loopback address"),
        (format!("https://localhost:{port}/"), "the address of the callback leads to a loopback address"),
        (format!("https://[::1]:{port}/"), "the address of the callback leads to a loopback address"),
        (
            "https://169.254.169.254/latest".to_owned(),
            "the address of the callback leads to a link-local address",
        ),
        ("https://callback.invalid/".to_owned(), UNREACHABLE),
        ("http://localhost:1/".to_owned(), UNREACHABLE),
    ]
    .into_iter()
    .enumerate()
    {
        let id = desk.create(&to_read(&format!("t{number}"), &url)).await;
        fails(&desk, &id, reason).await;
    }
    assert_eq!(callback.connections(), 0);
}

#[tokio::test]
async fn callback_out_of_the_listed_networks_is_refused() {
    let desk = Desk::start_with(|config| {
        config.connectors.allow_networks = vec!["203.0.113.0/24".parse().unwrap()];
    })
    .await;
    let listed = Callback::start(CallbackReply::Status(200)).await;
    for (number, url) in
        ["https://10.0.0.7/", "https://[::ffff:10.0.0.7]/", "https://[fd12::1]/"].iter().enumerate()
    {
        let id = desk.create(&to_read(&format!("t{number}"), url)).await;
        fails(&desk, &id, "the address of the callback leads out of the networks").await;
    }
    let id = desk.create(&to_read("listed", &listed.url)).await;
    desk.press(&id).await.ok();
}

#[tokio::test]
async fn hanging_application_leaves_slots_to_others() {
    let desk = Desk::start_with(|config| config.tasks.callbacks_at_once_per_application = 1).await;
    let (reply, held) = CallbackReply::held(200);
    let callback = Callback::start(reply).await;
    let id = desk.create(&to_read("t1", &callback.url)).await;
    let second = desk.create(&to_read("t2", &callback.url)).await;
    let (theirs, lin) = task_of_another_application(&desk.app).await;
    let hanging = desk.pressing(&id);
    callback.wait_for_calls(1).await;
    let full = desk.press(&second).await.fails(503, "of this task's application");
    assert_eq!(full.header("retry-after"), "1");
    desk.assert_state(&second, TO_READ).await;

    press(&lin, &theirs).await.ok();

    held.close();
    hanging.await.unwrap().ok();
    desk.press(&second).await.ok();
    assert_eq!((desk.log(&id).await.len(), desk.log(&second).await.len()), (1, 1));
}

async fn task_of_another_application(app: &TestApp) -> (String, crate::util::caller::Caller) {
    let other = app.tenant("other").await;
    app.sync(&other.caller, "users", &json!([user("mei", "")])).await;
    let callback = Callback::start(CallbackReply::Status(200)).await;
    let created = other.caller.post("/api/todo/create", &to_read("t1", &callback.url)).await.ok();
    (created.data()["id"].as_str().unwrap().to_owned(), app.user(&other, "mei").await)
}

#[tokio::test]
async fn task_log_is_bounded_with_distinct_times() {
    let desk = Desk::start().await;
    let id = desk.create(&to_read("t1", "https://169.254.169.254/")).await;
    for _ in 0..103 {
        desk.press(&id).await.fails(502, "a link-local address");
    }
    let log = desk.log(&id).await;
    assert_eq!(log.len(), 100);
    assert!(log.is_sorted_by(|one, next| one.handled_at < next.handled_at));
}
