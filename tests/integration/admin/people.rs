//! People, their logins and their browser sessions, for operators.

use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp},
    caller::{Caller, send},
    console::Operated,
    external::with,
    items::user,
    login::LoginSetup,
};

const PEOPLE: &str = "/admin/v1/people";

async fn listed(operator: &Caller, query: &str) -> Vec<Value> {
    operator.get(&format!("{PEOPLE}?{query}")).await.ok().items().to_vec()
}

fn user_ids(people: &[Value]) -> Vec<&str> {
    people.iter().map(|person| person["userId"].as_str().unwrap()).collect()
}

async fn details(operator: &Caller, user_id: &str) -> Value {
    operator.get(&format!("{PEOPLE}/{user_id}")).await.ok().data().clone()
}

async fn sessions(operator: &Caller, user_id: &str) -> Vec<Value> {
    details(operator, user_id).await["sessions"].as_array().unwrap().clone()
}

async fn start_with(rows: &[Value]) -> (TestApp, Application, Caller) {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "users", &Value::from(rows)).await;
    let operator = app.operator().await.caller.on("acme");
    (app, acme, operator)
}

#[tokio::test]
async fn people_are_listed_last_change_first_and_found_by_name_parts() {
    let rows = [
        with(user("u1", ""), "name", "Émile Harbour"),
        with(with(user("u2", ""), "name", "國際部"), "email", "desk@harbour.example"),
        with(with(user("u3", ""), "isHidden", true), "mobile", "13800001111"),
        with(user("u4", ""), "status", 0),
        user("u5", ""),
    ];
    let (app, acme, operator) = start_with(&rows).await;
    app.sync(&acme.caller, "users", &json!([with(user("u5", ""), "isDeleted", true)])).await;
    app.sync(&acme.caller, "users", &json!([with(user("u1", ""), "name", "Émile Harbour-Quay")])).await;
    let other = app.tenant("other").await;
    app.sync(&other.caller, "users", &json!([user("stranger", "")])).await;

    let all = listed(&operator, "").await;
    assert_eq!(user_ids(&all), ["u1", "u5", "u4", "u3", "u2"]);
    let flags = |person: &Value| json!([person["status"], person["isHidden"], person["isDeleted"]]);
    let expected = [
        json!([1, false, false]),
        json!([1, false, true]),
        json!([0, false, false]),
        json!([1, true, false]),
    ];
    assert_eq!(all[..4].iter().map(flags).collect::<Vec<_>>(), expected);
    for (keyword, found) in [
        ("harbour", vec!["u1", "u2"]),
        ("ÉMILE", vec!["u1"]),
        ("国际", vec!["u2"]),
        ("0000", vec!["u3"]),
        ("U4", vec!["u4"]),
        ("%", vec![]),
        ("stranger", vec![]),
    ] {
        let query =
            url::form_urlencoded::Serializer::new(String::new()).append_pair("keyword", keyword).finish();
        assert_eq!(user_ids(&listed(&operator, &query).await), found, "{keyword}");
    }

    let mut paged = Vec::new();
    let mut path = format!("{PEOPLE}?limit=2");
    loop {
        let page = operator.get(&path).await.ok();
        paged.extend(page.items().to_vec());
        let Some(cursor) = page.cursor() else { break };
        path = format!("{PEOPLE}?limit=2&cursor={cursor}");
    }
    assert_eq!(user_ids(&paged), user_ids(&all));
    for wrong in ["limit=0", "limit=1001", "cursor=x", "signedIn=maybe"] {
        let field = wrong.split('=').next().unwrap();
        operator.get(&format!("{PEOPLE}?{wrong}")).await.fails(400, field);
    }
    operator.get(&format!("{PEOPLE}?keyword={}", "x".repeat(101))).await.fails(400, "keyword");
    operator.get(&format!("{PEOPLE}/stranger")).await.fails(404, "userId");
}

#[tokio::test]
async fn details_tell_who_may_sign_in_and_how() {
    let all = Operated::start().await;
    let operator = all.app.operator().await.caller.on("acme");
    let mei = details(&operator, "mei").await;
    assert_eq!([&mei["hasPassword"], &mei["isOperator"]], [&json!(true), &json!(true)]);
    let tom = details(&operator, "tom").await;
    assert_eq!([&tom["hasPassword"], &tom["isOperator"]], [&json!(false), &json!(false)]);
    assert!(tom["throttledForMs"].is_null() && tom["sessions"].as_array().unwrap().is_empty());
    let text = operator.get(&format!("{PEOPLE}/mei")).await.ok().text;
    assert!(!text.contains("argon") && !text.contains(all.mei.cookie.rsplit('=').next().unwrap()));
}

