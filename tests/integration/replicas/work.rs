//! Work that one replica does at a time.

use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{
    callback::{Callback, CallbackReply},
    caller::Caller,
    cluster::{Cluster, at},
    database::read,
    eventually,
    files::{commit, commit_form, sent, take},
    internals::Store,
    items::user,
    postgres,
    program::Server,
    quick_handling::{READ, TO_READ, log, press, status, to_read},
};

/// Two replicas, of a person and her application.
struct World {
    cluster: Cluster,
    store: Store,
    servers: [Server; 2],
    application: Value,
    mei: Caller,
}

impl World {
    async fn new(name: &str) -> Self {
        let settings = &[("TRAWL_CONNECTORS__ALLOW_HTTP_HOSTS", "127.0.0.1")];
        let mut cluster = Cluster::new(name);
        let servers = [cluster.launch_new(settings).await, cluster.launch_new(settings).await];
        for server in &servers {
            server.wait_until_ready().await;
        }
        let scopes = ["contents:read", "directory:write", "tasks", "files", "collab", "act-as-user"];
        let application = cluster.application_with("acme", "application", &scopes).await;
        let users = json!([user("mei", "")]);
        servers[0].caller(&application).await.put("/v1/users/sync", &users).await.ok();
        let mei = servers[0].user(&application, "mei").await;
        let store = postgres::open(&cluster.url).await;
        Self { cluster, store, servers, application, mei }
    }

    fn mei_at(&self, replica: usize) -> Caller {
        at(&self.servers[replica], &self.mei)
    }

    async fn task(&self, id: &str, callback: &Callback) -> String {
        let caller = self.servers[0].caller(&self.application).await;
        let created = caller.post("/api/todo/create", &to_read(id, &callback.url)).await.ok();
        created.data()["id"].as_str().unwrap().to_owned()
    }

    async fn kill_first(self) -> (Cluster, Store, Server, Caller) {
        let Self { cluster, store, servers: [first, second], mei, .. } = self;
        first.kill();
        // Simulates 15 s without a heartbeat: the replica counts as dead.
        postgres::query(&cluster.url, "UPDATE replicas SET process = 'killed', seen_at = 0 WHERE id = 'r0'")
            .await;
        let mei = at(&second, &mei);
        (cluster, store, second, mei)
    }
}

async fn database_time(store: &Store) -> String {
    let now: Vec<(String,)> = read(store, "SELECT CAST(clock_timestamp() AS TEXT)", vec![]).await;
    now[0].0.clone()
}

