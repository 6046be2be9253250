use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::util::{
    caller::Caller,
    database::read,
    eventually,
    login::Browser,
    postgres::open_store,
    program::{Process, Server, trawl},
};

const DAY: i64 = 24 * 60 * 60 * 1_000;

/// The documented one.
const PASSWORD: &str = "northwind-harbour";

/// Modules that show every row of the demo.
const MODULES: [&str; 11] = [
    "article",
    "feed",
    "todo",
    "contracts",
    "done",
    "favorite",
    "group",
    "message",
    "file",
    "people",
    "department",
];

pub(super) struct Running {
    child: Process,
    http: reqwest::Client,
    pub(super) printed: String,
    pub(super) base: String,
    /// The content of `demo.json`.
    pub(super) kept: Value,
}

impl Running {
    pub(super) async fn start() -> Self {
        Self::start_with(&["--listen", "127.0.0.1:0"]).await
    }

    async fn start_with(arguments: &[&str]) -> Self {
        let mut command = trawl(&["serve", "--demo"]);
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        tokio::task::spawn_blocking(move || {
            let mut child = command.spawn().unwrap();
            let mut printed = String::new();
            let mut lines = BufReader::new(child.stdout.as_mut().unwrap());
            while !printed.contains("Stop with Ctrl-C") {
                assert_ne!(lines.read_line(&mut printed).unwrap(), 0, "the demo ended: {printed}");
            }
            let base = between(&printed, "\nOpen ", "/ and sign in as ").to_owned();
            let file = between(&printed, "with the token in ", ", as ");
            let kept = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
            Self { child: Process(child), http: http(), printed, base, kept }
        })
        .await
        .unwrap()
    }

    pub(super) fn token(&self) -> &str {
        self.kept["token"].as_str().unwrap()
    }

    fn password(&self) -> &str {
        between(&self.printed, " with the password ", "\n")
    }

    pub(super) async fn get(&self, path: &str, query: &[(&str, &str)]) -> Value {
        let request = self.http.get(format!("{}{path}", self.base)).query(query).bearer_auth(self.token());
        request.send().await.unwrap().json().await.unwrap()
    }

    pub(super) async fn search(&self, module: &str, keyword: &str) -> Value {
        let query = [("moduleId", module), ("sort", "relevance"), ("keyword", keyword)];
        self.whole_page(&query).await
    }

    /// A page that no source was too late for.
    async fn whole_page(&self, query: &[(&str, &str)]) -> Value {
        eventually("a whole page", async || {
            let page = self.get("/contents/search", query).await;
            (page["partial"] == false).then_some(page)
        })
        .await
    }

    /// The best items of all modules.
    pub(super) async fn search_all(&self, keyword: &str) -> Value {
        let query = [("keyword", keyword), ("sort", "relevance"), ("top", "5"), ("timeout", "10000")];
        eventually("an answer of the contracts", async || {
            let top = self.get("/contents/search/all", &query).await["top"].clone();
            (top["partial"] == false).then_some(top)
        })
        .await
    }

    /// Every item of the module that the person may see.
    async fn items(&self, module: &str) -> Vec<Value> {
        let mut items = BTreeMap::new();
        // All that lack a word; the external system looks for it as a text, so its ids are asked for.
        for keyword in ["-zzzz", "C-20"] {
            let mut cursor = String::new();
            loop {
                let query =
                    [("moduleId", module), ("keyword", keyword), ("limit", "100"), ("paging", "cursor")];
                let query = query.into_iter().chain((!cursor.is_empty()).then_some(("cursor", &*cursor)));
                let page = self.whole_page(&query.collect::<Vec<_>>()).await;
                for item in page["data"].as_array().unwrap() {
                    items.insert(item["id"].to_string(), item.clone());
                }
                match page["cursor"].as_str() {
                    Some(next) => cursor = next.to_owned(),
                    None => break,
                }
            }
        }
        items.into_values().collect()
    }

