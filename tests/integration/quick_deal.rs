//! `POST /api/todo/quick_deal` (decisions 8.3, 8.4, 7.4): what a callback does, and what becomes of the task.

mod callback;
mod hostile;
mod killed;
mod meanwhile;

use std::process::Command;

use sea_orm::{ConnectionTrait, FromQueryResult};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use trawl::{
    auth::applications::find_callback_key,
    config::Config,
    store::{Store, now_millis, sql},
};

use self::callback::{Callback, Mood, Told};
use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
    caller::Caller,
    items::{todo, user},
};

/// States of tasks (decisions 8.1).
const TO_DO: i64 = 0;
const DONE: i64 = 1;
const TO_READ: i64 = 2;
const READ: i64 = 4;

/// A to-read item that supports quick handling.
fn to_read(id: &str, callback: &str) -> Value {
    let mut task = todo(id, "approve the budget", "mei");
    task["status"] = json!(TO_READ);
    task["quickDeal"] = json!(false);
    task["quickDealCallback"] = json!(callback);
    task
}

/// One row of the log.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
struct Entry {
    handler_login_id: String,
    handled_at: i64,
    outcome: String,
    message: Option<String>,
    took_ms: Option<i64>,
}

async fn log(store: &Store, task_id: &str) -> Vec<Entry> {
    Entry::find_by_statement(sql(
        "SELECT handler_login_id, handled_at, outcome, message, took_ms FROM quick_deals WHERE task_id = ? \
         ORDER BY sequence",
        [task_id.into()],
    ))
    .all(store.reader())
    .await
    .unwrap()
}

async fn status(store: &Store, task_id: &str) -> i64 {
    let statement = sql("SELECT status FROM tasks WHERE id = ?", [task_id.into()]);
    store.reader().query_one_raw(statement).await.unwrap().unwrap().try_get("", "status").unwrap()
}

/// Whether a receiver takes the call for trawl's, who does what the README says, at this time of his.
fn is_from_trawl(told: &Told, callback_key: &str) -> bool {
    let readme = include_str!("../../README.md");
    let example = readme.split_once("```python\n").unwrap().1.split_once("```").unwrap().0;
    let code = format!(
        "{example}\nimport sys\nprint(is_from_trawl(sys.argv[1], bytes.fromhex(sys.argv[2]), sys.argv[3]))"
    );
    let body = hex::encode(&told.body);
    let signature = told.header("x-trawl-signature");
    let output =
        Command::new("python3").args(["-c", &code, signature, &body, callback_key]).output().unwrap();
    match String::from_utf8(output.stdout).unwrap().trim() {
        "True" => true,
        "False" => false,
        other => panic!("{other}: {}", String::from_utf8_lossy(&output.stderr)),
    }
}

/// A tenant whose person `mei` has tasks.
struct Desk {
    app: TestApp,
    acme: Application,
    mei: Caller,
}

impl Desk {
    async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let app = TestApp::start_with(change).await;
        let acme = app.tenant("acme").await;
        app.sync(&acme.caller, "users", &json!([user("mei", ""), user("omar", ""), user("lin", "")])).await;
        let mei = app.user(&acme, "mei").await;
        Self { app, acme, mei }
    }

    /// Creates a task; answers its id.
    async fn create(&self, task: &Value) -> String {
        let created = self.acme.caller.post("/api/todo/create", task).await.ok();
        self.app.settled().await;
        created.data()["id"].as_str().unwrap().to_owned()
    }

    async fn press(&self, task_id: &str) -> Answer {
        press(&self.mei, task_id).await
    }

    async fn log(&self, task_id: &str) -> Vec<Entry> {
        log(&self.app.app.store, task_id).await
    }

    async fn status(&self, task_id: &str) -> i64 {
        status(&self.app.app.store, task_id).await
    }

    /// The task is in this state, and found in the module where it belongs, and nowhere else.
    async fn stands(&self, task_id: &str, expected: i64) {
        self.app.settled().await;
        assert_eq!(self.status(task_id).await, expected);
        let module = if [TO_DO, TO_READ].contains(&expected) { "todo" } else { "done" };
        for of in ["todo", "done"] {
            let is_found = self.mei.find(of, "approve").await.contains(&task_id.to_owned());
            assert_eq!(is_found, of == module, "{of}");
        }
    }
}

async fn press(caller: &Caller, task_id: &str) -> Answer {
    caller.post_empty(&format!("/api/todo/quick_deal?todoTaskId={task_id}")).await
}

