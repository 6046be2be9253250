//! Settings and databases that the program refuses, each by one line.

use std::process::{Command, Output};

use crate::util::{
    TIMEOUT,
    app::TestApp,
    postgres::{database, environment_of, open, query},
    program::{text, trawl},
};

/// `serve` over a database, with these variables changed; empty ones are removed.
async fn serve(url: &str, changes: &[(&str, &str)]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let mut command = trawl(&["serve", "--listen", "127.0.0.1:0"]);
    command.arg("--data").arg(directory.path()).current_dir(directory.path());
    command.envs(environment_of(url, directory.path(), "127.0.0.1:1"));
    command.env("TRAWL_LOG__FILTER", "off");
    for (name, value) in changes {
        if value.is_empty() {
            command.env_remove(name)
        } else {
            command.env(name, value)
        };
    }
    ended(command).await
}

/// A server that starts after all fails the test.
async fn ended(mut command: Command) -> Output {
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = tokio::process::Command::from(command).kill_on_drop(true).spawn().unwrap();
    tokio::time::timeout(TIMEOUT, child.wait_with_output()).await.expect("it started").unwrap()
}

#[track_caller]
fn refused(output: &Output, parts: &[&str]) {
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert_eq!(printed.lines().count(), 1, "{printed}");
    for part in parts {
        assert!(printed.contains(part), "{part:?} is not in {printed}");
    }
    assert!(!printed.contains("hunter2"), "{printed}");
}

#[tokio::test]
async fn settings_that_belong_to_one_machine_are_refused() {
    let url = database("settings");
    for (variable, value, parts) in [
        ("TRAWL_MASTER_KEY", "", ["master_key", "required"]),
        ("TRAWL_PUBLIC_URL", "", ["public_url", "required"]),
        ("TRAWL_STORAGE__KIND", "local", ["storage.kind", "not local"]),
        ("TRAWL_STORE__URL", "mysql://u:hunter2@127.0.0.1/x", ["store.url", "postgres://"]),
        ("TRAWL_STORE__URL", "postgres://u:hunter2@127.0.0.1:port/x", ["store.url", "port"]),
    ] {
        refused(&serve(&url, &[(variable, value)]).await, &parts);
    }
}

#[tokio::test]
async fn unreachable_server_is_waited_for_and_then_named() {
    let url = "postgres://trawl:hunter2@127.0.0.1:1/search";
    let output = serve(url, &[("TRAWL_STORE__WAIT_SECONDS", "1")]).await;
    refused(&output, &["postgres://127.0.0.1:1/search", "could not be opened"]);
}

/// The address by this host name, which takes certificates of this authority alone.
fn verified(url: &str, host: &str, authority: &str) -> String {
    let directory =
        std::env::var("TRAWL_TEST_POSTGRES_CERTIFICATES").expect("./tests/run makes certificates");
    let url = url.replace("127.0.0.1", host);
    format!("{url}?sslmode=verify-full&sslrootcert={directory}/{authority}.pem")
}

#[tokio::test]
async fn certificate_of_another_authority_or_host_is_refused() {
    let url = database("tls");
    let good = verified(&url, "localhost", "authority");
    let app = TestApp::start_with(|config| config.store.url = Some(good.into())).await;
    let encrypted = "SELECT COUNT(*) FROM pg_stat_ssl WHERE ssl AND pid = pg_backend_pid()";
    assert_eq!(app.number(encrypted).await, 1);
    for (host, authority, reason) in [
        ("localhost", "other", "invalid peer certificate: UnknownIssuer"),
        ("127.0.0.1", "authority", "certificate not valid for name"),
    ] {
        let url = verified(&url, host, authority);
        let output = serve(&url, &[("TRAWL_STORE__WAIT_SECONDS", "1")]).await;
        refused(&output, &[host, "could not be opened", reason]);
    }
}

#[tokio::test]
async fn other_master_key_is_refused() {
    let url = database("sealed");
    // It seals its signing key with a key of its own.
    let app = TestApp::start_with(|config| config.store.url = Some(url.as_str().into())).await;
    app.tenant("acme").await;
    refused(&serve(&url, &[]).await, &["another master key", "TRAWL_MASTER_KEY"]);
}

#[tokio::test]
async fn unsuitable_databases_are_refused() {
    let url = database("newer");
    open(&url).await.close().await.unwrap();
    query(&url, "INSERT INTO seaql_migrations (version, applied_at) VALUES ('9999_later', 0)").await;
    refused(&serve(&url, &[]).await, &["9999_later", "newer trawl"]);

    let server = database("administration");
    let of = |name: &str| server.replace("trawl_administration", name);
    for (options, name, reason) in [
        ("LOCALE_PROVIDER icu ICU_LOCALE 'en'", "trawl_english", "collation is not C"),
        ("ENCODING 'SQL_ASCII' LOCALE 'C'", "trawl_bytes", "encoding is not UTF8"),
    ] {
        query(&server, &format!("DROP DATABASE IF EXISTS {name}")).await;
        query(&server, &format!("CREATE DATABASE {name} TEMPLATE template0 {options}")).await;
        refused(&serve(&of(name), &[]).await, &[name, reason]);
    }
    query(&server, "DROP ROLE IF EXISTS guest").await;
    query(&server, "CREATE ROLE guest LOGIN").await;
    let url = database("closed").replace("trawl@", "guest@");
    refused(&serve(&url, &[]).await, &["trawl_closed", "permission denied"]);
}
