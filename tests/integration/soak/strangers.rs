//! Strangers who send harmless inputs, or at the same pace hostile ones.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use reqwest::Method;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpSocket,
    task::JoinSet,
    time::{MissedTickBehavior, interval, sleep, timeout},
};

use super::workplace::{
    Account, HARMLESS_VIEW, HOSTILE_VIEWS, MALLORY, MALLORYS_PEOPLE, PASSWORD, Workplace, changing_address,
};
use crate::util::{
    answer::Answer,
    caller::Caller,
    files::{commit_form, sha256},
    subscriptions::SUBSCRIPTIONS,
};

/// Connections that strangers keep open, more than the servers take.
const CONNECTIONS: usize = 400;
const DRIPPING_BODIES: usize = 16;
/// Calls of one kind that are open at most; more are not begun.
const MAX_OPEN: usize = 16;
const IDEOGRAPHS: usize = 250;

type Visit = fn(Arc<Workplace>) -> futures::future::BoxFuture<'static, ()>;

/// Visits with their intervals.
const VISITS: &[(Duration, Visit)] = &[
    (Duration::from_secs(1), |workplace| Box::pin(run_subscription(workplace))),
    (Duration::from_secs(4), |workplace| Box::pin(import(workplace))),
    (Duration::from_millis(50), |workplace| Box::pin(ask_for_token(workplace))),
    (Duration::from_millis(200), |workplace| Box::pin(sign_in(workplace))),
    (Duration::from_secs(2), |workplace| Box::pin(synchronize(workplace))),
    (Duration::from_secs(2), |workplace| Box::pin(upload(workplace))),
    (Duration::from_millis(500), |workplace| Box::pin(search_module(workplace, "mapped"))),
    (Duration::from_millis(500), |workplace| Box::pin(search_module(workplace, "plain"))),
    (Duration::from_millis(100), |workplace| Box::pin(search_much(workplace))),
];

/// Lets all of them go on until the set is dropped.
pub(super) fn begin(workplace: &Arc<Workplace>) -> JoinSet<()> {
    let mut all = JoinSet::new();
    for (pace, visit) in VISITS {
        all.spawn(repeat(Arc::clone(workplace), *pace * workplace.slowness, *visit));
    }
    for number in 0..CONNECTIONS {
        all.spawn(keep_open(Arc::clone(workplace), number));
    }
    for _ in 0..DRIPPING_BODIES {
        all.spawn(drip(Arc::clone(workplace)));
    }
    all
}

async fn repeat(workplace: Arc<Workplace>, pace: Duration, visit: Visit) {
    let mut open = JoinSet::new();
    let mut ticks = interval(pace);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        while open.try_join_next().is_some() {}
        if open.len() < MAX_OPEN {
            open.spawn(visit(Arc::clone(&workplace)));
        }
    }
}

async fn run_subscription(workplace: Arc<Workplace>) {
    let views = if workplace.is_hostile() { HOSTILE_VIEWS.as_slice() } else { &[HARMLESS_VIEW; 2] };
    let feeds = workplace.foreign.feeds();
    let ids: Vec<&str> = feeds.iter().map(|(id, _)| *id).chain(views.iter().map(|(id, _)| *id)).collect();
    let id = ids[fastrand::usize(..ids.len())];
    let run = |caller: &Caller| caller.request(Method::POST, &format!("{SUBSCRIPTIONS}/{id}/run"));
    workplace.call("subscription", &workplace.operator, run).await;
}

async fn import(workplace: Arc<Workplace>) {
    let file = workplace.inputs().import.clone();
    let import = |caller: &Caller| {
        let request = caller.request(Method::POST, "/admin/v1/contents/article/import");
        request.header("content-type", "application/octet-stream").body(file.clone())
    };
    workplace.call("import", &workplace.operator, import).await;
}

async fn ask_for_token(workplace: Arc<Workplace>) {
    let from = changing_address();
    let call = async {
        let wrong = format!("wrong-{:032x}", fastrand::u128(..));
        let secret = if workplace.is_hostile() { &wrong } else { workplace.mallory.secret("clientSecret") };
        let granted = workplace.grant(&workplace.mallory, secret, Some(&from)).await;
        granted.map_or(0, |answer| answer.status)
    };
    workplace.journal.write_down("token", call).await;
}

async fn sign_in(workplace: Arc<Workplace>) {
    let login = format!("m{}", fastrand::usize(..MALLORYS_PEOPLE));
    let password = if workplace.is_hostile() { "wrong" } else { PASSWORD };
    workplace.sign_in("sign-in", (MALLORY, &login), password).await;
}