    /// Asks it to end; returns what it wrote to standard error.
    async fn stop(mut self) -> String {
        let pid = self.child.0.id().to_string();
        let stopped = std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap();
        assert!(stopped.success());
        tokio::task::spawn_blocking(move || {
            let written = std::io::read_to_string(self.child.0.stderr.take().unwrap()).unwrap();
            assert!(self.child.0.wait().unwrap().success(), "{written}");
            written
        })
        .await
        .unwrap()
    }
}

fn http() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    text.split_once(start).and_then(|(_, rest)| rest.split_once(end)).unwrap().0
}

async fn sign_in(base: &str, login: &str) -> Caller {
    let mut browser = Browser::new(base);
    let back = browser.sign_in_at(&format!("{base}/session/start?to=/"), login, PASSWORD).await;
    let signed_in = browser.follow(back.as_str()).await;
    let (cookie, _) = signed_in.header("set-cookie").split_once(';').unwrap();
    Caller { cookie: cookie.to_owned(), ..Caller::new(&http(), base, "") }
}

#[tokio::test]
async fn demo_prints_its_own_lines_only() {
    let demo = Running::start().await;
    let printed = demo.printed.clone();
    let beginnings = [
        "listening on http://127.0.0.1:",
        "loading the sample content …",
        "",
        "Open http://127.0.0.1:",
        "Operate the server at http://127.0.0.1:",
        "Call it with the token in ",
        "",
        "Try holiday ",
        "Try 报销 ",
        "Try zhl ",
        "",
        "Stop with Ctrl-C, which deletes everything.",
    ];
    assert_eq!(printed.lines().count(), beginnings.len(), "{printed}");
    for (line, beginning) in printed.lines().zip(beginnings) {
        assert!(line.starts_with(beginning), "{line}: {beginning}");
        assert!(line.chars().count() <= 120, "{line}");
    }
    assert!(!printed.contains(demo.token()), "{printed}");
    let file = between(&printed, "with the token in ", ", as ").to_owned();
    assert_eq!(demo.stop().await, "", "standard error");
    assert!(!Path::new(&file).exists(), "{file}");
}

#[tokio::test]
async fn printed_password_signs_in_people_and_the_operator() {
    let demo = Running::start().await;
    let base = &demo.base;
    let login = between(&demo.printed, "/ and sign in as ", " with the password ");
    let operator = between(&demo.printed, "/console as ", " with the same password");
    assert_eq!(demo.password(), PASSWORD);

    let person = sign_in(base, login).await;
    let session = person.get("/session").await.body;
    assert_eq!(session["data"]["person"]["loginId"], login, "{session}");
    assert_eq!(session["data"]["operator"], false, "{session}");
    let found = person.get("/contents/search?moduleId=article&keyword=warehouse").await.body;
    assert_ne!(found["total"], 0, "{found}");

    let operator = sign_in(base, operator).await;
    let session = operator.get("/session").await.body;
    assert_eq!(session["data"]["operator"], true, "{session}");
    eventually("a check without a late call", async || {
        let report = operator.post_empty("/admin/v1/sources/contracts/check").await.body;
        (report["data"]["passed"] == true).then_some(())
    })
    .await;
}

#[tokio::test]
async fn password_is_random_where_others_reach_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("demo");
    let data = data.to_str().unwrap();
    let open = Running::start_with(&["--data", data, "--listen", "0.0.0.0:0"]).await;
    let random = open.password().to_owned();
    assert!(random.len() >= 16 && random != PASSWORD, "{random}");
    let contract = open.search("contracts", "虹口办公室租赁").await;
    assert_eq!(contract["data"][0]["id"], "C-2003", "{contract}");
    assert_eq!(contract["data"][0]["action"], Value::Null, "the pages are for this machine alone");
    open.stop().await;

    let local = Running::start_with(&["--data", data, "--listen", "127.0.0.1:0"]).await;
    assert_eq!(local.password(), PASSWORD);
    let session = sign_in(&local.base, "mei.chen").await.get("/session").await.body;
    assert_eq!(session["data"]["person"]["loginId"], "mei.chen", "{session}");
    local.stop().await;

    let open = Running::start_with(&["--data", data, "--listen", "0.0.0.0:0"]).await;
    let kept = open.password().to_owned();
    assert!(kept.len() >= 16 && kept != PASSWORD, "{kept}");
    open.stop().await;
    let open = Running::start_with(&["--data", data, "--listen", "0.0.0.0:0"]).await;
    assert_eq!(open.password(), kept);
}

