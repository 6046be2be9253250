//! Disconnects, lost rights and repeated calls during a commit.

use std::sync::Arc;

use futures::StreamExt;
use serde_json::json;
use tokio::{sync::Semaphore, task::JoinHandle};

use crate::util::{
    TIMEOUT,
    answer::Answer,
    app::{Application, TestApp},
    caller::Caller,
    eventually,
    files::{commit, commit_form, delete, put_file, sent, sweep_until_contents_are, take},
    folders::{ask, files, folder, give},
    groups::people,
    internals::{Pieces, Result, Scanner, Verdict},
};

/// Signals its start and passes contents on release; one content passes at once.
struct Gate {
    begun: Semaphore,
    open: Semaphore,
}

#[async_trait::async_trait]
impl Scanner for Gate {
    async fn scan(&self, mut content: Pieces) -> Result<Verdict> {
        let mut whole = Vec::new();
        while let Some(piece) = content.next().await {
            whole.extend_from_slice(&piece?);
        }
        if whole != b"passes" {
            self.begun.add_permits(1);
            self.open.acquire().await.unwrap().forget();
        }
        Ok(Verdict::Safe)
    }
}

struct World {
    app: TestApp,
    gate: Arc<Gate>,
    acme: Application,
    mei: Caller,
    omar: Caller,
    folder: String,
}

async fn world() -> World {
    let gate = Arc::new(Gate { begun: Semaphore::new(0), open: Semaphore::new(0) });
    let app = TestApp::start_scanning(Arc::clone(&gate) as _).await;
    let acme = app.tenant("acme").await;
    let [mei, omar] = people(&app, &acme, ["mei", "omar"]).await;
    let folder = folder(&mei, "", "Plans").await;
    give(&mei, &folder, "editor", &["omar"]).await;
    World { app, gate, acme, mei, omar, folder }
}

impl World {
    async fn begin(&self, upload: &str) -> JoinHandle<Answer> {
        let (omar, form) = (self.omar.clone(), commit_form(upload, &self.folder, "tide.txt", 9));
        let committing = tokio::spawn(async move { commit(&omar, &form).await });
        let begun = tokio::time::timeout(TIMEOUT, self.gate.begun.acquire()).await;
        begun.expect("nothing is scanned").unwrap().forget();
        committing
    }

    async fn end(&self, committing: JoinHandle<Answer>) -> Answer {
        self.gate.open.add_permits(1);
        committing.await.unwrap()
    }
}

#[tokio::test]
async fn commit_outlives_its_caller_and_excludes_a_second() {
    let world = world().await;
    let upload = sent(&world.omar, b"high tide").await;
    let committing = world.begin(&upload).await;
    let form = commit_form(&upload, &world.folder, "tide.txt", 9);
    commit(&world.omar, &form).await.fails_in_business(400, "is being committed by another call");
    let cancel = json!({"uploadId": upload});
    let given_up = world.omar.post("/v1/stream/upload/cancel", &cancel).await;
    given_up.fails_in_business(400, "is being committed by another call");
    world
        .mei
        .post("/v1/stream/upload/cancel", &cancel)
        .await
        .fails_in_business(400, "there is no such upload");
    commit(&world.mei, &form).await.fails_in_business(400, "there is no such upload");
    committing.abort();
    assert!(committing.await.unwrap_err().is_cancelled());
    world.gate.open.add_permits(1);
    eventually("the file", async || {
        (world.app.number("SELECT COUNT(*) FROM files").await == 1).then_some(())
    })
    .await;
    assert_eq!(files(&world.omar, &world.folder).await.ok().names(), ["tide.txt"]);
    eventually("the end of the commit", async || {
        commit(&world.omar, &form).await.message().contains("there is no such upload").then_some(())
    })
    .await;
}

#[tokio::test]
async fn rights_lost_during_a_commit_refuse_it() {
    let world = world().await;
    let World { mei, omar, folder, acme, app, .. } = &world;
    let upload = sent(omar, b"high tide").await;
    let committing = world.begin(&upload).await;
    ask(mei, "authorize/remove", json!({"dirId": folder, "target": "omar", "targetType": 1})).await.ok();
    world.end(committing).await.fails_in_business(430_001, "no folder");

    give(mei, folder, "editor", &["omar"]).await;
    let committing = world.begin(&upload).await;
    give(mei, folder, "viewer", &["omar"]).await;
    world.end(committing).await.fails_in_business(430_011, "editor");

    give(mei, folder, "editor", &["omar"]).await;
    let committing = world.begin(&upload).await;
    ask(mei, "lock", json!({"dirId": folder})).await.ok();
    world.end(committing).await.fails_in_business(430_017, "locked");
    ask(mei, "unlock", json!({"dirId": folder})).await.ok();

    let committing = world.begin(&upload).await;
    app.execute("UPDATE tenants SET subject_quota_bytes = 8").await;
    world.end(committing).await.fails_in_business(430_015, "quota");
    app.execute("UPDATE tenants SET subject_quota_bytes = 0").await;

    let committing = world.begin(&upload).await;
    let known = put_file(mei, folder, "TIDE.txt", b"passes").await;
    world.end(committing).await.fails_in_business(400, "of this name");
    assert_eq!(app.number("SELECT COUNT(*) FROM uploads").await, 1);
    sweep_until_contents_are(app, 1).await;
    delete(mei, &[&known]).await.ok();

    let committing = world.begin(&upload).await;
    app.sync(&acme.caller, "users", &json!([{"userId": "omar", "status": 0}])).await;
    world.end(committing).await.fails(401, "sign in again");
    assert_eq!(files(mei, folder).await.ok().total(), 0);
}

#[tokio::test]
async fn commit_slots_are_shared_fairly_between_people() {
    let World { app: _app, gate, mei, omar, folder, .. } = &world().await;
    let mut committing = Vec::new();
    for number in 0..80 {
        // Files of this type have no text.
        let (content, name) = (format!("tide {number:04}"), format!("{number}.png"));
        let form = commit_form(&sent(omar, content.as_bytes()).await, folder, &name, content.len());
        let omar = omar.clone();
        committing.push(tokio::spawn(async move { commit(&omar, &form).await }));
    }
    let begun = tokio::time::timeout(TIMEOUT, gate.begun.acquire_many(8)).await;
    begun.expect("fewer than eight scans").unwrap().forget();
    let others = tokio::time::timeout(TIMEOUT, put_file(mei, folder, "calm.txt", b"passes")).await;
    others.expect("another person's commit waits");
    assert_eq!(gate.begun.available_permits(), 0, "one person exceeds eight slots");
    gate.open.add_permits(committing.len());
    for commit in committing {
        commit.await.unwrap().ok();
    }
}

#[tokio::test]
async fn folder_deleted_during_a_commit_gets_no_file() {
    let world = world().await;
    let upload = sent(&world.omar, b"high tide").await;
    let committing = world.begin(&upload).await;
    ask(&world.mei, "delete", json!({"dirId": world.folder})).await.ok();
    world.end(committing).await.fails_in_business(430_001, "no folder");
    world.gate.open.add_permits(1);
    let file = commit(&world.omar, &commit_form(&upload, "root", "tide.txt", 9)).await.ok();
    assert_eq!(take(&world.omar, file.data()["id"].as_str().unwrap(), None).await, b"high tide");
    assert_eq!(world.app.number("SELECT file_bytes FROM tenants WHERE code = 'acme'").await, 9);
}
