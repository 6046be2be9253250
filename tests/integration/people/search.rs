//! The module `people`.

use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
    caller::{Caller, send},
    directory::{PNG, content, read_one},
    items::{department, user},
    paging::walk_by_cursor,
};

fn person(id: &str, name: &str, department: &str) -> Value {
    let mut person = user(id, department);
    person["name"] = name.into();
    person
}

async fn sync(app: &TestApp, tenant: &Application, area: &str, rows: Value) {
    app.sync(&tenant.caller, area, &rows).await;
    app.wait_for_index().await;
}

async fn search(caller: &Caller, keyword: &str, more: &[(&str, &str)]) -> Answer {
    let mut parameters = vec![("moduleId", "people"), ("keyword", keyword), ("limit", "100")];
    parameters.extend(more);
    caller.search(&parameters).await.ok()
}

async fn acme(app: &TestApp) -> Application {
    let acme = app.tenant("acme").await;
    let mut hidden = department("d-quiet", "d-top");
    hidden["isHidden"] = true.into();
    let tree = json!([
        {"orgId": "d-top", "name": "港风物流"},
        {"orgId": "d-finance", "parentId": "d-top", "name": "Finance 财务部"},
        hidden,
        department("d-gone", ""),
    ]);
    sync(app, &acme, "organizations", tree).await;
    let people = json!([
        {"userId": "u1", "loginId": "mei.chen", "name": "陈梅", "sex": 2, "mobile": "13812345678", "orgId": "d-finance",
         "deputyOrgIds": ["d-quiet", "d-top", "d-gone"], "pictureParam": content(PNG),
         "userNum": "00417", "fullName": "Chen Mei Julia", "email": "mei@harbour.example", "telephone": "010-5550142",
         "postDescription": "Accountant", "homeTelephone": "7778888", "address": "1 Quay Lane", "birthday": "1990-02-03",
         "description": "carpe diem"},
        {"userId": "u2", "loginId": "omar", "name": "Omar O'Brien", "sex": 1, "orgId": "d-quiet"},
    ]);
    sync(app, &acme, "users", people).await;
    sync(app, &acme, "organizations", json!([{"orgId": "d-gone", "isDeleted": true}])).await;
    acme
}

#[tokio::test]
async fn people_are_found_by_names_numbers_and_departments() {
    let app = TestApp::start().await;
    let acme = acme(&app).await;
    let omar = app.user(&acme, "omar").await;
    for keyword in [
        "陈梅",
        "陈",
        "梅",
        "陳梅",
        "chenmei",
        "chen mei",
        "mei chen",
        "cm",
        "chenm",
        "Julia",
        "mei.chen",
        "00417",
        "13812345678",
        "1381234",
        "138",
        "5678",
        "010-5550142",
        "0105550142",
        "mei@harbour.example",
        "accountant",
        "Accountants",
        "财务部",
        "finance",
        "港风物流",
        "陈梅 财务",
        "chen finance accountant",
        "\"陈梅\"",
    ] {
        for caller in [&acme.caller, &omar] {
            assert_eq!(caller.find("people", keyword).await, ["u1"], "{keyword}");
        }
        let best = search(&acme.caller, keyword, &[("sort", "relevance")]).await;
        assert_eq!((best.ids(), best.total()), (vec!["u1"], 1), "{keyword}");
    }
    for keyword in ["o'brien", "obrien", "OBRIEN", "omar", "o’brien omar"] {
        assert_eq!(acme.caller.find("people", keyword).await, ["u2"], "{keyword}");
    }
    for keyword in ["7778888", "Quay", "1990", "carpe", "Department", "d-quiet", "caiwubu"] {
        let answer = search(&acme.caller, keyword, &[]).await;
        assert_eq!((answer.total(), answer.ids()), (0, vec![]), "{keyword}");
    }
    let other = app.tenant("other").await;
    sync(&app, &other, "users", json!([person("u9", "陈梅", "")])).await;
    assert_eq!(other.caller.find("people", "chenmei").await, ["u9"]);
    assert_eq!(acme.caller.find("people", "chenmei").await, ["u1"]);
}

