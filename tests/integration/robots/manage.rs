//! Group robots (book: reference/groups.md).

use serde_json::{Value, json};

use crate::util::{
    caller::{Caller, send},
    database::write,
    groups::{group, people},
    items::user,
    postgres::{holds, open_store},
    program::{Server, create_with_scopes},
    robots::{Robot, RobotGroup, text},
};

#[tokio::test]
async fn administrators_create_robots_and_members_see_no_tokens() {
    let here = RobotGroup::start().await;
    let second = Robot::make(&here.administrator, &here.group, " Weather 气象 ").await;
    assert_ne!(second.token, here.robot.token);
    for caller in [&here.owner, &here.administrator, &here.member] {
        let listed = caller.get(&here.path("robots")).await.ok();
        assert_eq!(listed.total(), 2);
        let first = json!({
            "robotId": here.robot.id, "name": "Tide gauge", "createdDate": listed.items()[0]["createdDate"],
        });
        assert_eq!(listed.items()[0], first);
        assert_eq!(listed.items()[1]["name"], "Weather 气象");
        for token in [&here.robot.token, &second.token] {
            assert!(!listed.text.contains(token.as_str()), "{}", listed.text);
        }
    }
    for wrong in [json!({}), json!({"name": " "}), json!({"name": "a\nb"}), json!({"name": "x".repeat(129)})]
    {
        here.owner.post(&here.path("robots"), &wrong).await.fails(400, "name");
    }
}

#[tokio::test]
async fn non_administrators_cannot_change_robots() {
    let here = RobotGroup::start().await;
    let robot = here.path(&format!("robots/{}", here.robot.id));
    let calls = async |caller: &Caller| {
        [
            caller.post(&here.path("robots"), &json!({"name": "Mine"})).await,
            caller.post_empty(&format!("{robot}/token")).await,
            caller.delete(&robot).await,
        ]
    };
    for refused in calls(&here.member).await {
        refused.fails(403, "administrator");
    }
    for refused in calls(&here.stranger).await {
        refused.fails(404, "groupId");
    }
    here.stranger.get(&here.path("robots")).await.fails(404, "groupId");
    here.change(json!({"isPublic": true})).await;
    for refused in calls(&here.stranger).await {
        refused.fails(403, "administrator");
    }
    here.stranger.get(&here.path("robots")).await.fails(403, "member");
    here.stranger.get(&here.path("messages")).await.fails(403, "member");
    assert_eq!(here.robots().await, ["Tide gauge"]);
    here.robot.say(&here.app, "still there").await.ok();
}

#[tokio::test]
async fn robot_exists_in_its_own_group_only() {
    let here = RobotGroup::start().await;
    let other = group(&here.stranger, "Lighthouse", &[]).await;
    let path = format!("/v1/groups/{other}/robots/{}", here.robot.id);
    here.stranger.post_empty(&format!("{path}/token")).await.fails(404, "robotId");
    here.stranger.delete(&path).await.fails(404, "robotId");
    here.robot.say(&here.app, "still there").await.ok();

    let umbrella = here.app.tenant("umbrella").await;
    let [namesake] = people(&here.app, &umbrella, ["mei"]).await;
    group(&namesake, "Theirs", &[]).await;
    namesake.post_empty(&here.path(&format!("robots/{}/token", here.robot.id))).await.fails(404, "groupId");
    namesake.delete(&here.path(&format!("robots/{}", here.robot.id))).await.fails(404, "groupId");
    namesake.get(&here.path("messages")).await.fails(404, "groupId");
    here.robot.say(&here.app, "still there").await.ok();
}

#[tokio::test]
async fn new_token_revokes_the_previous_one_at_once() {
    let here = RobotGroup::start().await;
    here.robot.say(&here.app, "before").await.ok();
    let token = here.path(&format!("robots/{}/token", here.robot.id));
    let renewed = Robot::of(&here.administrator.post_empty(&token).await.ok());
    assert_eq!(renewed.id, here.robot.id);
    assert_ne!(renewed.token, here.robot.token);
    here.robot.say(&here.app, "dead").await.fails(401, "token");
    let said = renewed.say(&here.app, "after").await.ok();
    assert_eq!(
        (&said.data()["robotId"], &said.data()["robotName"]),
        (&json!(renewed.id), &json!("Tide gauge"))
    );
    here.owner.post_empty(&here.path("robots/nothing/token")).await.fails(404, "robotId");
    here.owner.post_empty(&here.path("robots/%ff/token")).await.fails(400, "path: must be UTF-8");
}

