//! `/v1/directories` (book: reference/files.md).

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::util::{
    app::{Application, TestApp},
    caller::Caller,
    folders::{allowed, ask, files, folder, give, list, put_files},
    groups::{group, people},
    items::{department, user},
};

const OWNER: &str = "deleteable downloadable editable lockable manageable previewable readable restoreable shareable uploadable";

async fn two() -> (TestApp, Application, [Caller; 2]) {
    let (app, acme) = TestApp::start_with_acme().await;
    let callers = people(&app, &acme, ["mei", "omar"]).await;
    (app, acme, callers)
}

#[tokio::test]
async fn folder_is_created_and_listed_in_its_place() {
    let (_app, _, [mei, omar]) = two().await;
    assert_eq!(list(&mei, "").await.ok_epoch().total(), 0);
    assert_eq!(list(&mei, "root").await.ok_epoch().total(), 0);
    assert_eq!(files(&mei, "root").await.ok_epoch().total(), 0);
    let made = ask(&mei, "create", json!({"name": "Harbour"})).await.ok_epoch();
    let first = made.data().clone();
    assert_eq!(
        (&first["name"], &first["fullPath"], &first["parentId"], &first["version"]),
        (&json!("Harbour"), &json!("/Harbour"), &json!(""), &json!(1))
    );
    assert_eq!(allowed(&first), OWNER);
    let id = first["id"].as_str().unwrap();
    let form = json!({"name": "Tide", "parentId": id, "principalId": null, "skip": null, "unknown": 1});
    let second = ask(&mei, "create", form).await.ok_epoch().data().clone();
    assert_eq!((&second["fullPath"], &second["parentId"]), (&json!("/Harbour/Tide"), &json!(id)));

    for place in [
        json!({"parentId": "", "principalId": ""}),
        json!({"principalId": "mei"}),
        json!({"parentId": "root"}),
    ] {
        let mut form = place.clone();
        form["name"] = json!("harbour");
        form["skip"] = json!(true);
        assert_eq!(ask(&mei, "create", form).await.ok_epoch().data(), &first, "{place}");
    }
    for parent in ["", "root"] {
        assert_eq!(list(&mei, parent).await.ok_epoch().items(), std::slice::from_ref(&first));
    }
    assert_eq!(list(&mei, id).await.ok_epoch().items(), [second]);
    for name in ["b", "A", "c"] {
        folder(&mei, id, name).await;
    }
    let answer = list(&mei, id).await.ok_epoch();
    assert_eq!(
        (answer.names(), answer.total(), &answer.body["count"]),
        (vec!["A", "b", "c", "Tide"], 4, &json!(4))
    );
    assert_eq!(list(&omar, "").await.ok_epoch().total(), 0);
    for answer in [list(&omar, id).await, files(&omar, id).await] {
        answer.fails_in_business(430_003, "no folder");
    }
    ask(&omar, "create", json!({"name": "x", "parentId": id})).await.fails_in_business(430_003, "no folder");
}

#[tokio::test]
async fn files_are_listed_by_name() {
    let (app, _, [mei, _]) = two().await;
    let id = folder(&mei, "", "Harbour").await;
    put_files(&app, &id, "b", &[5, 7]).await;
    put_files(&app, &id, "a", &[9]).await;
    let answer = files(&mei, &id).await.ok_epoch();
    assert_eq!((answer.names(), answer.total()), (vec!["a0.txt", "b0.txt", "b1.txt"], 3));
    let hash = answer.items()[0]["fileHash"].as_str().unwrap().len();
    let mut first = answer.items()[0].clone();
    first["fileHash"] = json!(hash);
    assert_eq!(
        first,
        json!({
            "id": format!("a0-{id}"), "name": "a0.txt", "extension": "txt", "size": 9, "version": 1, "fileHash": 64,
            "createdTime": 1000, "modifiedTime": 2000, "textProblem": null,
        })
    );
    let root = "(SELECT id FROM directories WHERE subject = 'u:mei')";
    assert_eq!(app.number(&format!("SELECT file_bytes FROM directories WHERE id = {root}")).await, 21);
    assert_eq!(files(&mei, "root").await.ok_epoch().total(), 0);
}

