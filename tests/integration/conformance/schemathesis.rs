//! Schemathesis compares answers with `/openapi.json` as every kind of caller.
//!
//! `SCHEMATHESIS_SEED` changes the requests, `SCHEMATHESIS_EXAMPLES` their number.

use std::{env, fs, path::Path, process::Command};

use serde_json::{Value, json};

use crate::util::{
    TIMEOUT,
    app::{Application, TestApp},
    caller::Caller,
    groups::{group_of, join_code, set_role},
    items::{NEW_YEAR, department, item, user},
    program::{run, text},
    sizes::size,
};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/schemathesis");

const SEED: &str = "1";

/// Examples of each operation, besides boundary values.
const EXAMPLES: &str = "4";

const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
    response_headers_conformance,response_schema_conformance";

const PHASES: &str = "examples,coverage,fuzzing";

/// Paths of operators, whom the other paths answer like an application.
const OF_OPERATORS: &[&str] = &["--include-path-regex", "^/admin/"];
const OTHERS: &[&str] = &["--exclude-path-regex", "^/admin/"];

async fn start() -> (TestApp, Application, Known) {
    let (app, acme) =
        TestApp::start_acme_with(|config| config.limits.robot_messages_per_minute = 100_000).await;
    app.sync(&acme.caller, "organizations", &json!([department("d1", ""), department("d2", "d1")])).await;
    app.sync(&acme.caller, "users", &json!([user("mei", "d1"), user("omar", "d2"), user("ana", "d2")])).await;
    app.put_contents(&acme.caller, "article", &[item("a1", "harbour", NEW_YEAR)]).await;
    let favorite = json!({"itemId": "f1", "content": "harbour", "syncBlogFavor": true});
    let (mei, omar) = (app.user(&acme, "mei").await, app.user(&acme, "omar").await);
    mei.post("/v1/favorites", &favorite).await.ok();
    acme.caller.post("/v1/badge", &json!({"name": "Star"})).await.ok();
    // Mei is an administrator, who cannot end the group during the run.
    let form = json!({"name": "Harbour watch", "type": 3, "isPublic": true, "users": ["mei"]});
    let group = group_of(&omar, form).await;
    set_role(&omar, &group, "mei", 1).await.ok();
    let applied = app.user(&acme, "ana").await.post_empty(&format!("/v1/groups/{group}/apply")).await.ok();
    let robot = mei.post(&format!("/v1/groups/{group}/robots"), &json!({"name": "Tide gauge"})).await.ok();
    let text = |data: &Value, field: &str| data[field].as_str().unwrap().to_owned();
    let known = vec![
        ("path.groupId", group.clone()),
        ("path.joincode", join_code(&omar, &group, false).await),
        ("path.applicationId", applied.data().as_str().unwrap().to_owned()),
        ("path.robotId", text(robot.data(), "robotId")),
        ("query.token", text(robot.data(), "token")),
        ("query.groupId", group),
    ];
    (app, acme, known)
}

type Known = Vec<(&'static str, String)>;

/// `known` supplies existing ids.
async fn drive(caller: &Caller, known: Option<Known>, phases: &str, operations: &[&str]) {
    let program = Path::new(FOLDER).join("venv/bin/schemathesis");
    assert!(program.exists(), "{} is not there; ./tests/run installs it", program.display());
    let setting = |name: &str, usual: &str| env::var(name).unwrap_or_else(|_| usual.to_owned());
    let mut command = Command::new(program);
    // A settings file in a parent directory is not read.
    command.current_dir(env::temp_dir()).arg("--no-color");
    let directory = tempfile::tempdir().unwrap();
    if let Some(known) = known {
        let mut settings = fs::read_to_string(Path::new(FOLDER).join("known.toml")).unwrap();
        settings.extend(known.into_iter().map(|(name, value)| format!("{name:?} = {value:?}\n")));
        let file = directory.path().join("known.toml");
        fs::write(&file, settings).unwrap();
        command.arg("--config-file").arg(file);
    }
    command.args(["run", &format!("{}/openapi.json", caller.base), "--continue-on-failure"]);
    command.args(["--header", &format!("Authorization: Bearer {}", caller.token)]);
    if let Some(tenant) = &caller.tenant {
        command.args(["--header", &format!("indicated-e-code: {tenant}")]);
    }
    command.args(["--checks", CHECKS, "--phases", phases]).args(operations);
    command.args(["--seed", &setting("SCHEMATHESIS_SEED", SEED)]);
    command.args(["--max-examples", &setting("SCHEMATHESIS_EXAMPLES", EXAMPLES)]);
    // A search may take its ten seconds, and a busy machine more.
    command.args(["--request-timeout", "60"]);
    command.args(["--suppress-health-check", "all", "--warnings", "off"]);
    // Parallel parsing fails sporadically in Python 3.11 (python/cpython#106905).
    command.args(["--workers", "1"]);
    let output = tokio::time::timeout(10 * TIMEOUT, run(command)).await.expect("Schemathesis does not end");
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    assert!(text(&output.stdout).contains("generated"), "{}", text(&output.stdout));
}

#[tokio::test(flavor = "multi_thread")]
async fn application_gets_described_answers() {
    let (app, acme, known) = start().await;
    let messages = format!("/v1/groups/{}/messages", known[0].1);
    drive(&acme.caller, Some(known), PHASES, size(OTHERS, &[])).await;
    // The example of a message reached the group.
    let said = app.user(&acme, "mei").await.get(&messages).await.ok();
    assert!(!said.items().is_empty(), "no message was sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn person_gets_described_answers() {
    let (app, acme, known) = start().await;
    drive(&app.user(&acme, "mei").await, Some(known), PHASES, size(OTHERS, &[])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_gets_described_answers() {
    let (app, acme, _) = start().await;
    drive(&app.operator().await.caller.on(&acme.tenant), None, PHASES, size(OF_OPERATORS, &[])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn anonymous_caller_gets_described_answers() {
    let (app, ..) = start().await;
    // No value is looked at.
    drive(&app.caller("not-a-token"), None, "examples,fuzzing", &[]).await;
}
