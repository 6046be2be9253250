//! Groups in search.

use reqwest::Method;
use serde_json::json;

use crate::util::{
    app::TestApp,
    caller::Caller,
    groups::{group, group_of, join_code, members, put_messages, set_role},
    items::item,
};

async fn seen(caller: &Caller) -> [usize; 3] {
    let mut counts = [0; 3];
    for (count, module) in counts.iter_mut().zip(["group", "message", "article"]) {
        let mut totals = Vec::new();
        for sort in ["time", "relevance"] {
            let parameters = [("moduleId", module), ("keyword", "harbour"), ("limit", "100"), ("sort", sort)];
            let answer = caller.search(&parameters).await.ok();
            assert_eq!(answer.total(), answer.items().len() as u64);
            totals.push(answer.items().len());
        }
        assert_eq!(totals[0], totals[1], "{module}");
        *count = totals[0];
    }
    counts
}

#[tokio::test]
async fn group_content_is_found_by_current_members_only() {
    let (app, acme, [mei, omar, lin]) = TestApp::start_with_people(["mei", "omar", "lin"]).await;
    let id = group(&mei, "Harbour 港口", &["omar"]).await;
    put_messages(&app, &acme, &id, "m", "harbour", 2).await;
    let mut article = item("a", "harbour", 1);
    article["visibility"] = json!({"groups": [id]});
    app.put_contents(&acme.caller, "article", &[article]).await;
    let (inside, outside) = ([1, 2, 1], [0, 0, 0]);
    assert_eq!((seen(&mei).await, seen(&omar).await, seen(&lin).await), (inside, inside, outside));
    assert_eq!(seen(&acme.caller).await, outside, "an application sees public items");
    assert_eq!(lin.find("group", "港口").await, [] as [&str; 0]);
    assert_eq!(mei.find("group", "港口").await, [id.as_str()]);

    members(&mei, Method::POST, &id, &["lin"]).await.ok();
    assert_eq!(seen(&lin).await, inside, "added");
    members(&mei, Method::DELETE, &id, &["lin"]).await.ok();
    assert_eq!(seen(&lin).await, outside, "removed");
    lin.post_empty(&format!("/v1/groups/joincode/{}/join", join_code(&mei, &id, false).await)).await.ok();
    assert_eq!(seen(&lin).await, inside, "joined");
    members(&lin, Method::DELETE, &id, &["lin"]).await.ok();
    assert_eq!(seen(&lin).await, outside, "left");

    mei.put(&format!("/v1/groups/{id}"), &json!({"isPublic": true})).await.ok();
    app.wait_for_index().await;
    assert_eq!(seen(&lin).await, [1, 0, 0], "an open group is found, its messages are not");
    assert_eq!(seen(&acme.caller).await, [1, 0, 0]);
    let application = lin.post_empty(&format!("/v1/groups/{id}/apply")).await.ok();
    let application = application.data().as_str().unwrap();
    mei.post_empty(&format!("/v1/groups/{id}/applications/{application}/accept")).await.ok();
    assert_eq!(seen(&lin).await, inside, "accepted");
    mei.put(&format!("/v1/groups/{id}"), &json!({"isPublic": false, "name": "Quay"})).await.ok();
    app.wait_for_index().await;
    assert_eq!(seen(&acme.caller).await, outside, "closed");
    assert_eq!((lin.find("group", "harbour").await.len(), lin.find("group", "quay").await.len()), (0, 1));

    set_role(&mei, &id, "lin", 2).await.ok();
    assert_eq!(seen(&mei).await, [0, 2, 1], "a role changes no visibility");
    lin.delete(&format!("/v1/groups/{id}")).await.ok();
    for caller in [&mei, &omar, &lin] {
        assert_eq!(seen(caller).await, outside, "at once");
    }
}

#[tokio::test]
async fn messages_of_an_ended_group_are_removed_over_restarts() {
    let (app, acme, [mei, _]) = TestApp::start_with_people(["mei", "omar"]).await;
    let id = group_of(&mei, json!({"name": "Harbour", "isPublic": true, "users": ["omar"]})).await;
    let kept = group(&mei, "Kept harbour", &[]).await;
    put_messages(&app, &acme, &id, "m", "harbour", 1_200).await;
    put_messages(&app, &acme, &kept, "k", "harbour", 3).await;
    // Simulates a process that ended after the call.
    app.app.maintenance.stop().await;
    mei.delete(&format!("/v1/groups/{id}")).await.ok();
    assert_eq!(mei.find("message", "harbour").await.len(), 3);
    assert_eq!(app.count_rows("messages").await, 1_203);
    let token = mei.token.clone();
    drop((mei, acme));
    let app = app.restart().await;
    app.app.maintenance.make_round().await.unwrap();
    assert_eq!((app.count_rows("messages").await, app.count_rows("groups").await), (3, 1));
    assert_eq!((app.count_rows("group_members").await, app.count_rows("group_tenants").await), (1, 1));
    app.wait_for_index().await;
    let mei = app.caller(&token);
    assert_eq!(mei.find("message", "harbour").await.len(), 3);
    assert_eq!(mei.find("group", "harbour").await, [kept.as_str()]);
}