#[tokio::test]
async fn folder_names_are_unique_in_their_parent() {
    let (app, _, [mei, _]) = two().await;
    let id = folder(&mei, "", "Café").await;
    for same in ["Café", "CAFÉ", "cafe\u{301}", "Ｃafé", "C\u{430}fé"] {
        let answer = ask(&mei, "create", json!({"name": same})).await;
        answer.fails_in_business(430_002, "already");
        let found = ask(&mei, "create", json!({"name": same, "skip": true})).await.ok_epoch();
        assert_eq!((&found.data()["id"], &found.data()["name"]), (&json!(id), &json!("Café")), "{same}");
    }
    for (wrong, named) in [
        ("", "empty"),
        ("a/b", "must not hold"),
        ("..", "`.`"),
        ("nul", "Windows"),
        (" a", "space"),
        (&"x".repeat(256), "255 bytes"),
    ] {
        ask(&mei, "create", json!({"name": wrong})).await.fails_in_business(400, named);
        ask(&mei, "rename", json!({"dirId": id, "name": wrong})).await.fails_in_business(400, named);
    }
    folder(&mei, "", &"x".repeat(255)).await;
    assert_eq!(app.number("SELECT COUNT(*) FROM directories").await, 3);
}

#[tokio::test]
async fn folder_is_renamed() {
    let (_app, _, [mei, omar]) = two().await;
    let id = folder(&mei, "", "Harbour").await;
    let below = folder(&mei, &id, "Tide").await;
    folder(&mei, "", "Quay").await;
    let rename = async |name: &str| ask(&mei, "rename", json!({"dirId": id, "name": name})).await;
    let answer = rename("Port").await.ok_epoch();
    let only = json!({"id": id, "name": null, "fullPath": null, "parentId": null, "version": null, "permissions": null});
    assert_eq!(answer.data(), &only);
    assert_eq!(list(&mei, &id).await.ok_epoch().items()[0]["fullPath"], "/Port/Tide");
    rename("PORT").await.ok_epoch();
    rename("PORT").await.ok_epoch();
    let first = list(&mei, "").await.ok_epoch().items()[0].clone();
    assert_eq!((&first["name"], &first["version"]), (&json!("PORT"), &json!(3)));
    rename("quay").await.fails_in_business(430_002, "already");
    ask(&omar, "rename", json!({"dirId": id, "name": "Mine"})).await.fails_in_business(430_003, "no folder");
    ask(&mei, "rename", json!({"dirId": "root", "name": "Mine"})).await.fails_in_business(430_011, "root");
    ask(&mei, "rename", json!({"dirId": below, "name": "Quay"})).await.ok_epoch();
}

#[tokio::test]
async fn body_of_another_shape_is_http_400() {
    let (_app, _, [mei, _]) = two().await;
    let id = folder(&mei, "", "Harbour").await;
    let good = json!({"dirId": id, "roleIds": ["viewer"], "authTarget": ["omar"], "targetType": 1});
    let grant = |field: &str, value: Value| {
        let mut form = good.clone();
        form[field] = value;
        form
    };
    for (operation, body, named) in [
        ("create", json!({}), "name"),
        ("create", json!({"name": null}), "name"),
        ("create", json!({"name": 5}), "name"),
        ("create", json!({"name": "a", "skip": "yes"}), "skip"),
        ("create", json!({"name": "a", "parentId": 5}), "parentId"),
        ("create", json!({"name": "a", "parentId": "a\u{0}"}), "parentId"),
        ("create", json!({"name": "a", "principalId": ["mei"]}), "principalId"),
        ("create", json!([{"name": "a"}]), "object"),
        ("delete", json!({}), "dirId"),
        ("delete", json!({"dirId": ""}), "dirId"),
        ("lock", json!({"dirId": 5}), "dirId"),
        ("unlock", json!({"dirId": null}), "dirId"),
        ("rename", json!({"dirId": id}), "name"),
        ("rename", json!({"name": "a"}), "dirId"),
        ("authorize", grant("roleIds", json!([])), "roleIds"),
        ("authorize", grant("roleIds", json!(["owner"])), "roleIds"),
        ("authorize", grant("roleIds", json!("viewer")), "roleIds"),
        ("authorize", grant("authTarget", json!([])), "authTarget"),
        ("authorize", grant("authTarget", json!([""])), "authTarget"),
        ("authorize", grant("authTarget", json!(vec!["omar"; 101])), "authTarget"),
        ("authorize", grant("targetType", json!(0)), "targetType"),
        ("authorize", grant("targetType", json!(3)), "targetType"),
        ("authorize", grant("targetType", json!("1")), "targetType"),
        ("authorize", grant("dirId", json!(null)), "dirId"),
        ("authorize/remove", json!({"dirId": id, "targetType": 1}), "target"),
        ("authorize/remove", json!({"dirId": id, "target": "omar"}), "targetType"),
        ("authorize/remove", json!({"dirId": id, "target": "omar", "targetType": 4}), "targetType"),
    ] {
        ask(&mei, operation, body).await.fails(400, named);
    }
    mei.get("/v1/directories/file/list").await.fails(400, "dirId");
    mei.get("/v1/directories/file/list?dirId=").await.fails(400, "dirId");
    mei.get(&format!("/v1/directories/list?parentId={}", "x".repeat(513))).await.fails(400, "parentId");
}

