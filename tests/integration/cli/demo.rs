use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader},
    process::{Child, Stdio},
};

use reqwest::Method;
use serde_json::Value;

use crate::util::{
    login::{Browser, location},
    program::trawl,
};

pub(super) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(super) fn start() -> (Running, String) {
    let mut command = trawl(&["serve", "--demo", "--listen", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut printed = String::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    while !printed.contains("Stop with Ctrl-C") {
        assert_ne!(lines.read_line(&mut printed).unwrap(), 0, "the demo ended: {printed}");
    }
    (Running(child), printed)
}

pub(super) fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    text.split_once(start).and_then(|(_, rest)| rest.split_once(end)).unwrap().0
}

struct Session {
    http: reqwest::Client,
    base: String,
    cookie: String,
}

impl Session {
    async fn begin(base: &str, login: &str, password: &str) -> Self {
        let mut browser = Browser::new(base);
        let start = browser.follow(&format!("{base}/session/start?to=/")).await;
        let page = browser.follow(location(&start).as_str()).await;
        let back = location(&browser.submit(&page, login, password).await);
        let signed_in = browser.follow(back.as_str()).await;
        let (cookie, _) = signed_in.header("set-cookie").split_once(';').unwrap();
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { http, base: base.to_owned(), cookie: cookie.to_owned() }
    }

    async fn ask(&self, method: Method, path: &str) -> Value {
        let request = self.http.request(method, format!("{}{path}", self.base));
        let request = request.header("cookie", &self.cookie).header("x-trawl-session", "1");
        request.send().await.unwrap().json().await.unwrap()
    }
}

#[tokio::test]
async fn printed_password_signs_in_people_and_the_operator() {
    let (demo, printed) = tokio::task::spawn_blocking(start).await.unwrap();
    let base = between(&printed, "\nOpen ", "/ and sign in as ");
    let login = between(&printed, "/ and sign in as ", " with the password ");
    let password = between(&printed, " with the password ", "\n");
    let operator = between(&printed, "/console as ", " with the same password");
    assert!(password.len() >= 16, "{password}");

    let person = Session::begin(base, login, password).await;
    let session = person.ask(Method::GET, "/session").await;
    assert_eq!(session["data"]["person"]["loginId"], login, "{session}");
    assert_eq!(session["data"]["operator"], false, "{session}");
    let found = person.ask(Method::GET, "/contents/search?moduleId=all&keyword=warehouse").await;
    assert_ne!(found["total"], 0, "{found}");

    let operator = Session::begin(base, operator, password).await;
    let session = operator.ask(Method::GET, "/session").await;
    assert_eq!(session["data"]["operator"], true, "{session}");
    let report = operator.ask(Method::POST, "/admin/v1/sources/contracts/check").await;
    assert_eq!(report["data"]["passed"], true, "{report}");
    drop(demo);
}

#[tokio::test]
async fn printed_curl_finds_built_in_and_external_items() {
    let (demo, printed) = tokio::task::spawn_blocking(start).await.unwrap();
    let url = between(&printed, "curl -sS -X POST '", "'");
    let token = between(&printed, "Authorization: Bearer ", "'");
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let search = async |url: &str, token: &str| -> Value {
        http.post(url).bearer_auth(token).send().await.unwrap().json().await.unwrap()
    };

    let answer = search(url, token).await;
    assert_eq!(answer["code"], 200, "{answer}");
    assert_eq!(answer["partial"], false, "{answer}");
    let sources = answer["sources"].as_array().unwrap();
    assert_eq!(sources.len(), 4);
    for source in sources {
        assert_eq!(source["status"], "ok", "{source}");
        assert_ne!(source["total"], 0, "{source}");
    }
    let items = answer["data"].as_array().unwrap();
    let kinds: BTreeSet<char> =
        items.iter().map(|item| item["id"].as_str().unwrap().chars().next().unwrap()).collect();
    assert!(kinds.is_superset(&BTreeSet::from(['A', 'C', 'F'])), "articles, contracts and feeds: {kinds:?}");
    assert!(items.is_sorted_by_key(|item| std::cmp::Reverse(item["displayTime"].as_i64())), "{items:?}");

    let credentials = between(&printed, "asked for with: ", "\n");
    let (client_id, secret) = credentials.split_once(' ').unwrap();
    let base = between(url, "", "/contents");
    let form = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("subject_token_type", "urn:trawl:params:oauth:token-type:login-id"),
        ("subject_token", "lars.devries"),
    ];
    let request = http.post(format!("{base}/oauth2/token")).basic_auth(client_id, Some(secret)).form(&form);
    let granted: Value = request.send().await.unwrap().json().await.unwrap();
    let budget = format!("{base}/contents/search?moduleId=all&keyword=budget&limit=100");
    let hers = search(&budget, token).await;
    let his = search(&budget, granted["access_token"].as_str().unwrap()).await;
    assert!(his["total"].as_u64() < hers["total"].as_u64(), "{} and {}", his["total"], hers["total"]);

    let base_of = |module: &str, keyword: &str| {
        format!("{base}/contents/search?moduleId={module}&sort=relevance&keyword={keyword}")
    };
    for (module, keyword, id) in [
        ("people", "zhouhailan", "u-hailan-zhou"),
        ("people", "zhl", "u-hailan-zhou"),
        ("people", "wang.fang", "u-wang-fang"),
        ("people", "novak", "u-tomas-novak"),
        ("department", "caiwubu", "d-finance"),
        ("department", "rotterdam", "d-rotterdam"),
    ] {
        let found = search(&base_of(module, keyword), token).await;
        assert_eq!(found["data"][0]["id"], id, "{keyword}: {found}");
    }

    for (module, keyword) in [
        ("done", "warehouse"),
        ("favorite", "board"),
        ("group", "仓库"),
        ("group", "budget"),
        ("message", "forklift"),
        ("file", "umbrella"),
        ("file", "喇叭"),
    ] {
        let found = search(&base_of(module, keyword), token).await;
        assert_ne!(found["total"], 0, "{module}, {keyword}: {found}");
    }

    let metrics = http.get(format!("{base}/readyz")).send().await.unwrap().json::<Value>().await.unwrap();
    assert!(metrics["indexPosition"].as_u64().unwrap() >= 300, "{metrics}");
    drop(demo);
}
