//! `trawl store check`.

use std::process::Output;

use serde_json::Value;

use crate::util::{
    app::TestApp,
    items::many,
    postgres::{database, environment_of, query, url_of},
    program::{text, trawl, trawl_over},
};

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

#[tokio::test]
async fn store_in_order_has_no_problems() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &many("a", "Harbour", 20, 1)).await;
    let output = trawl_over(app.data(), &["store", "check", "--json"]).output().unwrap();
    let found = report(&output);
    assert_eq!((output.status.code(), &found["problems"]), (Some(0), &serde_json::json!([])), "{found}");
    assert!(found["rows"].as_u64() > Some(20), "{found}");
    assert!(url_of(app.data()).is_some() || app.data().join("trawl.db").is_file());
}

#[tokio::test]
async fn damage_is_named_and_ends_with_1() {
    let url = database("check");
    let directory = tempfile::tempdir().unwrap();
    let check = || {
        let mut command = trawl(&["store", "check", "--json"]);
        command.current_dir(directory.path());
        command.envs(environment_of(&url, directory.path(), "127.0.0.1:1")).output().unwrap()
    };
    assert_eq!(check().status.code(), Some(0));
    query(
        &url,
        "INSERT INTO change_log (position, tenant_id, module, item_id, is_last) VALUES (1, 1, 'a', '1', TRUE), \
         (3, 1, 'a', '2', TRUE); UPDATE change_log_end SET position = 3; DROP TABLE revoked_tokens; \
         CREATE TABLE stranger (id BIGINT)",
    )
    .await;
    let output = check();
    assert_eq!(output.status.code(), Some(1));
    let problems = report(&output)["problems"].to_string();
    for part in
        ["change_log: 1 entries", "revoked_tokens: the table is missing", "stranger: no table of trawl"]
    {
        assert!(problems.contains(part), "{part:?} is not in {problems}");
    }
    query(&url, "UPDATE change_log_end SET position = 2").await;
    assert!(report(&check())["problems"].to_string().contains("behind the recorded end 2"));
}

#[test]
fn missing_database_is_not_made() {
    let directory = tempfile::tempdir().unwrap();
    let output =
        trawl_over(directory.path(), &["store", "check"]).env_remove("TRAWL_STORE__URL").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("there is no database"), "{}", text(&output.stderr));
    assert!(!directory.path().join("trawl.db").exists());
}
