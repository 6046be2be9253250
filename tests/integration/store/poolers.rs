//! Servers behind `PgBouncer`.

use std::path::Path;

use serde_json::json;

use crate::util::{
    items::item,
    pgbouncer::PgBouncer,
    postgres::{Session, database, environment_of},
    program::{Server, own_address, run, text, trawl},
};

/// The database's address by way of a pooler, and the server that it is before.
async fn behind(name: &str, settings: &str) -> (String, String, PgBouncer) {
    let direct = database(name);
    let mut url = url::Url::parse(&direct).unwrap();
    let server = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
    let pooler = PgBouncer::start(&server, settings).await;
    url.set_port(pooler.address.rsplit_once(':').unwrap().1.parse().ok()).unwrap();
    (direct, url.into(), pooler)
}

async fn refused(directory: &Path, url: &str) -> String {
    let mut command = trawl(&["serve"]);
    let listen = own_address();
    command.current_dir(directory).envs(environment_of(url, directory, &listen)).env("TRAWL_LISTEN", &listen);
    let output = run(command).await;
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    text(&output.stderr).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn pooler_of_sessions_keeps_the_settings_of_connections() {
    let (direct, url, _pooler) = behind("pooled", "pool_mode = session\ndefault_pool_size = 20").await;
    let directory = tempfile::tempdir().unwrap();
    let listen = own_address();
    let environment = environment_of(&url, directory.path(), &listen);
    let server = Server::launch_by(directory.path(), &listen, environment.clone(), &[]).await;
    server.wait_until_ready().await;
    let mut command = trawl(&["app", "create", "--tenant", "acme", "--kind", "application", "--json"]);
    command.current_dir(directory.path()).envs(environment);
    let created = run(command).await;
    assert!(created.status.success(), "{}", text(&created.stderr));
    let acme = server.caller(&serde_json::from_slice(&created.stdout).unwrap()).await;
    let put = async |id: &str| acme.put("/v1/contents/article", &json!([item(id, "harbour", 1)])).await;
    put("1").await.ok();
    // A locked write ends by `lock_timeout`, and nothing else tells that the store cannot write.
    let mut session = Session::open(&direct);
    session.run("BEGIN; LOCK TABLE change_log_end IN EXCLUSIVE MODE");
    put("2").await.fails(503, "the store cannot write");
    drop(session);
    put("3").await.ok();
}

#[tokio::test]
async fn pooler_of_transactions_is_refused_with_the_reason() {
    for settings in [
        "pool_mode = transaction",
        "pool_mode = transaction\nserver_round_robin = 1\nmin_pool_size = 3",
        "pool_mode = transaction\nignore_startup_parameters = options, extra_float_digits",
        "pool_mode = statement",
    ] {
        let (_, url, _pooler) = behind("pooled_transactions", settings).await;
        let directory = tempfile::tempdir().unwrap();
        // A second start, as servers' connections may keep what the first left.
        for _ in 0..2 {
            let said = refused(directory.path(), &url).await;
            assert!(said.contains("pool_mode = session"), "{settings}: {said}");
        }
    }
}

#[tokio::test]
async fn pooler_of_too_few_connections_is_refused_with_the_reason() {
    for (settings, given) in [
        ("pool_mode = session\ndefault_pool_size = 5", 5),
        (
            "pool_mode = session\ndefault_pool_size = 6\nignore_startup_parameters = options, extra_float_digits",
            6,
        ),
        ("pool_mode = session\ndefault_pool_size = 40\nmax_db_connections = 14", 14),
        ("pool_mode = session\ndefault_pool_size = 40\nmax_client_conn = 3", 3),
        ("pool_mode = session\ndefault_pool_size = 1\nquery_wait_timeout = 1", 1),
    ] {
        let (_, url, _pooler) = behind("pooled_few", settings).await;
        let directory = tempfile::tempdir().unwrap();
        let said = refused(directory.path(), &url).await;
        assert!(said.contains(&format!("gives {given} of the 15 connections")), "{settings}: {said}");
        assert!(said.contains("store.readers and store.writers"), "{said}");
    }
}
