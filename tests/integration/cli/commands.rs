//! The commands `serve` and `app create`, and wrong usage of all.

use std::{fs, process::Output};

use crate::util::{
    database::write,
    items::{NEW_YEAR, item},
    postgres::open_store,
    program::{Server, create_application, run, text, trawl, trawl_over},
    raw::Connection,
};
use serde_json::json;

#[track_caller]
fn ended_with(output: &Output, code: i32, said: &str) {
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{error}");
    assert!(error.contains(said), "{error}");
}

#[tokio::test]
async fn wrong_usage_exits_with_2() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().to_str().unwrap();
    let settings = directory.path().join("wrong.toml");
    fs::write(&settings, "[limits]\nbatch_items = 0\n").unwrap();
    let settings = settings.to_str().unwrap();
    let unknown = directory.path().join("unknown.toml");
    fs::write(&unknown, "[limits]\nbatch_itemz = 5\n").unwrap();
    for (arguments, said) in [
        (vec!["nothing"], "nothing"),
        (vec![], "Usage"),
        (vec!["serve", "--listen", "nowhere"], "--listen"),
        (vec!["serve", "--data", data, "--demo"], "new or empty directory"),
        (vec!["serve", "--config", "missing.toml"], "missing.toml"),
        (vec!["serve", "--data", data, "--config", settings], "limits.batch_items"),
        (vec!["serve", "--data", data, "--config", unknown.to_str().unwrap()], "batch_itemz"),
        (vec!["app", "create", "--data", data, "--tenant", "acme"], "--kind"),
        (
            vec!["app", "create", "--data", data, "--tenant", "no such code", "--kind", "admin"],
            "no such code",
        ),
        (
            vec![
                "app",
                "create",
                "--data",
                data,
                "--tenant",
                "a",
                "--kind",
                "application",
                "--scope",
                "admin",
            ],
            "admin",
        ),
        (
            vec!["app", "create", "--data", data, "--tenant", "a", "--kind", "application", "--scope", "x"],
            "x",
        ),
        (
            vec!["app", "create", "--data", data, "--tenant", "a", "--kind", "application", "--bind", "b"],
            "bind",
        ),
        (
            "app create --tenant a --kind application --redirect-uri http://app.example/"
                .split(' ')
                .collect(),
            "redirect-uri",
        ),
        ("app create --tenant a --kind application --public".split(' ').collect(), "redirect-uri"),
        (vec!["import", "--module", "article", "--client-id", "x", "missing.jsonl"], "missing.jsonl"),
        (vec!["import", "--module", "article", settings], "--client-id"),
        (vec!["import", "--module", "article", data], "is a directory"),
        (vec!["import", "--module", "article", "--batch", "1001", settings], "1001"),
        (vec!["import", "--module", "article", "--assignee", "mei", settings], "--assignee"),
        (vec!["import", "--module", "done", settings], "not imported by this version"),
    ] {
        let mut command = trawl(&arguments);
        command.current_dir(directory.path());
        ended_with(&run(command).await, 2, said);
    }
}

#[tokio::test]
async fn help_and_version_exit_with_0() {
    for arguments in [
        ["--help"].as_slice(),
        &["--version"],
        &["serve", "--help"],
        &["app", "create", "--help"],
        &["import", "--help"],
    ] {
        let output = run(trawl(arguments)).await;
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output.stdout).contains("trawl"), "{arguments:?}");
    }
}

#[tokio::test]
async fn example_settings_equal_the_defaults() {
    let directory = tempfile::tempdir().unwrap();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/trawl.example.toml");
    let mut printed = Vec::new();
    for arguments in [&["serve", "--print-config"][..], &["serve", "--print-config", "--config", example]] {
        let mut command = trawl(arguments);
        command.current_dir(directory.path());
        let output = run(command).await;
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        printed.push(text(&output.stdout).parse::<toml::Table>().unwrap());
    }
    assert_eq!(printed[0], printed[1]);
}