#[tokio::test]
async fn server_without_the_flag_holds_nobody_and_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let _server = Server::start(directory.path()).await;
    let store = open_store(directory.path()).await;
    for table in ["tenants", "applications", "users", "contents", "search_sources"] {
        let rows: Vec<(i64,)> = read(&store, &format!("SELECT COUNT(*) FROM {table}"), Vec::new()).await;
        assert_eq!(rows, [(0,)], "{table}");
    }
    store.close().await.unwrap();
}

#[tokio::test]
async fn second_start_finds_the_data_of_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("demo");
    let arguments = ["--data", data.to_str().unwrap(), "--listen", "127.0.0.1:0"];
    let first = Running::start_with(&arguments).await;
    assert!(first.printed.contains("loading the sample content"), "{}", first.printed);
    let ending = format!("Stop with Ctrl-C, and {} keeps everything.", data.display());
    assert!(first.printed.contains(&ending), "{}", first.printed);
    let written = first
        .http
        .put(format!("{}/v1/contents/article", first.base))
        .bearer_auth(token_of_application(&first).await)
        .json(&serde_json::json!([{ "id": "X-1", "title": "A gyroscope for the reception" }]));
    assert!(written.send().await.unwrap().status().is_success());
    let before = first.items("todo").await;
    assert_eq!(first.stop().await, "");

    let second = Running::start_with(&arguments).await;
    assert!(!second.printed.contains("loading the sample content"), "{}", second.printed);
    assert_eq!(second.items("todo").await, before);
    let found = second.search("article", "gyroscope").await;
    assert_eq!(found["data"][0]["id"], "X-1", "{found}");
    let contract = second.search("contracts", "虹口办公室租赁").await;
    assert_eq!(contract["data"][0]["id"], "C-2003", "{contract}");
    assert_eq!(second.password(), PASSWORD);
    assert_eq!(second.stop().await, "");
}

#[test]
fn demo_that_is_stopped_while_it_loads_succeeds() {
    let mut command = trawl(&["serve", "--demo", "--listen", "127.0.0.1:0"]);
    let mut demo = Process(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(demo.0.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("loading the sample content")));
    let stop = Command::new("kill").args(["-TERM", &demo.0.id().to_string()]).status().unwrap();
    // The pipe stays open until the end.
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(stop.success() && demo.0.wait().unwrap().success(), "{rest:?}");
}

#[tokio::test]
async fn every_row_opens_and_every_link_answers() {
    let demo = Running::start().await;
    let mut links = BTreeSet::new();
    for module in MODULES {
        let items = demo.items(module).await;
        assert!(!items.is_empty(), "{module}");
        for item in &items {
            let id = item["id"].as_str().unwrap();
            let opened = demo.get(&format!("/v1/contents/{module}/{id}"), &[]).await;
            assert_eq!(opened["code"], 200, "{module}/{id}: {opened}");
            if let Some(address) = opened["data"]["opens"]["address"].as_str() {
                links.insert(address.to_owned());
            }
            assert_eq!(item["action"].is_null(), opened["data"]["opens"].is_null(), "{opened}");
            assert_eq!(item["image"], Value::Null, "{item}");
        }
    }
    assert!(links.len() >= 50, "the contracts have pages: {links:?}");
    for link in links {
        let page = demo.http.get(&link).send().await.unwrap();
        assert_eq!(page.status(), 200, "{link}");
        let id = link.rsplit('/').next().unwrap();
        assert!(page.text().await.unwrap().contains(id), "{link}");
    }
}