async fn synchronize(workplace: Arc<Workplace>) {
    let body = workplace.inputs().synchronization();
    let send = |caller: &Caller| {
        caller
            .request(Method::PUT, "/v1/users/sync")
            .header("content-type", "application/json")
            .body(body.clone())
    };
    workplace.call("synchronization", &workplace.mallory, send).await;
}

async fn upload(workplace: Arc<Workplace>) {
    let (extension, content) = workplace.inputs().document();
    let call =
        async { try_to_upload(&workplace, extension, content).await.map_or(0, |answer| answer.status) };
    workplace.journal.write_down("upload", call).await;
}

async fn try_to_upload(workplace: &Workplace, extension: &str, content: Vec<u8>) -> Option<Answer> {
    let caller = workplace.caller(&workplace.visitor).await?;
    let sign = caller.request(Method::POST, "/v1/stream/upload").json(&json!({}));
    let signed = Answer::receive(sign).await.filter(|answer| answer.status == 200)?;
    let signed = signed.data();
    let name = format!("{}.{extension}", &sha256(&content)[..16]);
    let size = content.len();
    let method: Method = signed["method"].as_str()?.parse().ok()?;
    let mut request = caller.http.request(method, signed["url"].as_str()?).body(content);
    for (name, value) in signed["headers"].as_object().into_iter().flatten() {
        request = request.header(name, value.as_str()?);
    }
    Answer::receive(request).await?;
    let mut form = commit_form(signed["uploadId"].as_str()?, "root", &name, size);
    form["ondup"] = json!(true);
    Answer::receive(caller.request(Method::POST, "/v1/stream/upload/commit").json(&form)).await
}

async fn search(workplace: &Workplace, client: &'static str, account: &Account, module: &str, keyword: &str) {
    let parameters = [("moduleId", module), ("keyword", keyword)];
    let request = |caller: &Caller| caller.request(Method::POST, "/contents/search").query(&parameters);
    workplace.call(client, account, request).await;
}

async fn search_module(workplace: Arc<Workplace>, module: &'static str) {
    let keyword = format!("harbour {}", fastrand::u32(..));
    search(&workplace, module, &workplace.visitor, module, &keyword).await;
}

/// Searches as a person of the same tenant, each time with other ideographs.
async fn search_much(workplace: Arc<Workplace>) {
    let count = if workplace.is_hostile() { IDEOGRAPHS } else { 2 };
    let keyword: String = (0..count).map(|_| fastrand::char('\u{4e00}'..'\u{5e00}')).collect();
    search(&workplace, "greedy", &workplace.greedy, "feed", &keyword).await;
}

/// Holds a connection from an address of one network.
async fn keep_open(workplace: Arc<Workplace>, number: usize) {
    loop {
        _ = hold_connection(&workplace, number).await;
        sleep(Duration::from_secs(1)).await;
    }
}

async fn hold_connection(workplace: &Workplace, number: usize) -> std::io::Result<()> {
    let base = workplace.base().trim_start_matches("http://");
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from(([127, 1, 2, u8::try_from(number % 250).unwrap_or(0) + 1], 0)))?;
    let mut connection = socket.connect(base.parse().map_err(std::io::Error::other)?).await?;
    let request = format!("GET /healthz HTTP/1.1\r\nhost: {base}\r\n");
    connection.write_all(request.as_bytes()).await?;
    if !workplace.is_hostile() {
        connection.write_all(b"\r\n").await?;
    }
    let mut answer = [0; 1_024];
    while timeout(Duration::from_mins(2), connection.read(&mut answer))
        .await
        .is_ok_and(|read| read.is_ok_and(|bytes| bytes > 0))
    {}
    Ok(())
}

/// Sends a body in drops, or at once.
async fn drip(workplace: Arc<Workplace>) {
    loop {
        let is_hostile = workplace.is_hostile();
        let send = |caller: &Caller| {
            let drops = futures::stream::unfold((), |()| async {
                sleep(Duration::from_secs(1)).await;
                Some((Ok::<_, std::io::Error>("["), ()))
            });
            let body = if is_hostile { reqwest::Body::wrap_stream(drops) } else { "[]".into() };
            caller
                .request(Method::PUT, "/v1/contents/article")
                .header("content-type", "application/json")
                .body(body)
        };
        workplace.call("dripping", &workplace.mallory, send).await;
        sleep(Duration::from_secs(10)).await;
    }
}