/// Later sources win, secrets are masked (book: reference/configuration.md).
#[tokio::test]
async fn effective_settings_are_printed_with_secrets_masked() {
    let directory = tempfile::tempdir().unwrap();
    let settings = directory.path().join("trawl.toml");
    fs::write(&settings, "listen = \"127.0.0.1:7001\"\n[limits]\nbatch_items = 7\nkeyword_chars = 8\n")
        .unwrap();
    let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let mut command = trawl(&["serve", "--print-config", "--listen", "127.0.0.1:7002"]);
    command.env("TRAWL_MASTER_KEY", key).env("TRAWL_LIMITS__KEYWORD_CHARS", "9");
    command.env("TRAWL_CONNECTORS__ALLOW_HTTP_HOSTS", "127.0.0.1, [::1]:8080,intranet");
    command.env("TRAWL_CONNECTORS__ALLOW_AUTH_NONE", "true");
    command.env("TRAWL_SUSPENSION__TIMEOUT__FAILURES", "7");
    // Variables of the client commands are neither settings nor mistakes.
    command
        .env("TRAWL_SERVER", "http://127.0.0.1:1")
        .env("TRAWL_CLIENT_ID", "x")
        .env("TRAWL_CLIENT_SECRET", "y");
    // Kubernetes sets these variables for a service of this name.
    command.env("TRAWL_PORT", "tcp://10.0.0.1:80").env("TRAWL_SERVICE_HOST", "10.0.0.1");
    let output = run({
        command.current_dir(directory.path());
        command
    })
    .await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(!printed.contains(key), "the master key is printed");
    let printed: toml::Table = printed.parse().unwrap();
    assert_eq!(printed["master_key"].as_str(), Some("********"));
    assert_eq!(printed["listen"].as_str(), Some("127.0.0.1:7002"), "a flag wins over the file");
    assert_eq!(printed["limits"]["batch_items"].as_integer(), Some(7), "the file wins over the default");
    assert_eq!(
        printed["limits"]["keyword_chars"].as_integer(),
        Some(9),
        "the environment wins over the file"
    );
    let connectors = &printed["connectors"];
    let hosts: Vec<&str> = connectors["allow_http_hosts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|host| host.as_str().unwrap())
        .collect();
    assert_eq!(hosts, ["127.0.0.1", "[::1]:8080", "intranet"]);
    assert_eq!(connectors["allow_auth_none"].as_bool(), Some(true));
    let rule: toml::Table = "failures = 7\nleast_ms = 1000\nmost_ms = 30000".parse().unwrap();
    assert_eq!(printed["suspension"]["timeout"], toml::Value::from(rule));
    assert!(!directory.path().join("trawl-data").exists(), "printing created a data directory");
}

#[tokio::test]
async fn suspension_settings_out_of_bounds_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    for (setting, value, named) in [
        ("TRAWL_SUSPENSION__ERROR__FAILURES", "0", "suspension.error.failures"),
        ("TRAWL_SUSPENSION__INVALID__LEAST_MS", "0", "suspension.invalid: least_ms"),
        ("TRAWL_SUSPENSION__TIMEOUT__LEAST_MS", "30001", "suspension.timeout: least_ms"),
        ("TRAWL_SUSPENSION__UNAVAILABLE__MOST_MS", "86400001", "suspension.unavailable: least_ms"),
    ] {
        let mut command = trawl(&["serve", "--print-config"]);
        command.current_dir(directory.path()).env(setting, value);
        ended_with(&run(command).await, 2, named);
    }
}

#[tokio::test]
async fn variable_of_an_unknown_section_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    for (variable, named) in [
        ("TRAWL_SERCH__LIMIT", "serch: is unknown; the nearest is search (in TRAWL_SERCH__LIMIT)"),
        (
            "TRAWL_STORAGE__S33__BUCKET",
            "storage.s33: is unknown; the nearest is storage.s3 (in TRAWL_STORAGE__S33__BUCKET)",
        ),
        ("TRAWL_SEARCH__", "search.: is unknown (in TRAWL_SEARCH__)"),
        ("trawl_quux__limit", "quux: is unknown (in trawl_quux__limit)"),
    ] {
        let mut command = trawl(&["serve", "--print-config"]);
        command.current_dir(directory.path()).env(variable, "hush");
        let output = run(command).await;
        assert!(!text(&output.stderr).contains("hush"));
        ended_with(&output, 2, named);
    }
}

/// Both override the file.
#[tokio::test]
async fn list_in_the_environment_overrides_the_file() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("trawl.toml"), "[connectors]\nallow_http_hosts = [\"of-the-file\"]\n")
        .unwrap();
    for (given, hosts) in [(None, vec!["of-the-file"]), (Some("10"), vec!["10"]), (Some(""), vec![])] {
        let mut command = trawl(&["serve", "--print-config"]);
        command.current_dir(directory.path());
        if let Some(given) = given {
            command.env("TRAWL_CONNECTORS__ALLOW_HTTP_HOSTS", given);
        }
        let output = run(command).await;
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let printed: toml::Table = text(&output.stdout).parse().unwrap();
        assert_eq!(printed["connectors"]["allow_http_hosts"], toml::Value::from(hosts));
    }
    let mut command = trawl(&["serve", "--print-config"]);
    command.current_dir(directory.path()).env("TRAWL_TRUSTED_PROXIES", "10.0.0.7, fd00::/8");
    let printed: toml::Table = text(&run(command).await.stdout).parse().unwrap();
    assert_eq!(printed["trusted_proxies"], toml::Value::from(vec!["10.0.0.7/32", "fd00::/8"]));
    let mut wrong = trawl(&["serve"]);
    wrong.current_dir(directory.path()).env("TRAWL_TRUSTED_PROXIES", "proxy.example");
    ended_with(&run(wrong).await, 2, "trusted_proxies");
    let mut wrong = trawl(&["serve"]);
    wrong.current_dir(directory.path()).env("TRAWL_CONNECTORS__ALLOW_HTTP_HOSTS", "a,http://b");
    ended_with(&run(wrong).await, 1, "connectors.allow_http_hosts");
}