#[tokio::test]
async fn rows_are_spread_over_two_years() {
    let demo = Running::start().await;
    let loaded_at = demo.kept["loadedAt"].as_i64().unwrap();
    let mut ages = Vec::new();
    for module in MODULES.into_iter().filter(|module| *module != "department") {
        for item in demo.items(module).await {
            let age = loaded_at - item["displayTime"].as_i64().unwrap();
            assert!((0..=731 * DAY).contains(&age), "{module}: {item}");
            ages.push(age);
        }
    }
    let younger = |days: i64| ages.iter().filter(|age| **age < days * DAY).count();
    assert!(younger(1) * 5 < ages.len(), "{} of {} are of the last day", younger(1), ages.len());
    for quarter in 1..=8 {
        assert!(younger(quarter * 91) - younger((quarter - 1) * 91) >= 10, "quarter {quarter}");
    }
    let from = (loaded_at - 7 * DAY).to_string();
    let week = [("moduleId", "todo"), ("keyword", "-zzzz"), ("limit", "100"), ("from", from.as_str())];
    let week = demo.get("/contents/search", &week).await["total"].as_u64().unwrap();
    assert!(week > 0 && week < demo.items("todo").await.len() as u64, "{week}");
}

async fn token_of_application(demo: &Running) -> String {
    grant(demo, &[("grant_type", "client_credentials")]).await
}

async fn grant(demo: &Running, form: &[(&str, &str)]) -> String {
    let [id, secret] = ["clientId", "clientSecret"].map(|name| demo.kept[name].as_str().unwrap());
    let request =
        demo.http.post(format!("{}/oauth2/token", demo.base)).basic_auth(id, Some(secret)).form(form);
    let granted: Value = request.send().await.unwrap().json().await.unwrap();
    granted["access_token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn kept_token_finds_built_in_and_external_items() {
    let demo = Running::start().await;
    let search = async |keyword: &str, token: &str| -> Value {
        let query = [("keyword", keyword), ("sort", "relevance"), ("top", "20"), ("limit", "1")];
        let address = format!("{}/contents/search/all?timeout=10000", demo.base);
        eventually("an answer of the contracts", async || {
            let request = demo.http.post(&address).query(&query).bearer_auth(token);
            let answer: Value = request.send().await.unwrap().json().await.unwrap();
            (answer["top"]["partial"] == false && answer["partial"] == false).then_some(answer)
        })
        .await
    };

    let answer = search("warehouse", demo.token()).await;
    assert_eq!([&answer["code"], &answer["top"]["code"]], [200, 200], "{answer}");
    for entry in answer["data"].as_array().unwrap() {
        let is_expected =
            ["article", "feed", "todo", "contracts"].contains(&entry["module"]["code"].as_str().unwrap());
        assert!(!is_expected || entry["total"] != 0, "{entry}");
    }
    let items = answer["top"]["data"].as_array().unwrap();
    let modules: BTreeSet<&str> = items.iter().map(|item| item["module"].as_str().unwrap()).collect();
    assert!(modules.is_superset(&BTreeSet::from(["article", "contracts"])), "{modules:?}");

    let form = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("subject_token_type", "urn:trawl:params:oauth:token-type:login-id"),
        ("subject_token", "lars.devries"),
    ];
    let hers = search("budget", demo.token()).await;
    let his = search("budget", &grant(&demo, &form).await).await;
    let [hers, his] = [hers, his].map(|found| found["top"]["total"].as_u64().unwrap());
    assert!(his < hers, "{his} and {hers}");

    let ready: Value =
        demo.http.get(format!("{}/readyz", demo.base)).send().await.unwrap().json().await.unwrap();
    assert!(ready["indexPosition"].as_u64().unwrap() >= 300, "{ready}");
}