#[tokio::test]
async fn sessions_are_listed_and_end_one_by_one() {
    let all = Operated::start().await;
    let operator = all.app.operator().await.caller.on("acme");
    let first = all.app.web_session("tom").await;
    let mut browser = all.app.browser();
    let second = all.app.sign_in_to_pages(&mut browser, "acme", "tom", "/").await;
    let second = all.app.session_of(&second);
    let signed_in = listed(&operator, "signedIn=true").await;
    let counts: Vec<_> =
        signed_in.iter().map(|person| json!([person["userId"], person["sessions"]])).collect();
    assert_eq!(counts, [json!(["tom", 2]), json!(["mei", 1])]);
    assert!(signed_in.iter().all(|person| person["lastSeenAt"].as_i64().unwrap() > 1_600_000_000_000));

    let found = sessions(&operator, "tom").await;
    assert_eq!(found.len(), 2);
    for session in &found {
        assert_eq!(session["isCurrent"], false);
        assert!(session["issuer"].is_null() && session["application"].is_string());
        assert!(session["createdAt"].as_i64() <= session["usedAt"].as_i64());
        assert!(session["usedAt"].as_i64() < session["expiresAt"].as_i64());
    }
    let path = |user_id: &str, session: &Value| {
        format!("{PEOPLE}/{user_id}/sessions/{}", session["id"].as_str().unwrap())
    };
    // Another person's, another enterprise's, none's.
    operator.delete(&path("mei", &found[0])).await.fails(404, "id");
    all.app.tenant("other").await;
    operator.on("other").delete(&path("tom", &found[0])).await.fails(404, "id");
    operator.delete(&format!("{PEOPLE}/tom/sessions/x")).await.fails(404, "id");

    operator.delete(&path("tom", &found[0])).await.ok();
    operator.delete(&path("tom", &found[0])).await.fails(404, "id");
    let alive = [is_alive(&first).await, is_alive(&second).await];
    assert_eq!(alive.iter().filter(|alive| **alive).count(), 1);
    assert_eq!(sessions(&operator, "tom").await.len(), 1);
    let event = operator.get("/admin/v1/audit?objectKind=session").await.ok().items()[0].clone();
    assert_eq!([&event["action"], &event["details"]], [&json!("end"), &json!({"userId": "tom"})]);
}

async fn is_alive(session: &Caller) -> bool {
    session.post_empty("/modules").await.status == 200
}

#[tokio::test]
async fn operators_own_session_is_marked_and_can_end() {
    let all = Operated::start().await;
    let found =
        all.mei.get(&format!("{PEOPLE}/mei")).await.ok().data()["sessions"].as_array().unwrap().clone();
    assert_eq!(found.iter().map(|session| session["isCurrent"].clone()).collect::<Vec<_>>(), [json!(true)]);
    let path = format!("{PEOPLE}/mei/sessions/{}", found[0]["id"].as_str().unwrap());
    send(all.mei.request(Method::DELETE, &path)).await.ok();
    all.mei.get(PEOPLE).await.fails(401, "session");
}

#[tokio::test]
async fn person_signed_out_everywhere_loses_sessions_and_tokens() {
    let all = Operated::start().await;
    let operator = all.app.operator().await;
    let on_acme = operator.caller.on("acme");
    let acme = all.app.tenant("acme").await;
    let session = all.app.web_session("tom").await;
    let token = all.app.user(&acme, "tom").await;
    token.post_empty("/modules").await.ok();
    let directory = acme.caller.get("/v1/users/sync").await.ok().text;

    let answer = on_acme.post_empty(&format!("{PEOPLE}/tom/sign_out")).await.ok();
    assert_eq!(answer.data(), &json!({"sessions": 1}));
    assert!(!is_alive(&session).await);
    token.post_empty("/modules").await.fails(401, "token");
    assert!(is_alive(&all.mei).await, "others stay signed in");
    assert!(sessions(&on_acme, "tom").await.is_empty());
    assert_eq!(acme.caller.get("/v1/users/sync").await.ok().text, directory, "no change of the directory");
    let event = on_acme.get("/admin/v1/audit?action=sign-out").await.ok().items()[0].clone();
    assert_eq!([&event["objectKind"], &event["objectId"]], [&json!("user"), &json!("tom")]);

    let again = all.app.web_session("tom").await;
    assert!(is_alive(&again).await, "they may sign in again");
    on_acme.post_empty(&format!("{PEOPLE}/nobody/sign_out")).await.fails(404, "userId");
}

#[tokio::test]
async fn sessions_from_before_a_disabling_are_not_listed() {
    let all = Operated::start().await;
    let operator = all.app.operator().await.caller.on("acme");
    let tom = all.app.web_session("tom").await;
    assert_eq!(sessions(&operator, "tom").await.len(), 1);
    let acme = all.app.tenant("acme").await;
    for status in [0, 1] {
        all.app.sync(&acme.caller, "users", &json!([with(user("tom", ""), "status", status)])).await;
    }
    assert!(!is_alive(&tom).await);
    assert!(sessions(&operator, "tom").await.is_empty());
    assert_eq!(user_ids(&listed(&operator, "signedIn=true").await), ["mei"]);
}

#[tokio::test]
async fn too_many_failed_logins_are_told_with_their_wait() {
    let setup = LoginSetup::start_with(|config| config.limits.logins_per_minute = 2).await;
    let operator = setup.app.operator().await.caller.on("acme");
    for _ in 0..2 {
        let mut browser = setup.app.browser();
        let page = browser.open(&setup.parameters()).await;
        assert_eq!(browser.submit(&page, "mei", "wrong").await.status, 403);
    }
    let wait = details(&operator, "mei").await["throttledForMs"].as_i64().unwrap();
    assert!((1..=31_000).contains(&wait), "{wait}");
}