#[tokio::test]
async fn item_shows_only_public_fields() {
    let at = |address: &str| Some(address.parse().unwrap());
    let app = TestApp::start_with(|config| config.public_url = at("https://search.example/")).await;
    let acme = acme(&app).await;
    let answer = search(&acme.caller, "chenmei", &[("highlight", "true")]).await;
    let item = &answer.items()[0];
    let picture = read_one(&acme.caller, "users", "u1").await["picture"].clone();
    let path = picture.as_str().unwrap().strip_prefix("https://search.example").unwrap().to_owned();
    for (field, expected) in [
        ("id", json!("u1")),
        ("title", json!("陈梅")),
        ("subTitle", json!("Accountant · Finance 财务部 · 港风物流")),
        ("brief", json!("13812345678 · 010-5550142 · mei@harbour.example")),
        ("image", picture),
        (
            "highlight",
            json!({
                "title": "<em>陈梅</em>", "subTitle": "Accountant · Finance 财务部 · 港风物流",
                "brief": "13812345678 · 010-5550142 · mei@harbour.example",
            }),
        ),
    ] {
        assert_eq!(item[field], expected, "{field}");
    }
    for field in ["author", "action", "attachInfo", "attachDescription"] {
        assert!(item[field].is_null(), "{field}");
    }
    for hidden in ["mei.chen", "00417", "Julia", "Quay", "7778888", "d-quiet"] {
        assert!(!answer.text.contains(hidden), "{hidden}");
    }
    assert_eq!(search(&acme.caller, "omar", &[]).await.items()[0]["subTitle"], Value::Null);

    // A rebuild keeps the rows, and avatars use the server's current URL.
    let before = search(&acme.caller, "chenmei", &[]).await.items().to_vec();
    let mut app = app.restart_rebuilding().await;
    app.wait_for_rebuild().await;
    let again = |app: &TestApp| app.caller(&acme.caller.token);
    assert_eq!(search(&again(&app), "chenmei", &[]).await.items(), before);
    app = app.restart_with(|config| config.public_url = at("https://find.example/")).await;
    app.wait_for_index().await;
    let item = search(&again(&app), "chenmei", &[]).await.items()[0].clone();
    assert_eq!(item["image"], format!("https://find.example{path}"));
}

