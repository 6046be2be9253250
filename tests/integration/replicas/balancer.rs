//! Three replicas behind a load balancer, of which one dies and returns again and again.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::util::{
    answer::Answer,
    caller::Caller,
    cluster::{Cluster, at},
    eventually,
    files::{commit_form, send_to, take},
    items::{NEW_YEAR, item, many, user},
    login::{code_form, location, login_parameters, parameter, sealed_form, set_password},
    paging::Walk,
    postgres,
    program::{Server, own_address},
    sizes::size,
};

const REPLICAS: usize = 3;
const CLIENTS_OF_EACH_KIND: usize = 10;
/// Each checks a password, which takes most of its processor time.
const SIGN_INS: usize = 4;
const CLIENTS: usize = 6 * CLIENTS_OF_EACH_KIND + SIGN_INS;
const PAGED: usize = 300;
const SEARCH: &str = "/contents/search";
const SETTINGS: &[(&str, &str)] =
    &[("TRAWL_TRUSTED_PROXIES", "127.0.0.1"), ("TRAWL_LIMITS__LOGINS_PER_MINUTE", "1000000")];

/// `TRAWL_TEST_KILLS` asks for more.
fn kills() -> usize {
    std::env::var("TRAWL_TEST_KILLS").map_or_else(|_| size(2, 5), |kills| kills.parse().unwrap())
}

/// A load balancer with the settings of the book, ended when dropped.
struct Balancer {
    child: Child,
    base: String,
    _directory: TempDir,
}

impl Balancer {
    async fn haproxy(cluster: &Cluster) -> Self {
        let (directory, listen) = (tempfile::tempdir().unwrap(), own_address());
        let settings = settings("haproxy.cfg", "bind :80", &format!("bind {listen}"), cluster);
        fs::write(directory.path().join("haproxy.cfg"), settings).unwrap();
        Self::start(directory, listen, "/usr/sbin/haproxy", &["-db", "-f", "haproxy.cfg"]).await
    }

    async fn nginx(cluster: &Cluster) -> Self {
        let (directory, listen) = (tempfile::tempdir().unwrap(), own_address());
        let settings = settings("nginx.conf", "listen 80;", &format!("listen {listen};"), cluster);
        fs::write(directory.path().join("trawl.conf"), settings).unwrap();
        let here = directory.path().display();
        // Debian's package has other paths, and one process ends with the test.
        let around = format!(
            "daemon off; master_process off; pid {here}/pid; error_log {here}/error.log; events {{}}\n\
             http {{ access_log off; client_body_temp_path {here}/body; proxy_temp_path {here}/proxy;\n\
             fastcgi_temp_path {here}/fastcgi; scgi_temp_path {here}/scgi; uwsgi_temp_path {here}/uwsgi;\n\
             include {here}/trawl.conf; }}\n"
        );
        fs::write(directory.path().join("nginx.conf"), around).unwrap();
        let (prefix, file) = (here.to_string(), format!("{here}/nginx.conf"));
        Self::start(directory, listen, "/usr/sbin/nginx", &["-p", &prefix, "-c", &file]).await
    }

    async fn start(directory: TempDir, listen: String, program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(directory.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let base = format!("http://{listen}");
        eventually("the balancer", async || reqwest::get(format!("{base}/healthz")).await.ok()).await;
        Self { child, base, _directory: directory }
    }
}

/// A file of the book for this cluster.
fn settings(name: &str, documented_listener: &str, listener: &str, cluster: &Cluster) -> String {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/book/src/how-to/scale-out");
    let mut settings = fs::read_to_string(book.join(name)).unwrap();
    let mut replace = |documented: &str, own: &str| {
        assert!(settings.contains(documented), "{name} has no {documented}");
        settings = settings.replace(documented, own);
    };
    replace(documented_listener, listener);
    for number in 0..REPLICAS {
        replace(&format!("10.0.0.{}:8080", number + 1), cluster.address(number));
    }
    settings
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
    /// An application that signs people in.
    portal: Value,
    base: String,
    is_over: AtomicBool,
    /// Answers lost with the replica that died.
    lost: AtomicUsize,
    /// Acknowledged items by id.
    written: Mutex<BTreeSet<String>>,
    sign_ins: AtomicUsize,
    /// The client and content of each acknowledged file, by id.
    files: Mutex<BTreeMap<String, (usize, Vec<u8>)>>,
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
        let answer = Answer::receive(request).await;
        // Nothing is lost: no replica is ready, or this one did nothing.
        if answer.as_ref().is_some_and(|answer| answer.status == 503) {
            tokio::time::sleep(Duration::from_millis(100)).await;
            return None;
        }
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
        let token = self.ask(|| self.post_as(&self.application, &http, "/oauth2/token").form(&form)).await;
        token.body["access_token"].as_str().unwrap().to_owned()
    }

