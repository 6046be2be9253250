//! Group robots: who makes them, what becomes of their tokens (specification, "Group robot webhook"; decisions 9.5).

mod cards;
mod hook;
mod messages;

use reqwest::Method;
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};
use trawl::{config::Config, store::sql};

use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
    caller::{Caller, send},
    groups::{group, group_of, members, set_role},
    items::user,
    program::{Server, create_with_scopes},
};

/// A group with people in every role, and a robot.
struct Landscape {
    app: TestApp,
    acme: Application,
    group: String,
    owner: Caller,
    administrator: Caller,
    member: Caller,
    /// Is not in it.
    stranger: Caller,
    robot: Robot,
}

/// A robot as it was made.
#[derive(Clone)]
struct Robot {
    id: String,
    token: String,
}

impl Robot {
    fn of(answer: &Answer) -> Self {
        let text = |field: &str| answer.data()[field].as_str().unwrap().to_owned();
        let robot = Self { id: text("robotId"), token: text("token") };
        assert!(text("url").ends_with(&format!("/notificationapi/hook/send?token={}", robot.token)));
        assert_eq!(answer.data().as_object().unwrap().len(), 3, "{}", answer.text);
        robot
    }

    async fn make(caller: &Caller, group: &str, name: &str) -> Self {
        Self::of(&caller.post(&format!("/v1/groups/{group}/robots"), &json!({"name": name})).await.ok())
    }

    /// Sends a message as this robot.
    async fn send(&self, app: &TestApp, message: &Value) -> Answer {
        let request = app.http.post(format!("{}/notificationapi/hook/send", app.base));
        send(request.query(&[("token", &self.token)]).json(message)).await
    }

    async fn say(&self, app: &TestApp, said: &str) -> Answer {
        self.send(app, &text(said)).await
    }
}

fn text(text: &str) -> Value {
    json!({"msgType": "text", "content": {"text": text}})
}

impl Landscape {
    /// Where a robot may say as much as a test has to say.
    async fn start() -> Self {
        Self::start_with(|config| config.limits.robot_messages_per_minute = 100_000).await
    }

    async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let app = TestApp::start_with(change).await;
        let acme = app.tenant("acme").await;
        app.sync(&acme.caller, "users", &json!(["mei", "omar", "lin", "eve"].map(|id| user(id, "")))).await;
        let owner = app.user(&acme, "mei").await;
        let form = json!({"name": "Harbour watch", "type": 2, "users": ["omar", "lin"]});
        let group = group_of(&owner, form).await;
        set_role(&owner, &group, "omar", 1).await.ok();
        Self {
            robot: Robot::make(&owner, &group, "Tide gauge").await,
            administrator: app.user(&acme, "omar").await,
            member: app.user(&acme, "lin").await,
            stranger: app.user(&acme, "eve").await,
            app,
            acme,
            group,
            owner,
        }
    }

    /// Changes the group, as its owner.
    async fn change(&self, form: Value) {
        self.owner.put(&format!("/v1/groups/{}", self.group), &form).await.ok();
    }

    fn path(&self, rest: &str) -> String {
        format!("/v1/groups/{}/{rest}", self.group)
    }

    /// The robots of the group by their names, as its owner sees them.
    async fn robots(&self) -> Vec<String> {
        let listed = self.owner.get(&self.path("robots")).await.ok();
        listed.items().iter().map(|robot| robot["name"].as_str().unwrap().to_owned()).collect()
    }
}

