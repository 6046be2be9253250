//! Join codes and join requests.

use std::collections::HashSet;

use serde_json::json;

use crate::util::{
    answer::Answer,
    app::TestApp,
    caller::Caller,
    groups::{group, group_of, join_code, member_ids, members, people, role, set_role},
    internals::now_millis,
};

async fn join(caller: &Caller, code: &str) -> Answer {
    caller.post_empty(&format!("/v1/groups/joincode/{code}/join")).await
}

async fn show(caller: &Caller, code: &str) -> Answer {
    caller.get(&format!("/v1/groups/joincode/{code}")).await
}

async fn apply(caller: &Caller, group: &str) -> String {
    let answer = caller.post_empty(&format!("/v1/groups/{group}/apply")).await.ok();
    answer.data().as_str().unwrap().to_owned()
}

async fn decide(caller: &Caller, group: &str, application: &str, answer: &str) -> Answer {
    caller.post_empty(&format!("/v1/groups/{group}/applications/{application}/{answer}")).await
}

async fn applicants(caller: &Caller, group: &str) -> Vec<String> {
    let answer = caller.get(&format!("/v1/groups/{group}/applications")).await.ok();
    answer.items().iter().map(|application| application["userId"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn join_code_opens_a_closed_group() {
    let (app, _, [mei, omar, ana, lin]) = TestApp::start_with_people(["mei", "omar", "ana", "lin"]).await;
    let id = group(&mei, "Harbour", &["omar", "ana"]).await;
    set_role(&mei, &id, "omar", 1).await.ok();
    let path = |is_override: &str| format!("/v1/groups/joincode?groupId={id}&isOverride={is_override}");
    ana.post_empty(&path("false")).await.fails(403, "administrator");
    lin.post_empty(&path("false")).await.fails(404, "groupId");
    mei.post_empty(&path("maybe")).await.fails(400, "isOverride");
    mei.post_empty(&format!("/v1/groups/joincode?groupId={id}")).await.fails(400, "isOverride");
    mei.post_empty("/v1/groups/joincode?isOverride=true").await.fails(400, "groupId");

    let before = now_millis();
    let made = omar.post_empty(&path("false")).await.ok();
    let code = made.data()["code"].as_str().unwrap().to_owned();
    let week = 7 * 24 * 60 * 60 * 1_000;
    let until: i64 = made.data()["expireDate"].as_str().unwrap().parse().unwrap();
    assert!((before + week..=now_millis() + week).contains(&until), "{until}");
    assert_eq!(code.len(), 8, "{code}");
    assert!(code.chars().all(|c| "ABCDEFGHJKMNPQRSTUVWXYZ23456789".contains(c)), "{code}");
    assert_eq!(join_code(&mei, &id, false).await, code, "the existing code");

    let seen = show(&lin, &code.to_lowercase()).await.ok();
    assert_eq!((&seen.data()["groupId"], &seen.data()["memberRole"]), (&json!(id), &json!(-1)));
    assert_eq!(role(&lin, &id).await, None, "a lookup does not join");
    let joined = join(&lin, &code).await.ok();
    assert_eq!((&joined.data()["memberRole"], &joined.data()["memberCount"]), (&json!(0), &json!("4")));
    assert_eq!(role(&lin, &id).await, Some(0));
    assert_eq!(join(&omar, &code).await.ok().data()["memberRole"], 1, "a member keeps the role");

    let other = join_code(&mei, &id, true).await;
    assert_ne!(other, code);
    show(&lin, &code).await.fails(404, "joincode");
    show(&lin, &other).await.ok();
    app.execute("UPDATE group_join_codes SET expires_at = 1").await;
    show(&lin, &other).await.fails(404, "joincode");
    join(&lin, &other).await.fails(404, "joincode");
    assert_ne!(join_code(&mei, &id, false).await, other);
}

#[tokio::test]
async fn foreign_codes_open_nothing_and_guesses_are_throttled() {
    let app = TestApp::start_with(|config| config.limits.logins_per_minute = 5).await;
    let (acme, other) = (app.tenant("acme").await, app.tenant("other").await);
    let [mei, omar, ana] = people(&app, &acme, ["mei", "omar", "ana"]).await;
    let [stranger] = people(&app, &other, ["stranger"]).await;
    let id = group(&mei, "Harbour", &[]).await;
    let code = join_code(&mei, &id, false).await;
    show(&stranger, &code).await.fails(404, "joincode");
    join(&stranger, &code).await.fails(404, "joincode");

    // Only unknown codes are throttled.
    for _ in 0..10 {
        show(&omar, &code).await.ok();
        show(&omar, "nonsense!").await.fails(404, "joincode");
    }
    let mut refused = None;
    for number in 0..100 {
        let answer =
            if number % 2 == 0 { show(&omar, "AAAAAAAA").await } else { join(&omar, "BBBBBBBB").await };
        if answer.status == 429 {
            refused = Some((number, answer));
            break;
        }
        answer.fails(404, "joincode");
    }
    let (tried, refused) = refused.expect("guessing is not throttled");
    // The limit, and attempts restored meanwhile.
    assert!(tried >= 5, "{tried}");
    assert!(!refused.header("retry-after").is_empty());
    join(&omar, &code).await.fails(429, "joincode");
    join(&ana, &code).await.ok();
    assert_eq!(role(&omar, &id).await, None);
}

#[tokio::test]
async fn code_of_a_full_group_is_no_wrong_guess() {
    let (app, acme) = TestApp::start_acme_with(|config| config.limits.logins_per_minute = 5).await;
    let [mei, omar] = people(&app, &acme, ["mei", "omar"]).await;
    let id = group(&mei, "Harbour", &[]).await;
    let code = join_code(&mei, &id, false).await;
    app.execute(
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 9999) \
         INSERT INTO group_members (group_id, tenant_id, user_id, role, joined_at) \
         SELECT groups.id, groups.tenant_id, 'many' || n, 0, 1 FROM groups, numbers",
    )
    .await;
    for _ in 0..20 {
        join(&omar, &code).await.fails(409, "10000");
    }
    app.execute("DELETE FROM group_members WHERE user_id = 'many1'").await;
    join(&omar, &code).await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_guesses_share_the_throttle() {
    let (app, acme) = TestApp::start_acme_with(|config| config.limits.logins_per_minute = 5).await;
    let [mei] = people(&app, &acme, ["mei"]).await;
    let guesses = (0..60).map(|number| {
        let code = format!("AAAAAA{}{}", char::from(b'A' + number / 8), char::from(b'A' + number % 8));
        let mei = mei.clone();
        async move { show(&mei, &code).await.status }
    });
    let statuses = futures::future::join_all(guesses).await;
    let let_through = statuses.iter().filter(|status| **status == 404).count();
    assert!(statuses.contains(&429), "{statuses:?}");
    assert!(let_through < 30, "{statuses:?}");
}

#[tokio::test]
async fn administrators_decide_applications_to_open_groups() {
    let (app, _, [mei, omar, ana, lin, kim]) =
        TestApp::start_with_people(["mei", "omar", "ana", "lin", "kim"]).await;
    let form = json!({"name": "Harbour", "isPublic": true, "users": ["omar", "ana"]});
    let id = group_of(&mei, form).await;
    set_role(&mei, &id, "omar", 1).await.ok();
    let closed = group(&mei, "Closed", &["ana"]).await;
    let path = format!("/v1/groups/{id}/apply");
    for member in [&mei, &omar, &ana] {
        member.post_empty(&path).await.fails(409, "member");
    }
    lin.post_empty(&format!("/v1/groups/{closed}/apply")).await.fails(404, "groupId");
    ana.post_empty(&format!("/v1/groups/{closed}/apply")).await.fails(409, "member");

    let first = apply(&lin, &id).await;
    lin.post_empty(&path).await.fails(409, "not decided yet");
    let second = apply(&kim, &id).await;
    assert_eq!(applicants(&omar, &id).await, ["lin", "kim"]);
    let listed = omar.get(&format!("/v1/groups/{id}/applications")).await.ok();
    let application = &listed.items()[0];
    assert_eq!((&application["id"], &application["name"]), (&json!(first), &json!("User lin")));
    assert!(application["createdDate"].as_str().unwrap().parse::<i64>().is_ok());
    for (caller, status) in [(&ana, 403), (&lin, 403), (&kim, 403)] {
        caller.get(&format!("/v1/groups/{id}/applications")).await.fails(status, "administrator");
        decide(caller, &id, &first, "accept").await.fails(status, "administrator");
        decide(caller, &id, &first, "refuse").await.fails(status, "administrator");
    }
    decide(&mei, &closed, &first, "accept").await.fails(404, "applicationId");
    decide(&mei, &id, "nothing", "accept").await.fails(404, "applicationId");

    decide(&omar, &id, &first, "refuse").await.ok();
    for answer in ["accept", "refuse"] {
        decide(&mei, &id, &first, answer).await.fails(409, "refused");
    }
    assert_eq!(role(&lin, &id).await, Some(-1));
    let again = apply(&lin, &id).await;
    assert_ne!(again, first);
    decide(&omar, &id, &again, "accept").await.ok();
    decide(&omar, &id, &again, "accept").await.fails(409, "accepted");
    assert_eq!(role(&lin, &id).await, Some(0));

    members(&mei, reqwest::Method::POST, &id, &["kim"]).await.ok();
    assert_eq!(applicants(&mei, &id).await, [] as [&str; 0]);
    decide(&mei, &id, &second, "accept").await.fails(409, "accepted");
    members(&kim, reqwest::Method::DELETE, &id, &["kim"]).await.ok();
    apply(&kim, &id).await;
    let code = join_code(&mei, &id, false).await;
    join(&kim, &code).await.ok();
    assert_eq!(applicants(&mei, &id).await, [] as [&str; 0]);
    assert_eq!(app.count_rows("group_applications").await, 2, "one application for each person");
}

#[tokio::test]
async fn hidden_applicant_waits_until_unhidden() {
    let (app, acme, [mei, lin]) = TestApp::start_with_people(["mei", "lin"]).await;
    let id = group_of(&mei, json!({"name": "Harbour", "isPublic": true})).await;
    let application = apply(&lin, &id).await;
    app.sync(&acme.caller, "users", &json!([{"userId": "lin", "isDeleted": true}])).await;
    assert_eq!(applicants(&mei, &id).await, [] as [&str; 0]);
    decide(&mei, &id, &application, "accept").await.fails(404, "applicationId");
    app.sync(&acme.caller, "users", &json!([{"userId": "lin", "isDeleted": false}])).await;
    mei.put(&format!("/v1/groups/{id}"), &json!({"isPublic": false})).await.ok();
    decide(&mei, &id, &application, "accept").await.ok();
    assert_eq!(member_ids(&mei, &id).await, ["mei", "lin"]);
}

#[tokio::test]
async fn group_without_active_administrators_takes_no_applications() {
    let (app, acme, [mei, lin]) = TestApp::start_with_people(["mei", "lin"]).await;
    let id = group_of(&mei, json!({"name": "Harbour", "isPublic": true})).await;
    for (gone, back) in [
        (json!({"status": 0}), json!({"status": 1})),
        (json!({"isDeleted": true}), json!({"isDeleted": false})),
    ] {
        let row = |change: &serde_json::Value| {
            let mut row = change.clone();
            row["userId"] = json!("mei");
            json!([row])
        };
        app.sync(&acme.caller, "users", &row(&gone)).await;
        lin.post_empty(&format!("/v1/groups/{id}/apply")).await.fails(409, "nobody");
        app.sync(&acme.caller, "users", &row(&back)).await;
    }
    apply(&lin, &id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_decisions_decide_once() {
    let (_app, _, [mei, omar, lin]) = TestApp::start_with_people(["mei", "omar", "lin"]).await;
    let id = group_of(&mei, json!({"name": "Harbour", "isPublic": true, "users": ["omar"]})).await;
    set_role(&mei, &id, "omar", 1).await.ok();
    for round in 0..20 {
        let application = apply(&lin, &id).await;
        let other = if round % 2 == 0 { "accept" } else { "refuse" };
        let (one, two) =
            tokio::join!(decide(&mei, &id, &application, "accept"), decide(&omar, &id, &application, other));
        let statuses = HashSet::from([one.status, two.status]);
        assert_eq!(statuses, HashSet::from([200, 409]));
        let is_in = round % 2 == 0 || one.status == 200;
        assert_eq!(role(&lin, &id).await, Some(if is_in { 0 } else { -1 }), "round {round}");
        if is_in {
            members(&lin, reqwest::Method::DELETE, &id, &["lin"]).await.ok();
        }
    }
    let path = format!("/v1/groups/{id}/apply");
    let (one, two) = tokio::join!(lin.post_empty(&path), lin.post_empty(&path));
    assert_eq!(HashSet::from([one.status, two.status]), HashSet::from([200, 409]));
}
