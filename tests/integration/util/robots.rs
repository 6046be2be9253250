use serde_json::{Value, json};
use trawl::config::Config;

use super::{
    answer::Answer,
    app::{Application, TestApp},
    caller::{Caller, send},
    groups::{group_of, people, set_role},
};

pub(crate) struct RobotGroup {
    pub(crate) app: TestApp,
    pub(crate) acme: Application,
    pub(crate) group: String,
    pub(crate) owner: Caller,
    pub(crate) administrator: Caller,
    pub(crate) member: Caller,
    pub(crate) stranger: Caller,
    pub(crate) robot: Robot,
}

#[derive(Clone)]
pub(crate) struct Robot {
    pub(crate) id: String,
    pub(crate) token: String,
}

impl Robot {
    pub(crate) fn of(answer: &Answer) -> Self {
        let text = |field: &str| answer.data()[field].as_str().unwrap().to_owned();
        let robot = Self { id: text("robotId"), token: text("token") };
        assert!(text("url").ends_with(&format!("/notificationapi/hook/send?token={}", robot.token)));
        assert_eq!(answer.data().as_object().unwrap().len(), 3, "{}", answer.text);
        robot
    }

    pub(crate) async fn make(caller: &Caller, group: &str, name: &str) -> Self {
        Self::of(&caller.post(&format!("/v1/groups/{group}/robots"), &json!({"name": name})).await.ok())
    }

    pub(crate) async fn send(&self, app: &TestApp, message: &Value) -> Answer {
        self.send_to(&app.http, &app.base, message).await
    }

    pub(crate) async fn send_to(&self, http: &reqwest::Client, base: &str, message: &Value) -> Answer {
        let request = http.post(format!("{base}/notificationapi/hook/send"));
        send(request.query(&[("token", &self.token)]).json(message)).await
    }

    pub(crate) async fn say(&self, app: &TestApp, said: &str) -> Answer {
        self.send(app, &text(said)).await
    }
}

pub(crate) fn text(text: &str) -> Value {
    json!({"msgType": "text", "content": {"text": text}})
}

impl RobotGroup {
    /// Rate limits are above what a test sends.
    pub(crate) async fn start() -> Self {
        Self::start_with(|config| config.limits.robot_messages_per_minute = 100_000).await
    }

    pub(crate) async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let (app, acme) = TestApp::start_acme_with(change).await;
        let [owner, administrator, member, stranger] =
            people(&app, &acme, ["mei", "omar", "lin", "eve"]).await;
        let form = json!({"name": "Harbour watch", "type": 2, "users": ["omar", "lin"]});
        let group = group_of(&owner, form).await;
        set_role(&owner, &group, "omar", 1).await.ok();
        Self {
            robot: Robot::make(&owner, &group, "Tide gauge").await,
            administrator,
            member,
            stranger,
            app,
            acme,
            group,
            owner,
        }
    }

    pub(crate) async fn change(&self, form: Value) {
        self.owner.put(&format!("/v1/groups/{}", self.group), &form).await.ok();
    }

    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/v1/groups/{}/{rest}", self.group)
    }

    pub(crate) async fn robots(&self) -> Vec<String> {
        let listed = self.owner.get(&self.path("robots")).await.ok();
        listed.items().iter().map(|robot| robot["name"].as_str().unwrap().to_owned()).collect()
    }
}