    fn post_as(&self, application: &Value, http: &reqwest::Client, path: &str) -> RequestBuilder {
        let secret = application["clientSecret"].as_str();
        let request = http.post(format!("{}{path}", self.base));
        request.basic_auth(application["clientId"].as_str().unwrap(), secret)
    }

    async fn caller(&self) -> Caller {
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Caller::new(&http, &self.base, &self.token().await)
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

/// Pages by the opaque cursor, or the last item's time.
async fn page(world: Arc<World>, client: usize, by_time: bool) {
    let caller = world.caller().await;
    let limit = (17 + client).to_string();
    while !world.is_over() {
        let (mut walk, mut cursor) = (Walk::default(), None::<String>);
        loop {
            let mut parameters = vec![("moduleId", "article"), ("keyword", "harbour"), ("limit", &limit)];
            parameters.extend((!by_time).then_some(("paging", "cursor")));
            parameters.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let answer = world.ask(|| caller.request(Method::POST, SEARCH).query(&parameters)).await.ok();
            walk.take(&answer);
            let last = answer.items().last().map(|item| item["displayTime"].to_string());
            cursor = if by_time { last } else { answer.cursor() };
            if cursor.is_none() {
                break;
            }
        }
        walk.assert_met((0..PAGED).map(|number| format!("a{number:05}")));
    }
}

/// Spends each code once with success.
async fn sign_in(world: Arc<World>, client: usize) {
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    while !world.is_over() {
        if let Some(code) = try_to_sign_in(&world, &http, client).await {
            let spend = || world.post_as(&world.portal, &http, "/oauth2/token").form(&code_form(&code));
            // A repeated use would revoke the token of a lost answer.
            let Some(answer) = world.try_ask(spend()).await else { continue };
            let token = answer.body["access_token"].as_str().unwrap_or_else(|| panic!("{}", answer.text));
            let caller = Caller::new(&http, &world.base, token);
            world.ask(|| caller.request(Method::POST, "/modules")).await.ok();
            let again = world.ask(spend).await;
            assert_eq!(
                (again.status, &again.body["error"]),
                (400, &json!("invalid_grant")),
                "{}",
                again.text
            );
            world.sign_ins.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// `None`: a replica died on the way.
async fn try_to_sign_in(world: &World, http: &reqwest::Client, client: usize) -> Option<String> {
    let address = format!("{}/oauth2/authorize", world.base);
    let portal = world.portal["clientId"].as_str().unwrap();
    let page = world.try_ask(http.get(&address).query(&login_parameters(portal))).await?;
    let cookie = page.header("set-cookie").split(';').next().unwrap().to_owned();
    let (form, login) = (sealed_form(&page), person(client));
    let fields = [("form", form.as_str()), ("login", &login), ("password", "correct horse")];
    let answer = world.try_ask(http.post(&address).header("cookie", cookie).form(&fields)).await?;
    Some(parameter(&location(&answer), "code"))
}

fn person(client: usize) -> String {
    format!("p{client}")
}

async fn revoke(world: Arc<World>, _client: usize) {
    while !world.is_over() {
        let caller = world.caller().await;
        world.ask(|| caller.request(Method::POST, "/modules")).await.ok();
        let form = [("token", caller.token.as_str())];
        let revoked =
            world.ask(|| world.post_as(&world.application, &caller.http, "/oauth2/revoke").form(&form)).await;
        assert_eq!(revoked.status, 200, "{}", revoked.text);
        world.ask(|| caller.request(Method::POST, "/modules")).await.fails(401, "revoked");
    }
}

/// Uploads for a person whose token outlives every replica.
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
            world.files.lock().unwrap().insert(id, (client, content));
        }
    }
}

async fn start(cluster: &mut Cluster) -> Vec<Option<Server>> {
    let mut servers = Vec::new();
    for _ in 0..REPLICAS {
        servers.push(Some(cluster.launch_new(SETTINGS).await));
    }
    for server in servers.iter().flatten() {
        server.wait_until_ready().await;
    }
    servers
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_when_replicas_die_behind_haproxy() {
    nothing_is_lost("haproxy", async |cluster| Balancer::haproxy(cluster).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_when_replicas_die_behind_nginx() {
    nothing_is_lost("nginx", async |cluster| Balancer::nginx(cluster).await).await;
}

async fn nothing_is_lost(name: &str, balance: impl AsyncFn(&Cluster) -> Balancer) {
    let mut cluster = Cluster::new(name);
    let mut servers = start(&mut cluster).await;
    let balancer = balance(&cluster).await;
    let scopes = ["contents:read", "contents:write", "directory:write", "files", "act-as-user"];
    let application = cluster.application_with("acme", "application", &scopes).await;
    let portal = cluster.portal("acme").await;
    let first = servers[0].as_ref().unwrap();
    let direct = first.caller(&application).await;
    direct.put("/v1/contents/article", &json!(many("a", "Harbour", PAGED, 3))).await.ok();
    let people: Vec<String> = (0..CLIENTS_OF_EACH_KIND).map(person).collect();
    let users: Vec<Value> = people.iter().map(|person| user(person, "")).collect();
    direct.put("/v1/users/sync", &json!(users)).await.ok();
    let store = postgres::open(&cluster.url).await;
    for person in &people[..SIGN_INS] {
        set_password(&store, person, "correct horse").await;
    }
    for server in servers.iter().flatten() {
        eventually("the paged items at each replica", async || {
            (at(server, &direct).find("article", "harbour").await.len() == PAGED).then_some(())
        })
        .await;
    }
    let world = Arc::new(World {
        application: application.clone(),
        portal,
        base: balancer.base.clone(),
        is_over: AtomicBool::new(false),
        lost: AtomicUsize::new(0),
        written: Mutex::default(),
        sign_ins: AtomicUsize::new(0),
        files: Mutex::default(),
    });
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS_OF_EACH_KIND {
        clients.spawn(write(Arc::clone(&world), client));
        clients.spawn(search(Arc::clone(&world), client));
        clients.spawn(page(Arc::clone(&world), client, false));
        clients.spawn(page(Arc::clone(&world), client, true));
        clients.spawn(revoke(Arc::clone(&world), client));
        let person = first.user(&application, &person(client)).await;
        let person = person.at(&balancer.base);
        clients.spawn(upload(Arc::clone(&world), person, client));
    }
    for client in 0..SIGN_INS {
        clients.spawn(sign_in(Arc::clone(&world), client));
    }
    assert_eq!(clients.len(), CLIENTS);
    for kill in 0..kills() {
        let number = kill % servers.len();
        servers[number].take().unwrap().kill();
        let returned = cluster.launch(number, SETTINGS).await;
        returned.wait_until_ready().await;
        servers[number] = Some(returned);
        assert!(clients.try_join_next().is_none(), "a client ended early");
    }
    eventually("somebody to sign in", async || {
        assert!(clients.try_join_next().is_none(), "a client ended early");
        (world.sign_ins.load(Ordering::Relaxed) > 0).then_some(())
    })
    .await;
    world.is_over.store(true, Ordering::Relaxed);
    clients.join_all().await;

    let written = world.written.lock().unwrap().clone();
    let files = world.files.lock().unwrap().clone();
    let lost = world.lost.load(Ordering::Relaxed);
    println!(
        "{} items, {} files and {} sign-ins; {lost} answers lost in {} kills",
        written.len(),
        files.len(),
        world.sign_ins.load(Ordering::Relaxed),
        kills()
    );
    assert!(!written.is_empty() && !files.is_empty());
    assert!(lost <= CLIENTS * kills(), "answers of living replicas were lost");
    for server in servers.iter().flatten() {
        let caller = at(server, &direct);
        eventually("every acknowledged item at each replica", async || {
            let found = find_all(&caller).await;
            (found == written).then_some(())
        })
        .await;
    }
    for (number, server) in servers.iter().flatten().enumerate() {
        for client in (0..CLIENTS_OF_EACH_KIND).filter(|client| client % REPLICAS == number) {
            let person = server.user(&application, &person(client)).await;
            for (file, (_, content)) in files.iter().filter(|(_, (owner, _))| *owner == client) {
                assert_eq!(take(&person, file, None).await, *content, "{file}");
            }
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
