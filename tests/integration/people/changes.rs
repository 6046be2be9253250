//! Change feeds `GET /v1/users/sync` and `GET /v1/organizations/sync`.

use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};

use crate::util::{
    app::TestApp,
    database::read,
    directory::{changed_at, read_after, read_all, read_one},
    items::{department, user},
};

/// Distinct timestamps, so that a cursor can stop between rows of a call.
#[tokio::test]
async fn thousands_of_changes_of_one_call_are_each_read_once() {
    let (app, acme) = TestApp::start_with_acme().await;
    let people: Vec<Value> = (0..3_000).map(|id| user(&format!("u{id:04}"), "")).collect();
    app.sync(&acme.caller, "users", &people.clone().into()).await;
    let departments: Vec<Value> = (0..1_500).map(|id| department(&format!("d{id:04}"), "")).collect();
    app.sync(&acme.caller, "organizations", &departments.into()).await;
    for limit in [7, 1_000] {
        let (users, _) = read_after(&acme.caller, "users", 0, limit).await;
        assert!(users.iter().map(|row| &row["userId"]).eq(people.iter().map(|row| &row["userId"])));
        let (departments, _) = read_after(&acme.caller, "organizations", 0, limit).await;
        assert_eq!(departments.len(), 1_500);
    }
    let by_default = acme.caller.get("/v1/users/sync").await.ok();
    assert_eq!(by_default.items().len(), 100);

    // Timestamps increase over both feeds and are never in the past.
    let all = [read_all(&acme.caller, "users").await, read_all(&acme.caller, "organizations").await].concat();
    let times: HashSet<i64> = all.iter().map(changed_at).collect();
    assert_eq!(times.len(), 4_500);
}

#[tokio::test]
async fn reader_misses_no_change_written_between_pages() {
    let (app, acme) = TestApp::start_with_acme().await;
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut expected: BTreeMap<String, (String, bool)> = BTreeMap::new();
    let mut followed: BTreeMap<String, (String, bool)> = BTreeMap::new();
    let (mut cursor, mut writes, mut seen) = (0, 0, 0);
    for round in 0..120 {
        if round < 60 {
            let mut rows = Vec::new();
            for _ in 0..=next(40) {
                let (id, name) = (format!("u{}", next(150)), format!("name {}", next(3)));
                let is_deleted = next(4) == 0;
                rows.push(
                    json!({"userId": id, "loginId": id, "name": name, "sex": 1, "isDeleted": is_deleted}),
                );
                if expected.insert(id, (name.clone(), is_deleted)) != Some((name, is_deleted)) {
                    writes += 1;
                }
            }
            app.sync(&acme.caller, "users", &rows.into()).await;
        }
        let limit = 1 + next(30);
        let page = acme.caller.get(&format!("/v1/users/sync?cursor={cursor}&limit={limit}")).await.ok();
        for row in page.items() {
            assert!(changed_at(row) > cursor);
            cursor = changed_at(row);
            let state = (row["name"].as_str().unwrap().to_owned(), row["isDeleted"].as_bool().unwrap());
            let id = row["userId"].as_str().unwrap().to_owned();
            assert_eq!(expected.get(&id), Some(&state), "{id} is not what was acknowledged");
            followed.insert(id, state);
            seen += 1;
        }
    }
    assert_eq!(followed, expected);
    assert!(seen <= writes, "{seen} rows read for {writes} changes");
}

/// An unchanged row costs no timestamp, document or audit entry.
#[tokio::test]
async fn unchanged_row_is_not_written() {
    let (app, acme) = TestApp::start_with_acme().await;
    let departments = json!([department("d1", ""), department("d2", "d1")]);
    let people: Vec<Value> = (0..50).map(|id| user(&format!("u{id}"), "d2")).collect();
    app.sync(&acme.caller, "organizations", &departments).await;
    app.sync(&acme.caller, "users", &people.clone().into()).await;
    let before = (read_all(&acme.caller, "users").await, read_all(&acme.caller, "organizations").await);
    let position = *app.app.store.positions().borrow();
    let events = app.number("SELECT COUNT(*) AS n FROM audit").await;
    for _ in 0..2 {
        app.sync(&acme.caller, "organizations", &departments).await;
        app.sync(&acme.caller, "users", &people.clone().into()).await;
    }
    let there_and_back = json!([{"userId": "u1", "name": "X"}, {"userId": "u1", "name": "User u1"}]);
    app.sync(&acme.caller, "users", &there_and_back).await;
    let after = (read_all(&acme.caller, "users").await, read_all(&acme.caller, "organizations").await);
    assert_eq!(after, before);
    assert_eq!(*app.app.store.positions().borrow(), position);
    assert_eq!(app.number("SELECT COUNT(*) AS n FROM audit").await, events);

    let mut one = people.clone();
    one[7]["email"] = "u7@example.org".into();
    app.sync(&acme.caller, "users", &one.into()).await;
    let newest = before.0.iter().map(changed_at).max().unwrap();
    let (changed, _) = read_after(&acme.caller, "users", newest, 100).await;
    assert_eq!(changed.iter().map(|row| &row["userId"]).collect::<Vec<_>>(), ["u7"]);
}

