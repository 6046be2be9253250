//! Three replicas behind a load balancer, of which one dies and returns again and again.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::util::{
    answer::Answer,
    caller::Caller,
    cluster::{Cluster, at},
    eventually,
    files::{commit_form, send_to, take},
    items::{NEW_YEAR, item, many, user},
    program::{Server, own_address},
};

const CLIENTS_OF_EACH_KIND: usize = 13;
const PAGED: usize = 300;
const SEARCH: &str = "/contents/search";

/// `TRAWL_TEST_KILLS` asks for more.
fn kills() -> usize {
    std::env::var("TRAWL_TEST_KILLS").map_or(5, |kills| kills.parse().unwrap())
}

/// The load balancer with the settings of the book, ended when dropped.
struct Balancer {
    child: Child,
    base: String,
}

impl Balancer {
    async fn start(cluster: &Cluster) -> Self {
        let listen = own_address();
        let settings =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/book/src/how-to/scale-out/haproxy.cfg");
        let mut command = Command::new("/usr/sbin/haproxy");
        command.arg("-db").arg("-f").arg(settings).env("TRAWL_LISTEN", &listen);
        for (number, variable) in ["TRAWL_ONE", "TRAWL_TWO", "TRAWL_THREE"].into_iter().enumerate() {
            command.env(variable, cluster.address(number));
        }
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let base = format!("http://{listen}");
        eventually("the balancer", async || reqwest::get(format!("{base}/healthz")).await.ok()).await;
        Self { child, base }
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Common to all clients.
struct World {
    application: Value,
    base: String,
    is_over: AtomicBool,
    /// Answers lost with the replica that died.
    lost: AtomicUsize,
    /// Acknowledged items by id.
    written: Mutex<BTreeSet<String>>,
    files: Mutex<BTreeMap<String, Vec<u8>>>,
}

impl World {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Repeats a request whose replica died; any other server error fails the test.
    async fn ask(&self, request: impl Fn() -> RequestBuilder) -> Answer {
        loop {
            if let Some(answer) = self.try_ask(request()).await {
                return answer;
            }
        }
    }

    /// `None`: the replica died.
    async fn try_ask(&self, request: RequestBuilder) -> Option<Answer> {
        let answer = read(request).await;
        // The balancer's own answers have no replica.
        let answer =
            answer.filter(|answer| answer.status < 500 || !answer.header("x-trawl-replica").is_empty());
        if let Some(answer) = &answer {
            assert!(answer.status < 500, "{}: {}", answer.status, answer.text);
        } else {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        answer
    }

    async fn token(&self) -> String {
        let http = reqwest::Client::new();
        let form = [("grant_type", "client_credentials")];
        let answer = self.ask(|| self.as_application(&http, "/oauth2/token").form(&form)).await;
        answer.body["access_token"].as_str().unwrap().to_owned()
    }

    fn as_application(&self, http: &reqwest::Client, path: &str) -> RequestBuilder {
        let secret = self.application["clientSecret"].as_str();
        let request = http.post(format!("{}{path}", self.base));
        request.basic_auth(self.application["clientId"].as_str().unwrap(), secret)
    }

    async fn caller(&self) -> Caller {
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Caller { http, base: self.base.clone(), token: self.token().await, tenant: None }
    }
}

async fn write(world: Arc<World>, client: usize) {
    let caller = world.caller().await;
    for number in 0.. {
        if world.is_over() {
            break;
        }
        let id = format!("w{client}-{number}");
        let written = json!([item(&id, "Lighthouse", NEW_YEAR + number)]);
        world.ask(|| caller.request(Method::PUT, "/v1/contents/news").json(&written)).await.ok();
        world.written.lock().unwrap().insert(id);
    }
}

async fn search(world: Arc<World>, _client: usize) {
    let caller = world.caller().await;
    while !world.is_over() {
        let parameters = [("moduleId", "article"), ("keyword", "harbour"), ("limit", "20")];
        let answer = world.ask(|| caller.request(Method::POST, SEARCH).query(&parameters)).await.ok();
        assert!(answer.ids().len() >= 20, "{}", answer.text);
    }
}

async fn page(world: Arc<World>, client: usize) {
    let caller = world.caller().await;
    let limit = (17 + client).to_string();
    while !world.is_over() {
        let (mut found, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let mut parameters = vec![
                ("moduleId", "article"),
                ("keyword", "harbour"),
                ("paging", "cursor"),
                ("limit", &limit),
            ];
            parameters.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let answer = world.ask(|| caller.request(Method::POST, SEARCH).query(&parameters)).await.ok();
            found.extend(answer.ids().into_iter().map(str::to_owned));
            cursor = answer.cursor();
            if cursor.is_none() {
                break;
            }
        }
        let distinct: BTreeSet<_> = found.iter().collect();
        assert_eq!((found.len(), distinct.len()), (PAGED, PAGED), "an item is lost or repeated");
    }
}

async fn revoke(world: Arc<World>, _client: usize) {
    while !world.is_over() {
        let caller = world.caller().await;
        world.ask(|| caller.request(Method::POST, "/modules")).await.ok();
        let form = [("token", caller.token.as_str())];
        let revoked = world.ask(|| world.as_application(&caller.http, "/oauth2/revoke").form(&form)).await;
        assert_eq!(revoked.status, 200, "{}", revoked.text);
        world.ask(|| caller.request(Method::POST, "/modules")).await.fails(401, "revoked");
    }
}

/// As a person whose token outlives every replica.
async fn upload(world: Arc<World>, person: Caller, client: usize) {
    for number in 0.. {
        if world.is_over() {
            break;
        }
        let content = format!("content {} of {client}", number / 3).into_bytes();
        let signed =
            world.ask(|| person.request(Method::POST, "/v1/stream/upload").json(&json!({}))).await.ok();
        send_to(&person, signed.data(), &content).await;
        let upload = signed.data()["uploadId"].as_str().unwrap();
        let name = format!("{client}-{number}.txt");
        let form = commit_form(upload, "root", &name, content.len());
        let committed = person.request(Method::POST, "/v1/stream/upload/commit").json(&form);
        // A repeated commit would find its upload gone, or the name taken.
        if let Some(committed) = world.try_ask(committed).await {
            let id = committed.ok().data()["id"].as_str().unwrap().to_owned();
            world.files.lock().unwrap().insert(id, content);
        }
    }
}

/// `None` where the connection is cut.
async fn read(request: RequestBuilder) -> Option<Answer> {
    let response = request.send().await.ok()?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await.ok()?;
    let body = serde_json::from_str(&text).unwrap_or_default();
    Some(Answer { status, headers, text, body })
}

async fn start(cluster: &mut Cluster) -> Vec<Option<Server>> {
    let mut servers = Vec::new();
    for _ in 0..3 {
        servers.push(Some(cluster.add().await));
    }
    servers
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_when_replicas_die_behind_a_balancer() {
    let mut cluster = Cluster::new("balancer");
    let mut servers = start(&mut cluster).await;
    let balancer = Balancer::start(&cluster).await;
    let scopes = ["contents:read", "contents:write", "directory:write", "files", "act-as-user"];
    let application = cluster.application_with("acme", "application", &scopes).await;
    let first = servers[0].as_ref().unwrap();
    let direct = first.caller(&application).await;
    direct.put("/v1/contents/article", &json!(many("a", "Harbour", PAGED, 3))).await.ok();
    direct.put("/v1/users/sync", &json!([user("mei", "")])).await.ok();
    let mei = first.user(&application, "mei").await;
    for server in servers.iter().flatten() {
        eventually("the paged items at each replica", async || {
            (at(server, &direct).find("article", "harbour").await.len() == PAGED).then_some(())
        })
        .await;
    }
    let world = Arc::new(World {
        application: application.clone(),
        base: balancer.base.clone(),
        is_over: AtomicBool::new(false),
        lost: AtomicUsize::new(0),
        written: Mutex::default(),
        files: Mutex::default(),
    });
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS_OF_EACH_KIND {
        clients.spawn(write(Arc::clone(&world), client));
        clients.spawn(search(Arc::clone(&world), client));
        clients.spawn(page(Arc::clone(&world), client));
        clients.spawn(revoke(Arc::clone(&world), client));
    }
    for client in 0..CLIENTS_OF_EACH_KIND - 1 {
        let person = Caller { base: balancer.base.clone(), ..mei.clone() };
        clients.spawn(upload(Arc::clone(&world), person, client));
    }
    for kill in 0..kills() {
        let number = kill % servers.len();
        servers[number].take().unwrap().kill();
        let returned = cluster.launch(number, &[]).await;
        returned.wait_until_ready().await;
        servers[number] = Some(returned);
        assert!(clients.try_join_next().is_none(), "a client ended early");
    }
    world.is_over.store(true, Ordering::Relaxed);
    clients.join_all().await;

    let written = world.written.lock().unwrap().clone();
    let files = world.files.lock().unwrap().clone();
    let lost = world.lost.load(Ordering::Relaxed);
    println!(
        "{} items and {} files written; {lost} answers lost in {} kills",
        written.len(),
        files.len(),
        kills()
    );
    assert!(!written.is_empty() && !files.is_empty());
    for server in servers.iter().flatten() {
        let caller = at(server, &direct);
        eventually("every acknowledged item at each replica", async || {
            let found = find_all(&caller).await;
            (found == written).then_some(())
        })
        .await;
        for (file, content) in &files {
            assert_eq!(take(&at(server, &mei), file, None).await, *content, "{file}");
        }
    }
}

async fn find_all(caller: &Caller) -> BTreeSet<String> {
    let (mut found, mut cursor) = (BTreeSet::new(), None::<String>);
    loop {
        let mut parameters =
            vec![("moduleId", "news"), ("keyword", "lighthouse"), ("paging", "cursor"), ("limit", "1000")];
        parameters.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let answer = caller.search(&parameters).await.ok();
        found.extend(answer.ids().into_iter().map(str::to_owned));
        cursor = answer.cursor();
        if cursor.is_none() {
            return found;
        }
    }
}
