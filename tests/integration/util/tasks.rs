use serde_json::{Value, json};

use super::{
    answer::Answer,
    app::{Application, TestApp},
    caller::Caller,
    items::todo,
};

pub(crate) struct Office {
    pub(crate) app: TestApp,
    pub(crate) acme: Application,
}

impl Office {
    pub(crate) async fn open() -> Self {
        let (app, acme, _) = TestApp::start_with_people(["mei", "omar", "lin"]).await;
        Self { app, acme }
    }

    pub(crate) async fn task(&self, app_task_id: &str, status: i64) -> String {
        let mut task = todo(app_task_id, "approve the budget", "mei");
        task["creatorId"] = json!("omar");
        task["status"] = json!(if status == 3 { 0 } else { status });
        let form = if [0, 2, 3].contains(&status) { "todo" } else { "done" };
        let id = created(&self.acme.caller.post(&format!("/api/{form}/create"), &task).await.ok());
        if status == 3 {
            pause(&self.acme.caller, &id).await.ok();
        }
        id
    }

    pub(crate) async fn person(&self, login: &str) -> Caller {
        self.app.user(&self.acme, login).await
    }

    pub(crate) async fn found_by(&self, login: &str) -> (Vec<String>, Vec<String>) {
        self.app.wait_for_index().await;
        let person = self.person(login).await;
        (person.find("todo", "budget").await, person.find("done", "budget").await)
    }
}

pub(crate) fn created(answer: &Answer) -> String {
    answer.data()["id"].as_str().unwrap().to_owned()
}

pub(crate) async fn complete(caller: &Caller, id: &str, body: Value) -> Answer {
    let mut body = body;
    body["todoTaskId"] = json!(id);
    caller.post("/api/todo/complete", &body).await
}

pub(crate) async fn pause(caller: &Caller, id: &str) -> Answer {
    caller.post_empty(&format!("/api/todo/parse?todoTaskId={id}")).await
}

pub(crate) async fn resume(caller: &Caller, id: &str) -> Answer {
    caller.post_empty(&format!("/api/todo/resume?todoTaskId={id}")).await
}

pub(crate) async fn remove(caller: &Caller, id: &str) -> Answer {
    caller.post_empty(&format!("/api/done/remove?todoTaskId={id}")).await
}

pub(crate) async fn show(caller: &Caller, module: &str, id: &str) -> Answer {
    caller.get(&format!("/api/{module}/{id}")).await
}
