//! Visibility follows the directory without re-indexing.

use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp},
    caller::Caller,
    items::{department, item, user},
};

async fn acme(app: &TestApp) -> Application {
    let acme = app.tenant("acme").await;
    let tree = json!([department("a", ""), department("b", "a"), department("c", "b"), department("d", "")]);
    app.sync(&acme.caller, "organizations", &tree).await;
    app.sync(&acme.caller, "users", &json!([user("mei", "c"), user("omar", "d")])).await;
    let of = |id: &str, visibility: Value| {
        let mut item = item(id, "harbour", 1);
        item["visibility"] = visibility;
        item
    };
    let departments = ["a", "b", "c", "d"].map(|id| of(id, json!({"departments": [id]})));
    let others = [
        of("mei", json!({"users": ["mei"]})),
        of("mei-or-d", json!({"users": ["mei"], "departments": ["d"]})),
        of("group", json!({"groups": ["g1"]})),
        of("nobody", json!({"users": []})),
        of("everybody", Value::Null),
    ];
    app.put_contents(&acme.caller, "article", &[&departments[..], &others].concat()).await;
    acme
}

/// Asserts that both orders and totals agree.
async fn seen(caller: &Caller) -> String {
    let mut seen = Vec::new();
    for sort in ["time", "relevance"] {
        let parameters = [("moduleId", "article"), ("keyword", "harbour"), ("limit", "100"), ("sort", sort)];
        let answer = caller.search(&parameters).await.ok();
        assert_eq!(answer.total(), answer.items().len() as u64);
        let mut ids = answer.ids();
        ids.sort_unstable();
        assert!(ids.contains(&"everybody"));
        ids.retain(|id| *id != "everybody");
        seen.push(ids.join(" "));
    }
    assert_eq!(seen[0], seen[1]);
    seen.swap_remove(0)
}

#[tokio::test]
async fn directory_changes_apply_to_the_next_search() {
    let app = TestApp::start().await;
    let acme = acme(&app).await;
    let (mei, omar) = (app.user(&acme, "mei").await, app.user(&acme, "omar").await);
    assert_eq!(seen(&omar).await, "d mei-or-d");
    assert_eq!(seen(&acme.caller).await, "", "an application sees public items");
    let hers = |departments: &str| format!("{departments} mei mei-or-d").trim_start().to_owned();
    assert_eq!(seen(&mei).await, hers("a b c"));
    for (area, row, departments, why) in [
        ("users", json!({"userId": "mei", "orgId": "b"}), "a b", "she moved up"),
        ("users", json!({"userId": "mei", "orgId": "d"}), "d", "she moved elsewhere"),
        (
            "organizations",
            json!({"orgId": "d", "parentId": "c"}),
            "a b c d",
            "her department moved below another",
        ),
        ("organizations", json!({"orgId": "b", "parentId": ""}), "b c d", "one above it became a root"),
        (
            "organizations",
            json!({"orgId": "c", "isDeleted": true}),
            "d",
            "one above it was deleted, and with it the way up",
        ),
        ("organizations", json!({"orgId": "c", "isDeleted": false}), "b c d", "it came back"),
        (
            "organizations",
            json!({"orgId": "c", "isHidden": true}),
            "b c d",
            "hidden departments are still theirs",
        ),
        ("organizations", json!({"orgId": "d", "isDeleted": true}), "", "her own was deleted"),
        ("users", json!({"userId": "mei", "orgId": ""}), "", "she left it"),
        ("users", json!({"userId": "mei", "isHidden": true}), "", "hidden people still search"),
        ("users", json!({"userId": "mei", "orgId": "a"}), "a", "she is back"),
    ] {
        app.sync(&acme.caller, area, &json!([row])).await;
        assert_eq!(seen(&mei).await, hers(departments), "{why}");
    }
    assert_eq!(seen(&omar).await, "mei-or-d".replace("mei-or-d", ""), "his department is deleted");

    // A deputy has the visibility of the department and its ancestors.
    app.sync(&acme.caller, "users", &json!([{"userId": "mei", "deputyOrgIds": ["c"]}])).await;
    assert_eq!(seen(&mei).await, hers("a b c"), "she is a deputy");
    app.sync(&acme.caller, "users", &json!([{"userId": "mei", "deputyOrgIds": []}])).await;
    assert_eq!(seen(&mei).await, hers("a"), "no deputy any more");

    for gone in [json!({"userId": "mei", "status": 0}), json!({"userId": "mei", "isDeleted": true})] {
        app.sync(&acme.caller, "users", &json!([gone])).await;
        mei.search(&[("moduleId", "article"), ("keyword", "harbour")]).await.fails(401, "");
    }
}

#[tokio::test]
async fn cached_principals_are_invalidated_by_own_tenant_only() {
    let app = TestApp::start().await;
    let (acme, other) = (acme(&app).await, app.tenant("other").await);
    let mei = app.user(&acme, "mei").await;
    assert_eq!(seen(&mei).await, "a b c mei mei-or-d");
    // An uncached lookup would see this direct change.
    app.execute("UPDATE users SET org_id = 'd' WHERE user_id = 'mei'").await;
    assert_eq!(seen(&mei).await, "a b c mei mei-or-d", "a search queries the database");
    for round in ["first", "second"] {
        app.sync(&other.caller, "organizations", &json!([{"orgId": "a", "name": round}])).await;
        app.sync(
            &other.caller,
            "users",
            &json!([{"userId": "mei", "loginId": "mei", "name": round, "sex": 2}]),
        )
        .await;
        assert_eq!(seen(&mei).await, "a b c mei mei-or-d", "another tenant's directory changes nothing");
    }
    app.sync(&acme.caller, "users", &json!([{"userId": "omar", "name": "Omar again"}])).await;
    assert_eq!(seen(&mei).await, "d mei mei-or-d", "the principals are looked up again");
}

#[tokio::test]
async fn principals_of_another_tenant_grant_nothing() {
    let app = TestApp::start().await;
    let (_acme, other) = (acme(&app).await, app.tenant("other").await);
    app.sync(&other.caller, "organizations", &json!([department("a", ""), department("c", "a")])).await;
    app.sync(&other.caller, "users", &json!([user("mei", "c")])).await;
    app.put_contents(&other.caller, "article", &[item("everybody", "harbour", 1)]).await;
    assert_eq!(seen(&app.user(&other, "mei").await).await, "");
}