#[tokio::test]
async fn application_is_created_while_the_server_runs() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path()).await;
    let application = create_application(directory.path(), "acme").await;
    assert_eq!(application["tenant"], "acme");
    assert_eq!(application["kind"], "application");
    assert_eq!(application["bound"], json!([]));
    assert!(application["callbackKey"].as_str().is_some_and(|key| key.len() > 20));
    let scopes: Vec<&str> =
        application["scopes"].as_array().unwrap().iter().map(|scope| scope.as_str().unwrap()).collect();
    assert!(
        scopes.contains(&"contents:write") && !scopes.contains(&"act-as-user") && !scopes.contains(&"admin")
    );

    let caller = server.caller(&application).await;
    caller.put("/v1/contents/article", &json!([item("1", "harbour", NEW_YEAR)])).await.ok();
    server.wait_for_index().await;
    assert_eq!(caller.find("article", "harbour").await, ["1"]);
    let second = create_application(directory.path(), "acme").await;
    assert_ne!(second["clientSecret"], application["clientSecret"]);
    assert_eq!(server.caller(&second).await.find("article", "harbour").await, ["1"]);
    let secret = application["clientSecret"].as_str().unwrap();
    assert!(!server.log().contains(secret) && !server.log().contains("harbour"), "{}", server.log());
}

#[tokio::test]
async fn taken_address_or_broken_data_directory_exits_with_1() {
    let directory = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut command = trawl(&["serve", "--listen", &address]);
    command.arg("--data").arg(directory.path());
    ended_with(&run(command).await, 1, &address);

    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let mut command = trawl(&["serve", "--listen", "127.0.0.1:0"]);
    command.arg("--data").arg(&file);
    ended_with(&run(command).await, 1, "data directory");
    let mut command = trawl(&["serve", "--listen", "127.0.0.1:0"]);
    command.arg("--data").arg(directory.path()).env("TRAWL_MASTER_KEY", "too short");
    ended_with(&run(command).await, 1, "TRAWL_MASTER_KEY");
}

/// Two servers would index the same data concurrently.
#[tokio::test]
async fn second_server_over_the_same_data_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path()).await;
    let application = create_application(directory.path(), "acme").await;
    let caller = server.caller(&application).await;
    let mut command = trawl(&["serve", "--listen", "127.0.0.1:0"]);
    command.arg("--data").arg(directory.path());
    ended_with(&run(command).await, 1, "index");
    caller.put("/v1/contents/article", &json!([item("1", "harbour", NEW_YEAR)])).await.ok();
    server.wait_for_index().await;
    assert_eq!(caller.find("article", "harbour").await, ["1"], "the first server was disturbed");
}

#[tokio::test]
async fn newer_database_version_is_refused_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    create_application(directory.path(), "acme").await;
    let store = open_store(directory.path()).await;
    let insert = "INSERT INTO seaql_migrations (version, applied_at) VALUES ('9999_later', 0)";
    write(&store, vec![(insert.to_owned(), Vec::new())], Vec::new()).await;
    store.close().await.unwrap();
    let database = directory.path().join("trawl.db");
    let before = fs::read(&database).ok();
    for arguments in
        [vec!["serve", "--listen", "127.0.0.1:0"], vec!["app", "create", "--tenant", "a", "--kind", "admin"]]
    {
        let output = run(trawl_over(directory.path(), &arguments)).await;
        ended_with(&output, 1, "9999_later");
        assert!(text(&output.stderr).contains("newer"), "{}", text(&output.stderr));
    }
    assert_eq!(fs::read(&database).ok(), before, "the database was changed");
}

#[tokio::test]
async fn sigterm_completes_the_write_in_flight() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::start(directory.path()).await;
    let application = create_application(directory.path(), "acme").await;
    let caller = server.caller(&application).await;
    let body = json!([item("1", "harbour", NEW_YEAR)]).to_string();
    let (first, rest) = body.split_at(10);
    let mut connection = Connection::open(&server.base).await;
    let head = format!(
        "PUT /v1/contents/article HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\nexpect: 100-continue\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        caller.token,
        body.len()
    );
    connection.write(head.as_bytes()).await;
    assert_eq!(connection.read().await.status, 100);
    connection.write(first.as_bytes()).await;
    server.terminate();
    crate::util::eventually("the server to take no more connections", async || {
        tokio::net::TcpStream::connect(server.base.trim_start_matches("http://")).await.is_err().then_some(())
    })
    .await;
    connection.write(rest.as_bytes()).await;
    let answer = connection.read().await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(server.wait_for_end().await.code(), Some(0), "{}", server.log());

    let server = Server::start(directory.path()).await;
    assert_eq!(server.caller(&application).await.find("article", "harbour").await, ["1"]);
}