#[tokio::test]
async fn unknown_or_hidden_folder_is_430003() {
    let (app, _, [mei, _]) = two().await;
    let other = app.tenant("other").await;
    let [theirs] = people(&app, &other, ["mei"]).await;
    let hidden = folder(&theirs, "", "Hidden").await;
    let gone = folder(&mei, "", "Gone").await;
    let below = folder(&mei, &gone, "Below").await;
    ask(&mei, "delete", json!({"dirId": gone})).await.ok_epoch();
    for id in ["nothing", &hidden, &gone, &below] {
        for (operation, body) in [
            ("create", json!({"name": "a", "parentId": id})),
            ("delete", json!({"dirId": id})),
            ("rename", json!({"dirId": id, "name": "a"})),
            // The folder is looked up before the name is checked.
            ("rename", json!({"dirId": id, "name": "a/b"})),
            ("lock", json!({"dirId": id})),
            ("unlock", json!({"dirId": id})),
            (
                "authorize",
                json!({"dirId": id, "roleIds": ["viewer"], "authTarget": ["nobody"], "targetType": 1}),
            ),
            ("authorize/remove", json!({"dirId": id, "target": "omar", "targetType": 1})),
        ] {
            ask(&mei, operation, body).await.fails_in_business(430_003, "no folder");
        }
        list(&mei, id).await.fails_in_business(430_003, "no folder");
        files(&mei, id).await.fails_in_business(430_003, "no folder");
    }
    assert_eq!(list(&theirs, "").await.ok_epoch().ids(), [hidden]);
}

#[tokio::test]
async fn every_subject_has_its_own_first_level_folders() {
    let (app, acme) = TestApp::start_with_acme().await;
    let mut charge = department("sales", "");
    charge["principal"] = json!("lin");
    let mut by_login = department("north", "sales");
    by_login["principal"] = json!("omar");
    let mut hidden = department("hidden", "");
    hidden["isHidden"] = json!(true);
    app.sync(&acme.caller, "organizations", &json!([charge, by_login, hidden])).await;
    app.sync(
        &acme.caller,
        "users",
        &json!([user("mei", "sales"), user("omar", ""), user("lin", ""), user("ana", "")]),
    )
    .await;
    let [mei, omar, lin, ana] = [
        app.user(&acme, "mei").await,
        app.user(&acme, "omar").await,
        app.user(&acme, "lin").await,
        app.user(&acme, "ana").await,
    ];
    let team = group(&mei, "Team", &["omar"]).await;
    let create = async |caller: &Caller, principal: &str| {
        ask(caller, "create", json!({"name": format!("Of {principal}"), "principalId": principal})).await
    };
    for (caller, principal) in
        [(&mei, "mei"), (&mei, team.as_str()), (&lin, "sales"), (&omar, "north"), (&lin, "acme")]
    {
        create(caller, principal).await.ok_epoch();
    }
    for (caller, principal) in
        [(&omar, team.as_str()), (&mei, "sales"), (&lin, "north"), (&omar, "acme"), (&ana, "acme")]
    {
        create(caller, principal).await.fails_in_business(430_011, "principalId");
    }
    for (caller, principal) in
        [(&mei, "omar"), (&ana, team.as_str()), (&mei, "hidden"), (&mei, "other"), (&mei, "nothing")]
    {
        create(caller, principal).await.fails_in_business(430_003, "principalId");
    }
    assert_eq!(list(&lin, "").await.ok_epoch().names(), ["Of acme", "Of sales"]);
    assert_eq!(list(&mei, "root").await.ok_epoch().names(), ["Of mei"]);
    assert_eq!(list(&mei, "").await.ok_epoch().total(), 2);

    let operator = app.operator().await.caller.on("acme");
    let settings = operator
        .put("/admin/v1/tenants/acme", &json!({"administrators": ["ana", "ana", "later"]}))
        .await
        .ok();
    assert_eq!(settings.data()["administrators"], json!(["ana", "later"]));
    assert_eq!(list(&ana, "").await.ok_epoch().names(), ["Of acme"]);
    let again = json!({"name": "Of ANA", "principalId": "acme"});
    ask(&ana, "create", again.clone()).await.ok_epoch();
    ask(&lin, "create", again).await.fails_in_business(430_002, "already");
    operator.put("/admin/v1/tenants/acme", &json!({"administrators": []})).await.ok();
    assert_eq!(list(&ana, "").await.ok_epoch().total(), 0);
    create(&ana, "acme").await.fails_in_business(430_011, "principalId");
    for wrong in [json!([""]), json!(vec!["a"; 101]), json!("ana"), json!([5])] {
        operator
            .put("/admin/v1/tenants/acme", &json!({"administrators": wrong}))
            .await
            .fails(400, "administrators");
    }
    app.sync(&acme.caller, "organizations", &json!([{"orgId": "sales", "principal": "omar"}])).await;
    assert_eq!(list(&lin, "").await.ok_epoch().total(), 0);
    assert_eq!(list(&omar, "").await.ok_epoch().names(), ["Of acme", "Of ANA", "Of north", "Of sales"]);
}