#[tokio::test]
async fn a_callback_that_answers_2xx_makes_it_read_or_done_and_nothing_is_called_after_that() {
    let desk = Desk::start().await;
    let store = &desk.app.app.store;
    let key = find_callback_key(store.reader(), &desk.app.app.keys, &desk.acme.client_id).await.unwrap();
    let key = key.unwrap().expose_secret().to_owned();
    for (number, (from, to, answer)) in [(TO_READ, READ, 200), (TO_DO, DONE, 204)].into_iter().enumerate() {
        let callback = Callback::start(Mood::Status(answer)).await;
        let mut task = to_read(&format!("t{number}"), &callback.url);
        task["status"] = json!(from);
        task["appData"] = json!("{\"reason\": \"旅行\"}");
        let id = desk.create(&task).await;
        desk.stands(&id, from).await;
        let before = now_millis();
        assert_eq!(desk.press(&id).await.ok().data(), &json!(id));
        desk.stands(&id, to).await;

        let [told] = &callback.told()[..] else { panic!("{:?}", callback.told()) };
        assert!(told.head.starts_with("post /handled http/1.1"), "{}", told.head);
        assert_eq!(told.header("content-type"), "application/json;charset=utf-8");
        let info = told.json();
        for (field, value) in task.as_object().unwrap() {
            assert_eq!(&info[field], value, "{field}");
        }
        assert_eq!((&info["id"], &info["handlerLoginId"]), (&json!(id), &json!("mei")));
        let handled_at = info["handledAt"].as_i64().unwrap();
        assert!((before..=now_millis()).contains(&handled_at));
        assert_eq!(told.header("x-trawl-delivery"), format!("{id}-{handled_at}"));
        assert!(is_from_trawl(told, &key));
        assert!(!is_from_trawl(told, "another key"));
        let altered = Told { body: [&told.body[..], b" "].concat(), ..told.clone() };
        assert!(!is_from_trawl(&altered, &key));

        let [handled] = &desk.log(&id).await[..] else { panic!("not one row") };
        assert_eq!((handled.handler_login_id.as_str(), handled.handled_at), ("mei", handled_at));
        assert_eq!((handled.outcome.as_str(), &handled.message), ("succeeded", &None));
        assert!(handled.took_ms.is_some_and(|took_ms| took_ms >= 0));

        let name = if to == READ { "this task is read" } else { "this task is done" };
        desk.press(&id).await.fails(409, name);
        assert_eq!((callback.told().len(), desk.log(&id).await.len()), (1, 1));
    }
}

#[tokio::test]
async fn only_the_assignee_handles_and_only_what_supports_it() {
    let desk = Desk::start().await;
    let callback = Callback::start(Mood::Status(200)).await;
    let mut task = to_read("t1", &callback.url);
    task["creatorId"] = json!("omar");
    let id = desk.create(&task).await;
    let (omar, lin) = (desk.app.user(&desk.acme, "omar").await, desk.app.user(&desk.acme, "lin").await);
    press(&omar, &id).await.fails(403, "only the assignee");
    press(&lin, &id).await.fails(404, "there is no such task");
    press(&desk.acme.caller, &id).await.fails(403, "needs a user token");
    desk.press("nothing").await.fails(404, "there is no such task");
    desk.press("").await.fails(400, "todoTaskId");
    desk.mei.post_empty("/api/todo/quick_deal").await.fails(400, "todoTaskId");
    let other = desk.app.tenant("other").await;
    desk.app.sync(&other.caller, "users", &json!([user("mei", "")])).await;
    press(&desk.app.user(&other, "mei").await, &id).await.fails(404, "there is no such task");

    for (number, (field, value, named)) in [
        ("quickDeal", json!(true), "quickDeal: "),
        ("quickDeal", Value::Null, "quickDeal: "),
        ("quickDealCallback", Value::Null, "quickDealCallback: this task has none"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut task = to_read(&format!("unsupported{number}"), &callback.url);
        task[field] = value;
        let id = desk.create(&task).await;
        desk.press(&id).await.fails(409, named);
        desk.stands(&id, TO_READ).await;
        assert_eq!(desk.log(&id).await, []);
    }
    for (state, answer, named) in [
        (READ, 409, "this task is read"),
        (DONE, 409, "this task is done"),
        (5, 409, "this task is withdrawn"),
        (3, 404, "there is no such task"),
        (6, 404, "there is no such task"),
    ] {
        set_status(&desk.app, &id, state).await;
        desk.press(&id).await.fails(answer, named);
    }
    assert_eq!((callback.connections(), desk.log(&id).await.len()), (0, 0));
}

/// As the other operations on tasks would leave it.
async fn set_status(app: &TestApp, task_id: &str, status: i64) {
    let task_id = task_id.to_owned();
    let job = app.app.store.write(move |transaction| {
        Box::pin(async move {
            let text = "UPDATE tasks SET status = ?, paused_from = 2 WHERE id = ?";
            transaction.execute_raw(sql(text, [status.into(), task_id.into()])).await?;
            Ok(())
        })
    });
    job.await.unwrap();
}

#[tokio::test]
async fn an_application_that_is_out_of_use_is_not_told() {
    let desk = Desk::start().await;
    let callback = Callback::start(Mood::Status(200)).await;
    let id = desk.create(&to_read("t1", &callback.url)).await;
    let operator = desk.app.operator().await.caller.on("acme");
    // Mei signs in by another one.
    let people = desk.app.tenant("acme").await;
    let mei = desk.app.user(&people, "mei").await;
    let path = format!("/admin/v1/applications/{}", desk.acme.client_id);
    operator.put(&path, &json!({"disabled": true})).await.ok();
    press(&mei, &id).await.fails(409, "out of use");
    operator.delete(&path).await.ok();
    press(&mei, &id).await.fails(409, "out of use");
    assert_eq!((callback.connections(), desk.log(&id).await.len()), (0, 0));
}

#[tokio::test]
async fn what_a_task_and_its_moves_require_is_described() {
    let app = TestApp::start().await;
    let description = app.caller("").get("/openapi.json").await.body;
    for path in ["todo/parse", "todo/resume", "done/remove", "todo/quick_deal"] {
        let parameter = &description["paths"][format!("/api/{path}")]["post"]["parameters"][0];
        assert_eq!(
            (&parameter["name"], &parameter["required"]),
            (&json!("todoTaskId"), &json!(true)),
            "{path}"
        );
    }
    let required = &description["components"]["schemas"]["Task"]["required"];
    assert_eq!(required, &json!(["appTaskId", "title", "assigneeLoginId"]));
}
