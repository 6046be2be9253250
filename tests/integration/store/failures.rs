//! PostgreSQL connections that are cut.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, tcp::OwnedWriteHalf},
    task::JoinSet,
};

use crate::util::{
    app::TestApp,
    caller::Caller,
    eventually,
    items::{NEW_YEAR, item},
    postgres::{database, query},
};

/// Relays PostgreSQL's protocol and cuts a connection at its next COMMIT, once where armed.
struct CommitCutter {
    port: u16,
    /// Whether the server receives the COMMIT of the cut connection.
    lets_through: bool,
    armed: Arc<AtomicBool>,
    _relaying: JoinSet<()>,
}

impl CommitCutter {
    async fn before(server: &str, lets_through: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let armed = Arc::new(AtomicBool::new(false));
        let mut relaying = JoinSet::new();
        let (server, is_armed) = (server.to_owned(), Arc::clone(&armed));
        relaying.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (near, _) = listener.accept().await.unwrap();
                let far = TcpStream::connect(&server).await.unwrap();
                connections.spawn(relay(near, far, Arc::clone(&is_armed), lets_through));
            }
        });
        Self { port, lets_through, armed, _relaying: relaying }
    }
}

async fn relay(near: TcpStream, far: TcpStream, armed: Arc<AtomicBool>, lets_through: bool) {
    let (mut from_client, mut to_client) = near.into_split();
    let (mut from_server, mut to_server) = far.into_split();
    let mut answers = tokio::spawn(async move {
        let mut piece = vec![0; 65_536];
        while let Ok(length @ 1..) = from_server.read(&mut piece).await {
            if to_client.write_all(&piece[..length]).await.is_err() {
                break;
            }
        }
        from_server
    });
    let mut piece = vec![0; 65_536];
    while let Ok(length @ 1..) = from_client.read(&mut piece).await {
        let commits = piece[..length].windows(6).any(|bytes| bytes == b"COMMIT");
        if commits && armed.swap(false, Ordering::SeqCst) {
            // The server's answer goes nowhere.
            answers.abort();
            let _ = (&mut answers).await;
            if lets_through {
                to_server.write_all(&piece[..length]).await.unwrap();
            }
            return finish(to_server).await;
        }
        if to_server.write_all(&piece[..length]).await.is_err() {
            break;
        }
    }
    answers.abort();
}

async fn finish(mut to_server: OwnedWriteHalf) {
    let _ = to_server.shutdown().await;
}

async fn put(caller: &Caller, id: &str) -> u16 {
    caller.put("/v1/contents/article", &json!([item(id, "harbour", NEW_YEAR)])).await.status
}

/// Requests meanwhile are refused at most.
#[tokio::test]
async fn cut_connections_are_opened_anew() {
    let url = database("cut");
    let (_app, acme) = TestApp::start_acme_with(|config| config.store.url = Some(url.as_str().into())).await;
    for round in 0..5 {
        let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
            WHERE datname = current_database() AND pid <> pg_backend_pid()";
        query(&url, cut).await;
        eventually("a new connection", async || match put(&acme.caller, &round.to_string()).await {
            200 => Some(()),
            status => {
                assert_eq!(status, 503, "round {round}");
                None
            }
        })
        .await;
    }
    // The indexer reads on by itself.
    eventually("all items", async || {
        let answer = acme.caller.search(&[("moduleId", "article"), ("keyword", "harbour")]).await;
        (answer.status == 200 && answer.total() == 5).then_some(())
    })
    .await;
}

#[tokio::test]
async fn commit_whose_answer_is_lost_is_reported_as_it_ended() {
    for lets_through in [true, false] {
        let url = database(if lets_through { "answer_lost" } else { "commit_lost" });
        let server = url.split(['@', '/']).find(|part| part.starts_with("127.0.0.1:")).unwrap().to_owned();
        let cutter = CommitCutter::before(&server, lets_through).await;
        let through = url.replace(&server, &format!("127.0.0.1:{}", cutter.port));
        let (app, acme) = TestApp::start_acme_with(|config| config.store.url = Some(through.into())).await;
        assert_eq!(put(&acme.caller, "before").await, 200);
        for round in 0..10 {
            let id = format!("r{round}");
            cutter.armed.store(true, Ordering::SeqCst);
            let status = put(&acme.caller, &id).await;
            assert!(!cutter.armed.load(Ordering::SeqCst), "no COMMIT was seen");
            assert_eq!(status, if cutter.lets_through { 200 } else { 503 }, "round {round}");
            let stored = app.number(&format!("SELECT COUNT(*) FROM contents WHERE id = '{id}'")).await;
            assert_eq!(stored, i64::from(cutter.lets_through), "round {round}");
        }
        assert_eq!(put(&acme.caller, "after").await, 200);
        app.wait_for_index().await;
        let found = acme.caller.find("article", "harbour").await.len();
        assert_eq!(found, if lets_through { 12 } else { 2 });
    }
}