#[tokio::test]
async fn feed_is_filtered_by_type_and_names_wrong_parameters() {
    let (app, acme) = TestApp::start_with_acme().await;
    let mut people: Vec<Value> = (0..30).map(|id| user(&format!("u{id}"), "")).collect();
    for (place, person) in people.iter_mut().enumerate() {
        person["type"] = [1, 4, 77][place % 3].into();
    }
    app.sync(&acme.caller, "users", &people.into()).await;
    let page = acme.caller.get("/v1/users/sync?type=4&limit=6").await.ok();
    assert_eq!(page.items().len(), 6);
    let last = changed_at(&page.items()[5]);
    let rest = acme.caller.get(&format!("/v1/users/sync?type=4&limit=6&cursor={last}")).await.ok();
    assert_eq!(rest.items().len(), 4);
    assert!(page.items().iter().chain(rest.items()).all(|row| row["type"] == 4));
    assert_eq!(acme.caller.get("/v1/users/sync?type=5").await.ok().items(), [] as [Value; 0]);

    for area in ["users", "organizations"] {
        for (query, named) in [
            ("limit=0", "limit"),
            ("limit=1001", "limit"),
            ("limit=-1", "limit"),
            ("limit=x", "limit"),
            ("cursor=x", "cursor"),
            ("cursor=1.5", "cursor"),
            ("cursor=1&cursor=2", "cursor"),
        ] {
            acme.caller.get(&format!("/v1/{area}/sync?{query}")).await.fails(400, named);
        }
        acme.caller.get(&format!("/v1/{area}/sync?cursor=&limit=&page=3")).await.ok();
        acme.caller.get(&format!("/v1/{area}/sync?limit=1000&cursor=-1")).await.ok();
    }
    acme.caller.get("/v1/users/sync?type=x").await.fails(400, "type");
    let other = app.tenant("other").await.caller;
    assert_eq!(other.get("/v1/users/sync").await.ok().items(), [] as [Value; 0]);
}

#[tokio::test]
async fn audit_names_the_changed_fields_without_values() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "organizations", &json!([department("d1", "")])).await;
    app.sync(&acme.caller, "users", &json!([user("mei", "d1")])).await;
    for row in [
        json!({"userId": "mei", "email": "secret@example.org", "birthday": "1990-01-01"}),
        json!({"userId": "mei", "status": 0}),
        json!({"userId": "mei", "status": 1}),
        json!({"userId": "mei", "isDeleted": true}),
    ] {
        app.sync(&acme.caller, "users", &json!([row])).await;
    }
    app.sync(&acme.caller, "organizations", &json!([{"orgId": "d1", "name": "Harbour"}])).await;
    let text = "SELECT client_id, action, object_kind, object_id, details FROM audit WHERE object_kind IN ('user', 'department') \
                ORDER BY position";
    let rows: Vec<(String, String, String, String, String)> = read(&app.app.store, text, Vec::new()).await;
    let events: Vec<String> = rows
        .into_iter()
        .map(|(client_id, action, kind, id, details)| {
            assert_eq!(client_id, acme.client_id);
            [action, kind, id, details].join(" ")
        })
        .collect();
    assert_eq!(
        events,
        [
            "create department d1 {}",
            "create user mei {}",
            r#"change user mei {"fields":["email","birthday"]}"#,
            r#"disable user mei {"fields":["status"]}"#,
            r#"enable user mei {"fields":["status"]}"#,
            r#"delete user mei {"fields":["isDeleted"]}"#,
            r#"change department d1 {"fields":["name"]}"#,
        ]
    );
}

/// Documents of people and departments contain the names of the departments above.
#[tokio::test]
async fn department_change_reindexes_documents_that_show_it() {
    let (app, acme) = TestApp::start_with_acme().await;
    let tree = json!([department("d1", ""), department("d2", ""), department("d3", "d1")]);
    app.sync(&acme.caller, "organizations", &tree).await;
    let mut deputy = user("deputy", "d2");
    deputy["deputyOrgIds"] = json!(["d3", "d1"]);
    app.sync(
        &acme.caller,
        "users",
        &json!([user("mei", "d1"), user("below", "d3"), user("omar", "d2"), deputy]),
    )
    .await;
    let reindexed = async |row: Value| {
        // Followed first, so that the change log is not truncated meanwhile.
        app.wait_for_index().await;
        let position = *app.app.store.positions().borrow();
        app.sync(&acme.caller, "organizations", &json!([row])).await;
        *app.app.store.positions().borrow() - position
    };
    for row in [
        json!({"orgId": "d1", "name": "Harbour"}),
        json!({"orgId": "d1", "isHidden": true}),
        json!({"orgId": "d1", "isDeleted": true}),
        json!({"orgId": "d1", "isDeleted": false, "isHidden": false}),
    ] {
        assert_eq!(reindexed(row.clone()).await, 4, "{row}");
    }
    // A move re-indexes the departments below, not their people.
    assert_eq!(reindexed(json!({"orgId": "d1", "parentId": "d2"})).await, 2);
    for row in [json!({"orgId": "d1", "email": "d1@example.org"}), json!({"orgId": "d1", "orderNo": 3})] {
        assert_eq!(reindexed(row.clone()).await, 1, "{row}");
    }
    assert_eq!(reindexed(json!({"orgId": "d1", "orderNo": 3})).await, 0);
}

#[tokio::test]
async fn parents_precede_children_of_the_same_call() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "organizations", &json!([department("child", ""), department("old", "")])).await;
    // "child" precedes its new parent in the call.
    let rows = json!([{"orgId": "child", "name": "Child"}, department("new", "old"), {"orgId": "child", "parentId": "new"}]);
    app.sync(&acme.caller, "organizations", &rows).await;
    let all = read_all(&acme.caller, "organizations").await;
    assert_eq!(
        all.iter().map(|row| row["orgId"].as_str().unwrap()).collect::<Vec<_>>(),
        ["old", "new", "child"]
    );
    assert_eq!(read_one(&acme.caller, "organizations", "child").await["parentId"], "new");

    let other = app.tenant("other").await;
    let answer = other.caller.put("/v1/organizations/sync", &all.into()).await.ok();
    assert_eq!(answer.items(), [] as [Value; 0]);
}
