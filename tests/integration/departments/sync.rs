//! `PUT /v1/organizations/sync` (book: reference/directory.md).

use serde_json::{Value, json};

use crate::util::{answer::Answer, app::TestApp, caller::Caller, items::department};

async fn sync(caller: &Caller, rows: Value) -> Answer {
    caller.put("/v1/organizations/sync", &rows).await.ok()
}

#[tokio::test]
async fn parent_must_precede_its_children() {
    let (app, acme) = TestApp::start_with_acme().await;
    let child_first = json!([department("child", "parent"), department("parent", "")]);
    sync(&acme.caller, child_first).await.assert_only_failure("child", "parentId:");
    app.sync(&acme.caller, "organizations", &json!([department("child", "parent")])).await;
    let both = json!([department("p2", ""), department("c2", "p2")]);
    app.sync(&acme.caller, "organizations", &both).await;
}

#[tokio::test]
async fn invalid_rows_fail_alone_and_name_their_field() {
    let (app, acme) = TestApp::start_with_acme().await;
    let tree = json!([department("a", ""), department("b", "a"), department("c", "b")]);
    app.sync(&acme.caller, "organizations", &tree).await;
    for (row, id, field) in [
        (json!({"orgId": "new"}), "new", "name:"),
        (json!({"orgId": "a", "name": ""}), "a", "name:"),
        (json!({"orgId": "a", "status": 7}), "a", "status:"),
        (json!({"orgId": "a", "platformOrgId": "x"}), "a", "platformOrgId:"),
        (json!({"orgId": "a", "parentId": "a"}), "a", "parentId:"),
        (json!({"orgId": "a", "parentId": "c"}), "a", "parentId:"),
        (json!({"orgId": "a", "parentId": "nowhere"}), "a", "parentId:"),
        (json!({"orgId": "a", "isHidden": 1}), "a", "isHidden:"),
        (json!({"orgId": 7, "name": "x"}), "7", "orgId:"),
        (json!({"name": "x"}), "", "row 2: orgId:"),
    ] {
        let rows = json!([{"orgId": "b", "name": "B"}, row, {"orgId": "c", "name": "C"}]);
        sync(&acme.caller, rows).await.assert_only_failure(id, field);
    }
}

#[tokio::test]
async fn child_of_a_deleted_department_can_be_changed_and_deleted() {
    let (app, acme) = TestApp::start_with_acme().await;
    let tree = json!([department("a", ""), department("b", "a"), department("c", "a")]);
    app.sync(&acme.caller, "organizations", &tree).await;
    app.sync(&acme.caller, "organizations", &json!([{"orgId": "a", "isDeleted": true}])).await;
    app.sync(&acme.caller, "organizations", &json!([{"orgId": "b", "name": "B"}])).await;
    let gone = json!([{"orgId": "c", "parentId": "a", "isDeleted": true}]);
    app.sync(&acme.caller, "organizations", &gone).await;
    sync(&acme.caller, json!([department("d", "a")])).await.assert_only_failure("d", "parentId:");
}

#[tokio::test]
async fn descendants_of_a_failed_department_fail_too() {
    let (_app, acme) = TestApp::start_with_acme().await;
    let rows = json!([
        {"orgId": "a", "name": "A", "status": 7}, department("b", "a"), department("c", "b"), department("d", ""),
    ]);
    let answer = sync(&acme.caller, rows).await;
    assert_eq!(answer.ids(), ["a", "b", "c"], "{}", answer.text);
    for failure in &answer.items()[1..] {
        assert!(failure["message"].as_str().unwrap().starts_with("parentId:"), "{failure}");
    }
}

/// A caller carries at most 64 ancestors of their department.
#[tokio::test]
async fn move_beyond_the_depth_limit_is_refused() {
    let (app, acme) = TestApp::start_with_acme().await;
    let chain = |prefix: &str, count: usize| -> Vec<Value> {
        let parent = |level: usize| if level == 1 { String::new() } else { format!("{prefix}{}", level - 1) };
        (1..=count).map(|level| department(&format!("{prefix}{level}"), &parent(level))).collect()
    };
    app.sync(&acme.caller, "organizations", &[chain("a", 40), chain("b", 25)].concat().into()).await;
    let below = |parent: &str| json!([{"orgId": "b1", "parentId": parent}]);
    sync(&acme.caller, below("a40")).await.assert_only_failure("b1", "parentId:");
    app.sync(&acme.caller, "organizations", &below("a39")).await;
    sync(&acme.caller, json!([department("new", "b25")])).await.assert_only_failure("new", "parentId:");
    sync(&acme.caller, json!([{"orgId": "a1", "parentId": "b25"}]))
        .await
        .assert_only_failure("a1", "parentId:");
}