#[tokio::test]
async fn removed_robot_is_refused_and_its_messages_stay() {
    let here = RobotGroup::start().await;
    here.robot.say(&here.app, "high tide").await.ok();
    let path = here.path(&format!("robots/{}", here.robot.id));
    here.owner.delete(&path).await.ok();
    here.owner.delete(&path).await.fails(404, "robotId");
    here.robot.say(&here.app, "dead").await.fails(401, "token");
    assert_eq!(here.robots().await, [] as [&str; 0]);
    let messages = here.member.get(&here.path("messages")).await.ok();
    assert_eq!((messages.items().len(), &messages.items()[0]["robotName"]), (1, &json!("Tide gauge")));
    here.app.wait_for_index().await;
    assert_eq!(here.member.find("message", "tide").await.len(), 1);
}

#[tokio::test]
async fn robots_of_a_group_are_limited() {
    let here = RobotGroup::start().await;
    for number in 1..20 {
        Robot::make(&here.owner, &here.group, &format!("Robot {number}")).await;
    }
    let one_more = json!({"name": "One more"});
    here.owner.post(&here.path("robots"), &one_more).await.fails(409, "20 robots");
    here.owner.delete(&here.path(&format!("robots/{}", here.robot.id))).await.ok();
    here.owner.post(&here.path("robots"), &one_more).await.ok();
}

#[tokio::test]
async fn robot_actions_are_audited_without_tokens() {
    let here = RobotGroup::start().await;
    let path = here.path(&format!("robots/{}", here.robot.id));
    let renewed = Robot::of(&here.owner.post_empty(&format!("{path}/token")).await.ok());
    here.owner.delete(&path).await.ok();
    let operator = here.app.operator().await.caller.on("acme");
    let events = operator.get("/admin/v1/audit?objectKind=robot").await.ok();
    let robots: Vec<(&str, &str)> = events
        .items()
        .iter()
        .filter(|event| event["objectKind"] == "robot")
        .map(|event| (event["action"].as_str().unwrap(), event["userId"].as_str().unwrap()))
        .collect();
    assert_eq!(robots, [("delete", "mei"), ("rotate", "mei"), ("create", "mei")]);
    for token in [&here.robot.token, &renewed.token] {
        assert!(!events.text.contains(token.as_str()), "{}", events.text);
    }
}

/// Book: explanation/security.md.
#[tokio::test]
async fn token_is_stored_as_a_digest_only() {
    let here = RobotGroup::start().await;
    here.robot.say(&here.app, "high tide").await.ok();
    let (digest,): (Vec<u8>,) = here.app.row("SELECT token_digest FROM robots", Vec::new()).await;
    let expected = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, here.robot.token.as_bytes());
    assert_eq!(digest, expected.as_ref());
    assert_eq!(here.robot.token.len(), 43);
    assert!(!holds(here.app.data(), &here.robot.token).await);
}

/// The log is at trace level.
#[tokio::test]
async fn token_is_never_logged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    std::fs::write(path.join("trawl.toml"), "[log]\nfilter = \"trace\"\n").unwrap();
    let scopes = ["act-as-user", "collab", "directory:write", "contents:read"];
    let application = create_with_scopes(path, "acme", &scopes).await;
    let store = open_store(path).await;
    let statements = [
        "INSERT INTO groups (id, tenant_id, name, type, is_public, is_third, created_by, created_at, updated_at) \
         SELECT 'g', id, 'Watch', 1, FALSE, FALSE, 'mei', 1, 1 FROM tenants WHERE code = 'acme'",
        "INSERT INTO group_tenants (group_id, tenant_id) SELECT id, tenant_id FROM groups",
        "INSERT INTO group_members (group_id, tenant_id, user_id, role, joined_at) \
         SELECT id, tenant_id, 'mei', 2, 1 FROM groups",
    ];
    write(&store, statements.map(|text| (text.to_owned(), Vec::new())).into(), Vec::new()).await;
    store.close().await.unwrap();

    let server = Server::start(path).await;
    let caller = server.caller(&application).await;
    assert_eq!(caller.put("/v1/users/sync", &json!([user("mei", "")])).await.ok().items().len(), 0);
    let mei = server.user(&application, "mei").await;
    let robot = Robot::make(&mei, "g", "Tide gauge").await;
    let hook = format!("{}/notificationapi/hook/send?token={}", mei.base, robot.token);
    let post = async |url: &str, body: &Value| send(mei.http.post(url).json(body)).await;
    post(&hook, &text("high tide")).await.ok();
    post(&hook, &json!({"msgType": "video"})).await.fails(400, "msgType");
    post(&format!("{hook}&token={}", robot.token), &text("x")).await.fails(400, "token");
    assert_eq!(send(mei.http.get(&hook)).await.status, 405);
    mei.delete(&format!("/v1/groups/g/robots/{}", robot.id)).await.ok();
    post(&hook, &text("dead")).await.fails(401, "token");
    let log = server.log();
    assert!(log.contains("/notificationapi/hook/send\" status=401"), "the log lacks the request: {log}");
    assert!(!log.contains(&robot.token), "the token is logged");
}
