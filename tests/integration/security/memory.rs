//! Memory of the server while it takes what others sent.

use std::{fs, path::Path};

use reqwest::Method;

use crate::util::{
    caller::Caller,
    program::{Server, create_application, create_operator},
};

/// Growth of the server, beyond what it holds idle.
const MOST_GROWTH: u64 = 128 << 20;

async fn start(directory: &Path, settings: &str) -> (Server, Caller) {
    fs::write(directory.join("trawl.toml"), settings).unwrap();
    let server = Server::start(directory).await;
    let operator = create_operator(directory, "acme").await;
    let operator = server.caller(&operator).await.on("acme");
    (server, operator)
}

/// Fails if the server grows by more than it may meanwhile.
async fn within_memory<T>(server: &Server, what: &str, work: impl Future<Output = T>) -> T {
    let idle = server.begin_peak();
    let done = work.await;
    let growth = server.peak().saturating_sub(idle) >> 20;
    println!("{what}: {growth} MiB beside {} MiB idle", idle >> 20);
    assert!(growth << 20 <= MOST_GROWTH, "{what} took {growth} MiB");
    done
}

#[tokio::test]
async fn long_lists_in_bodies_are_paid_for_by_what_they_become() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = start(directory.path(), "").await;
    let application = create_application(directory.path(), "acme").await;
    let caller = server.caller(&application).await;
    let list = |values: usize| format!("[{}\"\"]", "\"\",".repeat(values - 1));
    let sync = async |body: String| caller.send_text(Method::PUT, "/v1/users/sync", body).await;
    let many = format!("[{{\"userId\": \"u\", \"deputyOrgIds\": {}}}]", list(8_000_000));
    for body in [many, list(8_000_000), format!("[{{\"userId\": {}}}]", list(8_000_000))] {
        let refused = within_memory(&server, "eight million values", sync(body)).await;
        refused.fails(413, "body: must hold at most");
    }
    let some = format!("[{{\"userId\": \"u\", \"deputyOrgIds\": {}}}]", list(500_000));
    let answer = within_memory(&server, "half a million values", sync(some)).await.ok();
    assert!(answer.text.contains("deputyOrgIds: must be"), "{}", answer.text);
}