/// Idle connections show their last statement, so it has to have begun since a time.
async fn wait_for_waiter(store: &Store, since: &str) {
    eventually("a press that waits for the other replica's call", async || {
        let text = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() \
                    AND query LIKE 'SELECT 1 FROM leases WHERE name = $1 AND process IN%' \
                    AND query_start > CAST(? AS TIMESTAMPTZ)";
        let waiting: Vec<(i64,)> = read(store, text, vec![since.into()]).await;
        (waiting[0].0 > 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn concurrent_presses_at_two_replicas_share_one_call() {
    let world = World::new("presses").await;
    let callback = Callback::start(CallbackReply::Silent).await;
    for (number, code) in [200, 500].into_iter().enumerate() {
        let task = world.task(&format!("t{number}"), &callback).await;
        let (reply, held) = CallbackReply::held(code);
        callback.set_reply(reply);
        let spawn = |replica| {
            let (mei, task) = (world.mei_at(replica), task.clone());
            tokio::spawn(async move { press(&mei, &task).await })
        };
        let first = spawn(0);
        callback.wait_for_calls(number + 1).await;
        let since = database_time(&world.store).await;
        let second = spawn(1);
        wait_for_waiter(&world.store, &since).await;
        held.close();
        let (first, second) = (first.await.unwrap(), second.await.unwrap());
        if code == 200 {
            first.ok();
            second.ok();
        } else {
            first.fails(502, "nothing has changed");
            second.fails(502, "nothing has changed");
        }
        assert_eq!(status(&world.store, &task).await, if code == 200 { READ } else { TO_READ });
        assert_eq!((callback.calls().len(), log(&world.store, &task).await.len()), (number + 1, 1));
    }
}

#[tokio::test]
async fn press_after_a_failed_call_at_another_replica_calls_again() {
    let world = World::new("failed_calls").await;
    let callback = Callback::start(CallbackReply::Status(500)).await;
    let task = world.task("t", &callback).await;
    for round in 0..20 {
        press(&world.mei_at(round % 2), &task).await.fails(502, "quickDealCallback");
        assert_eq!(callback.calls().len(), round + 1);
    }
    callback.set_reply(CallbackReply::Status(200));
    press(&world.mei_at(0), &task).await.ok();
    press(&world.mei_at(1), &task).await.fails(409, "this task is read");
    assert_eq!(callback.calls().len(), 21);
}

#[tokio::test]
async fn task_of_a_replica_killed_during_its_call_is_handled_by_another() {
    let world = World::new("killed_call").await;
    let callback = Callback::start(CallbackReply::Silent).await;
    let task = world.task("t", &callback).await;
    let pressing = tokio::spawn({
        let path = format!("/api/todo/quick_deal?todoTaskId={task}");
        world.mei_at(0).request(Method::POST, &path).send()
    });
    callback.wait_for_calls(1).await;
    callback.set_reply(CallbackReply::Status(200));
    let (_cluster, store, _second, mei) = world.kill_first().await;
    assert!(pressing.await.unwrap().is_err());
    press(&mei, &task).await.ok();
    assert_eq!((callback.calls().len(), status(&store, &task).await), (2, READ));
    let outcomes = log(&store, &task).await.into_iter().map(|entry| entry.outcome).collect::<Vec<_>>();
    assert_eq!(outcomes, ["begun", "succeeded"]);
}

#[tokio::test]
async fn upload_committed_at_two_replicas_becomes_one_file() {
    let world = World::new("uploads").await;
    for round in 0..20 {
        let content = format!("content {round}").into_bytes();
        let upload = sent(&world.mei_at(0), &content).await;
        let name = format!("{round}.txt");
        let wrong = commit_form(&upload, "root", &name, content.len() + 1);
        commit(&world.mei_at(round % 2), &wrong).await.fails_in_business(400, "fileSize");
        let form = commit_form(&upload, "root", &name, content.len());
        let (one, other) = (world.mei_at(0), world.mei_at(1));
        let answers = tokio::join!(commit(&one, &form), commit(&other, &form));
        let (committed, refused) =
            if answers.0.body["code"] == 200 { (answers.0, answers.1) } else { (answers.1, answers.0) };
        refused.fails_in_business(400, "");
        let file = committed.ok().data()["id"].as_str().unwrap().to_owned();
        for caller in [one, other] {
            assert_eq!(take(&caller, &file, None).await, content, "{round}");
        }
    }
}

#[tokio::test]
async fn maintenance_of_a_killed_replica_is_taken_over() {
    let mut cluster = Cluster::new("maintenance");
    let first = cluster.add().await;
    let admin = cluster.application("acme", "admin").await;
    let operator = first.caller(&admin).await;
    let leads = async |operator: &Caller, id: &str| {
        let listed = operator.get("/admin/v1/replicas").await.ok();
        let replicas = listed.body["data"].as_array().unwrap().clone();
        let replica = replicas.into_iter().find(|replica| replica["id"] == *id);
        replica.map_or(Value::Null, |replica| replica["leads"].clone())
    };
    eventually("maintenance", async || {
        leads(&operator, "r0").await.as_array()?.contains(&json!("maintenance")).then_some(())
    })
    .await;
    let second = cluster.add().await;
    let operator = at(&second, &operator);
    assert!(!leads(&operator, "r1").await.as_array().unwrap().contains(&json!("maintenance")));
    first.kill();
    postgres::query(&cluster.url, "UPDATE replicas SET process = 'killed', seen_at = 0 WHERE id = 'r0'")
        .await;
    // The round that removes it is made at once; the next one would begin in half a minute.
    operator.post("/v1/enterprises/register", &json!({"enterpriseName": "Acme", "eCode": "gone"})).await.ok();
    operator.post_empty("/v1/enterprises/delete?eCode=gone").await.ok();
    eventually("another leader", async || {
        leads(&operator, "r1").await.as_array()?.contains(&json!("maintenance")).then_some(())
    })
    .await;
}
