//! Groups (book: reference/groups.md).

use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{
    app::TestApp,
    caller::Caller,
    groups::{group, group_of, info, join_code, member_ids, members, people, role, set_role},
    items::{department, user},
};

async fn listed(caller: &Caller, query: &str) -> Vec<String> {
    let answer = caller.get(&format!("/v1/groups{query}")).await.ok();
    assert_eq!(answer.total(), answer.items().len() as u64);
    answer.items().iter().map(|group| group["groupId"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn creator_owns_the_group_with_the_named_members() {
    let (_app, _, [mei, omar, lin]) = TestApp::start_with_people(["mei", "omar", "lin"]).await;
    let id = group(&mei, "Harbour 港口", &["omar", "mei", "omar"]).await;
    let expected = json!({
        "groupId": id, "name": "Harbour 港口", "icon": null, "memberCount": "2", "eCode": "acme", "memberRole": 2,
    });
    assert_eq!(info(&mei, &id).await.ok().data(), &expected);
    assert_eq!(mei.get("/v1/groups").await.ok().items(), [expected]);
    assert_eq!((role(&omar, &id).await, role(&lin, &id).await), (Some(0), None));
    assert_eq!(member_ids(&omar, &id).await, ["mei", "omar"]);
    lin.get(&format!("/v1/groups/{id}/members")).await.fails(404, "groupId");
    assert_eq!(listed(&lin, "").await, [] as [String; 0]);
}

#[tokio::test]
async fn members_are_shown_with_department_and_enterprise() {
    let (app, acme) = TestApp::start_with_acme().await;
    let departments = json!([department("d1", ""), {"orgId": "d2", "name": "Hidden", "isHidden": true}]);
    app.sync(&acme.caller, "organizations", &departments).await;
    let mut rows = [user("mei", "d1"), user("omar", "d2")];
    rows[0]["pictureParam"] = json!({"data": "https://img.example.org/mei.png", "type": 1});
    rows[0]["type"] = json!(3);
    app.sync(&acme.caller, "users", &json!(rows)).await;
    let mei = app.user(&acme, "mei").await;
    let id = group(&mei, "Harbour", &["omar"]).await;
    let answer = mei.get(&format!("/v1/groups/{id}/members")).await.ok();
    let expected = json!([
        {
            "userId": "mei", "name": "User mei", "type": 3, "picture": "https://img.example.org/mei.png",
            "orgId": "d1", "orgName": "Department d1", "eCode": "acme", "enterprise": "acme",
        },
        {
            "userId": "omar", "name": "User omar", "type": 1, "picture": null,
            "orgId": null, "orgName": null, "eCode": "acme", "enterprise": "acme",
        },
    ]);
    assert_eq!(answer.data(), &expected);
}

#[tokio::test]
async fn invalid_fields_are_refused_by_name_and_create_nothing() {
    let (app, _, [mei, _]) = TestApp::start_with_people(["mei", "omar"]).await;
    for (form, named) in [
        (json!({}), "name"),
        (json!({"name": "  "}), "name"),
        (json!({"name": 5}), "name"),
        (json!({"name": "x".repeat(513)}), "name"),
        (json!({"name": "a\u{7}"}), "name"),
        (json!({"name": "a", "type": 0}), "type"),
        (json!({"name": "a", "type": 4}), "type"),
        (json!({"name": "a", "type": "1"}), "type"),
        (json!({"name": "a", "isPublic": "yes"}), "isPublic"),
        (json!({"name": "a", "isThirdGroup": 1}), "isThirdGroup"),
        (json!({"name": "a", "users": "omar"}), "users"),
        (json!({"name": "a", "users": [5]}), "users"),
        (json!({"name": "a", "users": [""]}), "users"),
        (json!({"name": "a", "users": vec!["omar"; 1_001]}), "users"),
        (json!({"name": "a", "users": ["omar", "nobody", "noone"]}), "\"nobody\", \"noone\""),
        (json!({"name": "a", "users": ["0", "1", "2", "3", "4", "5", "6", "7", "8"]}), "\"4\" and 4 more"),
        (json!([]), "object"),
    ] {
        mei.post("/v1/groups", &form).await.fails(400, named);
    }
    assert_eq!((app.count_rows("groups").await, app.count_rows("group_members").await), (0, 0));

    let id = group(&mei, "Harbour", &[]).await;
    for (change, named) in [
        (json!({"name": ""}), "name"),
        (json!({"name": "x".repeat(513)}), "name"),
        (json!({"icon": "x".repeat(2_049)}), "icon"),
        (json!({"isPublic": "no"}), "isPublic"),
    ] {
        mei.put(&format!("/v1/groups/{id}"), &change).await.fails(400, named);
    }
    for (path, named) in [
        ("/v1/groups?lastUpdatedDate=yesterday", "lastUpdatedDate"),
        ("/v1/groups?lastUpdatedDate=1&lastUpdatedDate=2", "lastUpdatedDate"),
    ] {
        mei.get(path).await.fails(400, named);
    }
    for (query, named) in [
        ("", "userIds: is required"),
        ("?userIds=", "userIds"),
        ("?userIds=,", "userIds"),
        ("?userIds=a%00b", "userIds"),
        ("?userIds=a&userIds=b", "userIds"),
    ] {
        for method in [Method::POST, Method::DELETE] {
            let request = mei.request(method, &format!("/v1/groups/{id}/members{query}"));
            crate::util::caller::send(request).await.fails(400, named);
        }
    }
    for form in [json!({"role": 3}), json!({"role": -1}), json!({"role": "1"}), json!({})] {
        mei.put(&format!("/v1/groups/{id}/members/mei/role"), &form).await.fails(400, "role");
    }
}

#[tokio::test]
async fn chat_disabled_department_cannot_have_its_own_group() {
    let (app, acme) = TestApp::start_with_acme().await;
    let mut silent = department("silent", "");
    silent["enableChat"] = json!(0);
    let tree = json!([
        silent,
        department("below", "silent"),
        department("below-too", "silent"),
        department("loud", "")
    ]);
    app.sync(&acme.caller, "organizations", &tree).await;
    let mut deputy = user("deputy", "loud");
    deputy["deputyOrgIds"] = json!(["silent"]);
    let rows = json!([
        user("mei", "silent"),
        user("omar", "below"),
        user("ana", "below-too"),
        user("lin", "loud"),
        user("free", ""),
        deputy,
    ]);
    app.sync(&acme.caller, "users", &rows).await;
    let (mei, omar) = (app.user(&acme, "mei").await, app.user(&acme, "omar").await);
    let make = async |owner: &Caller, users: &[&str]| {
        owner.post("/v1/groups", &json!({"name": "Harbour", "users": users})).await
    };
    make(&mei, &["omar"]).await.fails(403, "users");
    make(&omar, &["ana"]).await.fails(403, "users");
    make(&omar, &["ana", "mei"]).await.fails(403, "users");
    make(&mei, &[]).await.fails(403, "users");
    for outside in ["lin", "free", "deputy"] {
        make(&mei, &["omar", outside]).await.ok();
    }
    let lin = app.user(&acme, "lin").await;
    make(&lin, &["mei", "omar"]).await.ok();
    app.sync(&acme.caller, "organizations", &json!([{"orgId": "silent", "enableChat": 1}])).await;
    make(&mei, &["omar"]).await.ok();
}

#[tokio::test]
async fn directory_changes_of_members_update_the_group() {
    let (app, acme, [mei, omar, _]) = TestApp::start_with_people(["mei", "omar", "lin"]).await;
    let id = group(&mei, "Harbour", &["omar", "lin"]).await;
    group(&mei, "Without them", &[]).await;
    let owned = group(&omar, "Of Omar", &["mei"]).await;
    let all = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    for (change, changed) in [
        (json!([{"userId": "omar", "isHidden": true}]), all(&[&id, &owned])),
        (
            json!([{"userId": "omar", "isHidden": false}, {"userId": "lin", "isHidden": false}]),
            all(&[&id, &owned]),
        ),
        (json!([{"userId": "lin", "isDeleted": true}]), all(&[&id])),
        (json!([{"userId": "lin", "isDeleted": false}]), all(&[&id])),
        (json!([{"userId": "omar", "status": 0}]), all(&[&id, &owned])),
        (json!([{"userId": "omar", "status": 1}]), all(&[&id, &owned])),
        (json!([{"userId": "omar", "name": "Omar", "status": 1, "isHidden": false}]), all(&[])),
    ] {
        app.execute("UPDATE groups SET updated_at = 1000").await;
        app.sync(&acme.caller, "users", &change).await;
        assert_eq!(listed(&mei, "?lastUpdatedDate=1001").await, changed, "{change}");
    }
}

#[tokio::test]
async fn list_has_own_and_open_groups_by_last_change() {
    let (app, _, [mei, omar, lin]) = TestApp::start_with_people(["mei", "omar", "lin"]).await;
    let other = app.tenant("other").await;
    let [stranger] = people(&app, &other, ["mei"]).await;
    let closed = group(&mei, "Closed", &["omar"]).await;
    let open = group_of(&mei, json!({"name": "Open", "isPublic": true})).await;
    let theirs = group_of(&stranger, json!({"name": "Theirs", "isPublic": true})).await;
    assert_eq!(listed(&mei, "").await, [closed.as_str(), open.as_str()]);
    assert_eq!(listed(&omar, "").await, [closed.as_str(), open.as_str()]);
    assert_eq!(listed(&lin, "?lastUpdatedDate=").await, [open.as_str()]);
    assert_eq!(listed(&stranger, "").await, [theirs.as_str()]);
    assert_eq!((role(&lin, &open).await, role(&omar, &closed).await), (Some(-1), Some(0)));
    assert_eq!(role(&mei, &theirs).await, None);
    assert_eq!(member_ids(&lin, &open).await, ["mei"]);

    // Only changes of a group move it up.
    let all = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    let changes: [(&str, Method, String, Value); 5] = [
        ("a name", Method::PUT, format!("/v1/groups/{closed}"), json!({"name": "Renamed"})),
        ("a member", Method::POST, format!("/v1/groups/{closed}/members?userIds=lin"), json!({})),
        ("a role", Method::PUT, format!("/v1/groups/{closed}/members/omar/role"), json!({"role": 1})),
        ("an icon", Method::PUT, format!("/v1/groups/{closed}"), json!({"icon": "https://x/i.png"})),
        ("a removal", Method::DELETE, format!("/v1/groups/{closed}/members?userIds=lin"), json!({})),
    ];
    for (what, method, path, body) in changes {
        app.execute("UPDATE groups SET updated_at = 1000").await;
        assert_eq!(listed(&omar, "?lastUpdatedDate=1000").await, all(&[&closed, &open]));
        assert_eq!(listed(&omar, "?lastUpdatedDate=1001").await, [] as [String; 0], "before {what}");
        crate::util::caller::send(mei.request(method, &path).json(&body)).await.ok();
        assert_eq!(listed(&omar, "?lastUpdatedDate=1001").await, all(&[&closed]), "{what}");
    }
    app.execute("UPDATE groups SET updated_at = 1000").await;
    mei.put(&format!("/v1/groups/{closed}"), &json!({"name": "Renamed", "isPublic": false})).await.ok();
    members(&mei, Method::POST, &closed, &["omar"]).await.ok();
    members(&mei, Method::DELETE, &closed, &["lin"]).await.ok();
    set_role(&mei, &closed, "omar", 1).await.ok();
    assert_eq!(listed(&mei, "?lastUpdatedDate=1001").await, [] as [String; 0], "a change without effect");
}

#[tokio::test]
async fn owner_and_administrators_change_name_and_openness() {
    let (_app, _, [mei, omar, ana, lin]) = TestApp::start_with_people(["mei", "omar", "ana", "lin"]).await;
    let id = group(&mei, "Harbour", &["omar", "ana"]).await;
    set_role(&mei, &id, "omar", 1).await.ok();
    let path = format!("/v1/groups/{id}");
    lin.put(&path, &json!({"name": "x"})).await.fails(404, "groupId");
    ana.put(&path, &json!({"name": "x"})).await.fails(403, "administrator");
    omar.put(&path, &json!({"name": "Port", "icon": "https://x/i.png", "isPublic": true})).await.ok();
    let seen = info(&lin, &id).await.ok();
    assert_eq!((&seen.data()["name"], &seen.data()["icon"]), (&json!("Port"), &json!("https://x/i.png")));
    lin.put(&path, &json!({"name": "x"})).await.fails(403, "administrator");
    mei.put(&path, &json!({"name": null, "icon": ""})).await.ok();
    let seen = info(&lin, &id).await.ok();
    assert_eq!((&seen.data()["name"], &seen.data()["icon"]), (&json!("Port"), &Value::Null));
    mei.put(&path, &json!({"isPublic": false})).await.ok();
    assert_eq!(role(&lin, &id).await, None);
}

#[tokio::test]
async fn owner_ends_the_group_and_nothing_is_left() {
    let (app, _, [mei, omar, lin]) = TestApp::start_with_people(["mei", "omar", "lin"]).await;
    let id = group_of(&mei, json!({"name": "Harbour", "users": ["omar"], "isPublic": true})).await;
    let code = join_code(&mei, &id, false).await;
    lin.post_empty(&format!("/v1/groups/{id}/apply")).await.ok();
    set_role(&mei, &id, "omar", 1).await.ok();
    let path = format!("/v1/groups/{id}");
    lin.delete(&path).await.fails(403, "owner");
    omar.delete(&path).await.fails(403, "owner");
    mei.delete(&path).await.ok();
    for caller in [&mei, &omar, &lin] {
        assert_eq!(role(caller, &id).await, None);
        assert_eq!(listed(caller, "").await, [] as [String; 0]);
        caller.get(&format!("/v1/groups/joincode/{code}")).await.fails(404, "joincode");
        caller.post_empty(&format!("/v1/groups/joincode/{code}/join")).await.fails(404, "joincode");
        caller.post_empty(&format!("/v1/groups/{id}/apply")).await.fails(404, "groupId");
    }
    mei.delete(&path).await.fails(404, "groupId");
    app.app.maintenance.make_round().await.unwrap();
    for table in ["groups", "group_members", "group_tenants", "group_join_codes", "group_applications"] {
        assert_eq!(app.count_rows(table).await, 0, "{table}");
    }
}

#[tokio::test]
async fn groups_of_another_tenant_do_not_exist() {
    let app = TestApp::start().await;
    let (acme, other) = (app.tenant("acme").await, app.tenant("other").await);
    let [mei] = people(&app, &acme, ["mei"]).await;
    let [namesake, _] = people(&app, &other, ["mei", "omar"]).await;
    let theirs = group_of(&namesake, json!({"name": "Theirs", "isPublic": true, "users": ["omar"]})).await;
    let application = "00000000-0000-0000-0000-000000000000";
    let calls = [
        (Method::GET, "info".to_owned(), Value::Null),
        (Method::GET, "members".to_owned(), Value::Null),
        (Method::GET, "applications".to_owned(), Value::Null),
        (Method::POST, "members?userIds=mei".to_owned(), Value::Null),
        (Method::DELETE, "members?userIds=omar".to_owned(), Value::Null),
        (Method::POST, "members/outer?loginIds=mei".to_owned(), Value::Null),
        (Method::DELETE, "members/outer?loginIds=omar".to_owned(), Value::Null),
        (Method::PUT, "members/omar/role".to_owned(), json!({"role": 1})),
        (Method::POST, "apply".to_owned(), Value::Null),
        (Method::POST, format!("applications/{application}/accept"), Value::Null),
        (Method::POST, format!("applications/{application}/refuse"), Value::Null),
        (Method::PUT, String::new(), json!({"name": "Mine"})),
        (Method::DELETE, String::new(), Value::Null),
    ];
    for (method, path, body) in calls {
        let mut answers = Vec::new();
        for id in [theirs.as_str(), "nothing"] {
            let path = format!("/v1/groups/{id}/{path}");
            let request = mei.request(method.clone(), path.trim_end_matches('/'));
            let request = if body.is_null() { request } else { request.json(&body) };
            answers.push(crate::util::caller::send(request).await.fails(404, "groupId").message().to_owned());
        }
        assert_eq!(answers[0], answers[1], "{path}");
    }
    for id in [theirs.as_str(), "nothing"] {
        let path = format!("/v1/groups/joincode?isOverride=true&groupId={id}");
        mei.post_empty(&path).await.fails(404, "groupId");
    }
    assert_eq!(member_ids(&namesake, &theirs).await, ["mei", "omar"]);
}