#[tokio::test]
async fn folder_depth_is_limited() {
    let (_app, _, [mei, _]) = two().await;
    let mut parent = folder(&mei, "", "1").await;
    for depth in 2..64 {
        parent = folder(&mei, &parent, &depth.to_string()).await;
    }
    let too_deep = json!({"name": "64", "parentId": parent});
    ask(&mei, "create", too_deep).await.fails_in_business(400, "63 levels deep");
    give(&mei, &parent, "viewer", &["omar"]).await;
}

#[tokio::test]
async fn subfolders_of_a_folder_are_limited() {
    let (app, _, [mei, _]) = two().await;
    let id = folder(&mei, "", "Many").await;
    app.execute(
        "WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 9999) \
         INSERT INTO directories (id, tenant_id, parent_id, name, name_key, created_by, created_at, updated_at) \
         SELECT 'd' || number, tenant_id, id, 'f' || number, 'f' || number, 'mei', 1, 1 FROM directories, numbers \
         WHERE name = 'Many'",
    )
    .await;
    folder(&mei, &id, "the last").await;
    ask(&mei, "create", json!({"name": "one more", "parentId": id})).await.fails_in_business(400, "10000");
    ask(&mei, "create", json!({"name": "THE LAST", "parentId": id, "skip": true})).await.ok_epoch();
    assert_eq!(list(&mei, &id).await.ok_epoch().total(), 10_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_creations_of_a_folder_succeed_once() {
    let (app, _, [mei, omar]) = two().await;
    let id = folder(&mei, "", "Shared").await;
    give(&mei, &id, "editor", &["omar"]).await;
    for round in 0..10 {
        let mut calls = JoinSet::new();
        for number in 0..8 {
            let caller = if number % 2 == 0 { mei.clone() } else { omar.clone() };
            let form = json!({"name": format!("n{round}"), "parentId": id, "skip": number % 4 >= 2});
            calls.spawn(async move { (number % 4 >= 2, ask(&caller, "create", form).await) });
        }
        let mut made = std::collections::BTreeSet::new();
        let mut without_skip = 0;
        while let Some(answer) = calls.join_next().await {
            let (skip, answer) = answer.unwrap();
            if answer.body["code"] == 200 {
                made.insert(answer.data()["id"].as_str().unwrap().to_owned());
                without_skip += usize::from(!skip);
            } else {
                assert!(!skip, "{}", answer.text);
                answer.fails_in_business(430_002, "already");
            }
        }
        assert_eq!(made.len(), 1);
        assert!(without_skip <= 1, "{without_skip}");
    }
    let query = "SELECT COUNT(*) FROM directories WHERE parent_id IS NOT NULL";
    assert_eq!(app.number(query).await, 11);
}