#[tokio::test]
async fn administrators_make_robots_and_members_see_them_without_their_tokens() {
    let here = Landscape::start().await;
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
async fn who_is_no_administrator_changes_no_robot() {
    let here = Landscape::start().await;
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
    // A public group is seen by those who are not in it; what is said there is not.
    here.change(json!({"isPublic": true})).await;
    for refused in calls(&here.stranger).await {
        refused.fails(403, "administrator");
    }
    here.stranger.get(&here.path("robots")).await.fails(403, "member");
    here.stranger.get(&here.path("messages")).await.fails(403, "member");
    // Nothing of that has changed anything.
    assert_eq!(here.robots().await, ["Tide gauge"]);
    here.robot.say(&here.app, "still there").await.ok();
}

#[tokio::test]
async fn a_robot_is_found_in_its_own_group_only() {
    let here = Landscape::start().await;
    let other = group(&here.stranger, "Lighthouse", &[]).await;
    let path = format!("/v1/groups/{other}/robots/{}", here.robot.id);
    here.stranger.post_empty(&format!("{path}/token")).await.fails(404, "robotId");
    here.stranger.delete(&path).await.fails(404, "robotId");
    here.robot.say(&here.app, "still there").await.ok();

    // Another tenant's administrator neither.
    let umbrella = here.app.tenant("umbrella").await;
    here.app.sync(&umbrella.caller, "users", &json!([user("mei", "")])).await;
    let namesake = here.app.user(&umbrella, "mei").await;
    group(&namesake, "Theirs", &[]).await;
    namesake.post_empty(&here.path(&format!("robots/{}/token", here.robot.id))).await.fails(404, "groupId");
    namesake.delete(&here.path(&format!("robots/{}", here.robot.id))).await.fails(404, "groupId");
    namesake.get(&here.path("messages")).await.fails(404, "groupId");
    here.robot.say(&here.app, "still there").await.ok();
}

#[tokio::test]
async fn another_token_ends_the_one_before_at_once() {
    let here = Landscape::start().await;
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
async fn a_removed_robot_is_silent_and_what_it_said_stays() {
    let here = Landscape::start().await;
    here.robot.say(&here.app, "high tide").await.ok();
    let path = here.path(&format!("robots/{}", here.robot.id));
    here.owner.delete(&path).await.ok();
    here.owner.delete(&path).await.fails(404, "robotId");
    here.robot.say(&here.app, "dead").await.fails(401, "token");
    assert_eq!(here.robots().await, [] as [&str; 0]);
    let messages = here.member.get(&here.path("messages")).await.ok();
    assert_eq!((messages.items().len(), &messages.items()[0]["robotName"]), (1, &json!("Tide gauge")));
    here.app.settled().await;
    assert_eq!(here.member.find("message", "tide").await.len(), 1);
}

#[tokio::test]
async fn a_group_has_so_many_robots() {
    let here = Landscape::start().await;
    for number in 1..20 {
        Robot::make(&here.owner, &here.group, &format!("Robot {number}")).await;
    }
    let one_more = json!({"name": "One more"});
    here.owner.post(&here.path("robots"), &one_more).await.fails(409, "20 robots");
    here.owner.delete(&here.path(&format!("robots/{}", here.robot.id))).await.ok();
    here.owner.post(&here.path("robots"), &one_more).await.ok();
}

#[tokio::test]
async fn who_is_no_member_any_more_makes_no_robots() {
    let here = Landscape::start().await;
    members(&here.owner, Method::DELETE, &here.group, &["omar"]).await.ok();
    here.administrator.post(&here.path("robots"), &json!({"name": "x"})).await.fails(404, "groupId");
    // What he made goes on: it is the group's.
    here.robot.say(&here.app, "still there").await.ok();
}

#[tokio::test]
async fn what_is_done_to_robots_is_kept_without_tokens() {
    let here = Landscape::start().await;
    let path = here.path(&format!("robots/{}", here.robot.id));
    let renewed = Robot::of(&here.owner.post_empty(&format!("{path}/token")).await.ok());
    here.owner.delete(&path).await.ok();
    let operator = here.app.operator().await.caller.on("acme");
    let deeds = operator.get("/admin/v1/audit?objectKind=robot").await.ok();
    let robots: Vec<(&str, &str)> = deeds
        .items()
        .iter()
        .filter(|deed| deed["objectKind"] == "robot")
        .map(|deed| (deed["action"].as_str().unwrap(), deed["userId"].as_str().unwrap()))
        .collect();
    assert_eq!(robots, [("delete", "mei"), ("rotate", "mei"), ("create", "mei")]);
    for token in [&here.robot.token, &renewed.token] {
        assert!(!deeds.text.contains(token.as_str()), "{}", deeds.text);
    }
}

/// Decisions 3.7: a token is nowhere but with whom it was given to.
#[tokio::test]
async fn a_token_is_kept_as_its_digest_alone() {
    let here = Landscape::start().await;
    here.robot.say(&here.app, "high tide").await.ok();
    let statement = sql("SELECT token_digest FROM robots", []);
    let row = here.app.app.store.reader().query_one_raw(statement).await.unwrap().unwrap();
    let digest: Vec<u8> = row.try_get("", "token_digest").unwrap();
    let expected = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, here.robot.token.as_bytes());
    assert_eq!(digest, expected.as_ref());
    // 256 bits.
    assert_eq!(here.robot.token.len(), 43);
    for file in ["trawl.db", "trawl.db-wal"] {
        let bytes = std::fs::read(here.app.data().join(file)).unwrap();
        let token = here.robot.token.as_bytes();
        assert!(!bytes.windows(token.len()).any(|window| window == token), "it stands in {file}");
    }
}

/// The program itself, whose log is as fine as it may be.
#[tokio::test]
async fn a_token_is_never_logged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    std::fs::write(path.join("trawl.toml"), "[log]\nfilter = \"trace\"\n").unwrap();
    let scopes = ["act-as-user", "collab", "directory:write", "contents:read"];
    let application = create_with_scopes(path, "acme", &scopes).await;
    let store = trawl::store::Store::open(path, 1).await.unwrap();
    let job = store.write(|transaction| {
        Box::pin(async move {
            for text in [
                "INSERT INTO groups (id, tenant_id, name, type, is_public, is_third, created_by, created_at, updated_at) \
                 SELECT 'g', id, 'Watch', 1, 0, 0, 'mei', 1, 1 FROM tenants WHERE code = 'acme'",
                "INSERT INTO group_tenants (group_id, tenant_id) SELECT id, tenant_id FROM groups",
                "INSERT INTO group_members (group_id, tenant_id, user_id, role, joined_at) \
                 SELECT id, tenant_id, 'mei', 2, 1 FROM groups",
            ] {
                transaction.execute_raw(sql(text, [])).await?;
            }
            Ok(())
        })
    });
    job.await.unwrap();
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
    assert!(log.contains("/notificationapi/hook/send\" status=401"), "the log says too little: {log}");
    assert!(!log.contains(&robot.token), "the token is logged");
}