#[tokio::test]
async fn pinyin_match_is_highlighted_in_every_kind_of_answer() {
    let app = TestApp::start().await;
    let acme = acme(&app).await;
    app.put_contents(&acme.caller, "article", &[json!({"id": "a", "title": "陈梅 cm", "displayTime": 1})])
        .await;
    for (keyword, article) in
        [("chenmei", None), ("cm", Some("陈梅 <em>cm</em>")), ("陈梅", Some("<em>陈梅</em> cm"))]
    {
        let one = search(&acme.caller, keyword, &[("highlight", "true")]).await;
        assert_eq!(one.items()[0]["highlight"]["title"], "<em>陈梅</em>", "{keyword}");
        let parameters = [("keyword", keyword), ("highlight", "true")];
        let path = "/contents/search/all";
        let all = send(acme.caller.request(Method::POST, path).query(&parameters)).await.ok();
        let of = |code: &str| {
            let entry = all.items().iter().find(|entry| entry["module"]["code"] == code).unwrap();
            entry["data"][0]["highlight"]["title"].clone()
        };
        assert_eq!(of("people"), "<em>陈梅</em>", "{keyword}");
        assert_eq!(of("article"), json!(article), "{keyword}: the title of an article is no name");
        let events =
            acme.caller.request(Method::POST, path).query(&parameters).header("accept", "text/event-stream");
        let stream = events.send().await.unwrap().text().await.unwrap();
        let of_people = stream.lines().find(|line| line.contains(r#""code":"people""#)).unwrap();
        assert!(of_people.contains("<em>陈梅</em>"), "{keyword}: {of_people}");
    }
}

#[tokio::test]
async fn exact_name_ranks_first_by_relevance() {
    let (app, acme) = TestApp::start_with_acme().await;
    sync(&app, &acme, "organizations", json!([{"orgId": "d", "name": "张伟工作室 Zhang Wei Studio"}])).await;
    let names = [
        "张伟明",
        "大张伟",
        "张伟",
        "章玮",
        "Zhang Wei Ling",
        "Zhang Wei",
        "Jean-Luc Picard Sr",
        "Jean-Luc Picard",
        "單雄信",
        "单雄",
        "曾国藩",
        "仇英",
    ];
    let mut people: Vec<Value> =
        names.iter().enumerate().map(|(number, name)| person(&format!("u{number:02}"), name, "d")).collect();
    // The same name without a department ranks no higher.
    people[0]["orgId"] = "".into();
    sync(&app, &acme, "users", Value::from(people)).await;
    for (keyword, best) in [
        ("张伟", &["u02"][..]),
        ("張偉", &["u02"]),
        ("zhangwei", &["u02", "u03", "u05"]),
        ("zhang wei", &["u02", "u03", "u05"]),
        ("zw", &["u02", "u03"]),
        ("Zhang Wei Ling", &["u04"]),
        ("zhangweiming", &["u00"]),
        ("jean-luc picard", &["u07"]),
        ("jeanluc picard", &["u07"]),
        ("shan xiong", &["u09"]),
        ("danxiongxin", &["u08"]),
        ("zengguofan", &["u10"]),
        ("qiuying", &["u11"]),
        ("qy", &["u11"]),
    ] {
        let answer = search(&acme.caller, keyword, &[("sort", "relevance")]).await;
        let mut first: Vec<&str> = answer.ids().into_iter().take(best.len()).collect();
        first.sort_unstable();
        assert_eq!(first, best, "{keyword}: {:?}", answer.ids());
    }
    for keyword in ["伟", "张"] {
        let found = acme.caller.find("people", keyword).await;
        assert!(
            ["u00", "u01", "u02"].iter().all(|id| found.iter().any(|found| found == id)),
            "{keyword}: {found:?}"
        );
    }
}

/// Asserts that nobody is found.
///
/// It looks at items, totals, corrections, the author filter, and all modules.
async fn assert_finds_nobody(caller: &Caller, keyword: &str) {
    for more in
        [&[("sort", "time")][..], &[("sort", "relevance")], &[("highlight", "true")], &[("paging", "cursor")]]
    {
        let answer = search(caller, keyword, more).await;
        assert_eq!((answer.total(), answer.ids()), (0, vec![]), "{keyword} {more:?}");
        assert_eq!(answer.body.get("corrected"), None, "{keyword} {more:?}");
        assert_eq!(answer.cursor(), None, "{keyword} {more:?}");
    }
    let all = caller.post("/contents/search/all", &json!({"keyword": keyword})).await.ok();
    for entry in all.items() {
        assert_eq!((&entry["total"], entry.get("corrected")), (&json!(0), None), "{keyword}: {entry}");
    }
    for author in ["zhaoliying", "赵丽颖", "quiet.one"] {
        let by = search(caller, "chen", &[("author", author)]).await;
        assert_eq!((by.total(), by.body.get("corrected")), (0, None), "{author}");
    }
}

#[tokio::test]
async fn hidden_deleted_and_foreign_people_do_not_leak() {
    let app = TestApp::start().await;
    let (acme, other) = (acme(&app).await, app.tenant("other").await);
    let quiet = json!({
        "userId": "quiet", "loginId": "quiet.one", "name": "赵丽颖", "sex": 2, "mobile": "15900001111", "orgId": "d-finance",
    });
    let keywords = [
        "赵丽颖",
        "趙麗穎",
        "zhaoliying",
        "zhao li ying",
        "zly",
        "zhaoli",
        "颖",
        "丽颖",
        "quiet.one",
        "quietone",
        "15900001111",
        "1590",
        "1111",
        // It is one edit away from a findable name.
        "zhaoliyinh",
        "zhaolixying",
        "quiett",
        "赵丽影",
        "15900001112",
        "author:zhaoliying",
        "-chen zhaoliying",
        "\"li ying\"",
    ];
    let mut of_other = quiet.clone();
    of_other["orgId"] = Value::Null;
    sync(&app, &other, "users", json!([of_other])).await;
    let omar = app.user(&acme, "omar").await;
    for keyword in keywords {
        assert_finds_nobody(&omar, keyword).await;
    }
    for (shown, changed) in [
        (json!({"isHidden": false}), json!({"isHidden": true})),
        (json!({"isHidden": false, "isDeleted": false}), json!({"isDeleted": true})),
    ] {
        let with = |fields: &Value| {
            let mut row = quiet.clone();
            row.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            json!([row])
        };
        sync(&app, &acme, "users", with(&shown)).await;
        let there = search(&omar, "zhaoliying", &[]).await;
        assert_eq!((there.ids(), there.total()), (vec!["quiet"], 1));
        assert_eq!(search(&omar, "zhaoliyinh", &[]).await.body["corrected"], "zhaoliying");
        sync(&app, &acme, "users", with(&changed)).await;
        for keyword in keywords {
            assert_finds_nobody(&omar, keyword).await;
        }
        assert_eq!(omar.find("people", "finance").await, ["u1"]);
    }
    let app = app.restart_rebuilding().await;
    app.wait_for_rebuild().await;
    let omar = app.caller(&omar.token);
    for keyword in keywords {
        assert_finds_nobody(&omar, keyword).await;
    }
    assert_eq!(omar.find("people", "chenmei").await, ["u1"]);
}

#[tokio::test]
async fn disabled_person_is_still_found() {
    let app = TestApp::start().await;
    let acme = acme(&app).await;
    sync(&app, &acme, "users", json!([{"userId": "u1", "status": 0}])).await;
    assert_eq!(acme.caller.find("people", "chenmei").await, ["u1"]);
}

#[tokio::test]
async fn confidential_details_are_not_searchable() {
    let app = TestApp::start().await;
    let acme = acme(&app).await;
    for secret_level in [1, 2] {
        // The login falls back to the number; the user number is a second one.
        let secretive = json!({
            "userId": "u1", "secretLevel": secret_level, "loginId": "",
            "userNum": "5550142", "fullName": "reach7@harbour.example", "email": "Reach7@Harbour.example",
            "telephone": "010-5550142", "homeTelephone": "7778888", "postDescription": "Accountant",
        });
        sync(&app, &acme, "users", json!([secretive])).await;
        for keyword in [
            "13812345678",
            "1381",
            "5678",
            "010-5550142",
            "5550142",
            "0142",
            "reach7@harbour.example",
            "harbour",
            "7778888",
            "13812345679",
            "harbuor",
        ] {
            assert_finds_nobody(&acme.caller, keyword).await;
        }
        let answer = search(&acme.caller, "chenmei", &[("highlight", "true")]).await;
        assert_eq!(answer.ids(), ["u1"]);
        assert!(answer.items()[0]["brief"].is_null(), "{}", answer.text);
        for detail in ["5678", "0142", "harbour", "7778888"] {
            assert!(!answer.items()[0].to_string().contains(detail), "{detail}: {}", answer.text);
        }
    }
    let other_forms = json!({
        "userId": "u1", "loginId": "013812345678", "mobile": "+86 １３８１２３４５６７８ / 13900003333", "userNum": "550142",
        "telephone": "+86 10 555-0142 x22", "email": "Mei <reach7@harbour.example>",
    });
    sync(&app, &acme, "users", json!([other_forms])).await;
    for keyword in ["013812345678", "13812345678", "550142", "reach7@harbour.example"] {
        assert_finds_nobody(&acme.caller, keyword).await;
    }
    sync(&app, &acme, "users", json!([{"userId": "u1", "secretLevel": 0}])).await;
    assert_eq!(acme.caller.find("people", "13812345678").await, ["u1"]);
}

#[tokio::test]
async fn department_names_follow_renames() {
    let app = TestApp::start().await;
    let acme = acme(&app).await;
    let change = async |row: Value| sync(&app, &acme, "organizations", json!([row])).await;
    change(json!({"orgId": "d-finance", "name": "Treasury"})).await;
    assert_eq!(acme.caller.find("people", "treasury").await, ["u1"]);
    assert_eq!(acme.caller.find("people", "财务部").await, [""; 0]);
    for gone in ["isHidden", "isDeleted"] {
        change(json!({"orgId": "d-finance", gone: true})).await;
        assert_eq!(acme.caller.find("people", "treasury").await, [""; 0]);
        let item = search(&acme.caller, "chenmei", &[]).await.items()[0].clone();
        assert_eq!(item["subTitle"], "Accountant · 港风物流");
        change(json!({"orgId": "d-finance", gone: false})).await;
        assert_eq!(acme.caller.find("people", "treasury").await, ["u1"]);
    }
}

#[tokio::test]
async fn paging_meets_everybody_once() {
    let (app, acme) = TestApp::start_with_acme().await;
    let people: Vec<Value> =
        (0..2_500).map(|number| person(&format!("u{number:04}"), &format!("张伟{number}"), "")).collect();
    sync(&app, &acme, "users", Value::from(people)).await;
    let query = [("moduleId", "people"), ("keyword", "zhangwei")];
    let walk = walk_by_cursor(&acme.caller, &query, 300).await;
    walk.assert_met((0..2_500).map(|number| format!("u{number:04}")));
    assert_eq!(search(&acme.caller, "zhangwei 1", &[("sort", "relevance")]).await.total(), 1_111 + 1_389);
}
