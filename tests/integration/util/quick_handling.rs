use serde_json::{Value, json};
use std::process::Command;
use trawl::{
    config::Config,
    store::{FromRow, Store},
};

use super::{
    answer::Answer,
    app::{Application, TestApp},
    callback::ReceivedCall,
    caller::Caller,
    database::read,
    items::{todo, user},
};
use tokio::task::JoinHandle;

/// Task states (book: reference/tasks.md).
pub(crate) const TO_DO: i64 = 0;
pub(crate) const DONE: i64 = 1;
pub(crate) const TO_READ: i64 = 2;
pub(crate) const READ: i64 = 4;

pub(crate) fn to_read(id: &str, callback: &str) -> Value {
    let mut task = todo(id, "approve the budget", "mei");
    task["status"] = json!(TO_READ);
    task["quickDeal"] = json!(false);
    task["quickDealCallback"] = json!(callback);
    task
}

#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub(crate) struct Entry {
    pub(crate) handler_login_id: String,
    pub(crate) handled_at: i64,
    pub(crate) outcome: String,
    pub(crate) message: Option<String>,
    pub(crate) took_ms: Option<i64>,
}

pub(crate) async fn log(store: &Store, task_id: &str) -> Vec<Entry> {
    let text = "SELECT handler_login_id, handled_at, outcome, message, took_ms FROM quick_deals WHERE task_id = ? \
         ORDER BY sequence";
    read(store, text, vec![task_id.into()]).await
}

pub(crate) async fn status(store: &Store, task_id: &str) -> i64 {
    let rows: Vec<(i64,)> = read(store, "SELECT status FROM tasks WHERE id = ?", vec![task_id.into()]).await;
    rows[0].0
}

/// Checks the call like the book's example.
pub(crate) fn is_from_trawl(call: &ReceivedCall, callback_key: &str) -> bool {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/book/src/reference/tasks.md"));
    let example = page.split_once("```python\n").unwrap().1.split_once("```").unwrap().0;
    let code = format!(
        "{example}\nimport sys\nprint(is_from_trawl(sys.argv[1], bytes.fromhex(sys.argv[2]), sys.argv[3]))"
    );
    let body = hex::encode(&call.body);
    let signature = call.header("x-trawl-signature");
    let output =
        Command::new("python3").args(["-c", &code, signature, &body, callback_key]).output().unwrap();
    match String::from_utf8(output.stdout).unwrap().trim() {
        "True" => true,
        "False" => false,
        other => panic!("{other}: {}", String::from_utf8_lossy(&output.stderr)),
    }
}

pub(crate) struct Desk {
    pub(crate) app: TestApp,
    pub(crate) acme: Application,
    pub(crate) mei: Caller,
}

impl Desk {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub(crate) async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let (app, acme) = TestApp::start_acme_with(|config| {
            // A held callback outlasts a slow machine.
            config.tasks.callback_timeout_ms = 60_000;
            change(config);
        })
        .await;
        app.sync(&acme.caller, "users", &json!([user("mei", ""), user("omar", ""), user("lin", "")])).await;
        let mei = app.user(&acme, "mei").await;
        Self { app, acme, mei }
    }

    pub(crate) async fn create(&self, task: &Value) -> String {
        let created = self.acme.caller.post("/api/todo/create", task).await.ok();
        self.app.wait_for_index().await;
        created.data()["id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn press(&self, task_id: &str) -> Answer {
        press(&self.mei, task_id).await
    }

    /// Presses in a task of its own.
    pub(crate) fn pressing(&self, task_id: &str) -> JoinHandle<Answer> {
        let (mei, id) = (self.mei.clone(), task_id.to_owned());
        tokio::spawn(async move { press(&mei, &id).await })
    }

    pub(crate) async fn log(&self, task_id: &str) -> Vec<Entry> {
        log(&self.app.app.store, task_id).await
    }

    pub(crate) async fn status(&self, task_id: &str) -> i64 {
        status(&self.app.app.store, task_id).await
    }

    /// Only the module of that state finds the task.
    pub(crate) async fn assert_state(&self, task_id: &str, expected: i64) {
        self.app.wait_for_index().await;
        assert_eq!(self.status(task_id).await, expected);
        let module = if [TO_DO, TO_READ].contains(&expected) { "todo" } else { "done" };
        for of in ["todo", "done"] {
            let is_found = self.mei.find(of, "approve").await.contains(&task_id.to_owned());
            assert_eq!(is_found, of == module, "{of}");
        }
    }
}

pub(crate) async fn press(caller: &Caller, task_id: &str) -> Answer {
    caller.post_empty(&format!("/api/todo/quick_deal?todoTaskId={task_id}")).await
}

pub(crate) async fn set_status(app: &TestApp, task_id: &str, status: i64) {
    let text = "UPDATE tasks SET status = ?, paused_from = 2 WHERE id = ?";
    app.execute_with(text, vec![status.into(), task_id.into()]).await;
}
