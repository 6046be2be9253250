//! Servers under load, and those who call them.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use md5::{Digest, Md5};
use reqwest::{Client, Method, RequestBuilder, redirect};
use serde_json::{Value, json};

use super::{
    foreign::{ForeignSystems, WIKI},
    inputs::Inputs,
    journal::Journal,
    texts,
};
use crate::util::{
    answer::Answer,
    app::{LOGIN_ID, TOKEN_EXCHANGE},
    caller::Caller,
    external::with,
    items::{NEW_YEAR, item, user},
    login::sealed_form_in,
    subscriptions::{SUBSCRIPTIONS, feed, form_of_view, write_views},
    tls::Authority,
};

/// The tenant of the people who search.
pub(super) const NORTHWIND: &str = "northwind";
/// The tenant of those who may be hostile.
pub(super) const MALLORY: &str = "mallory";
const PEOPLE: usize = 16;
pub(super) const MALLORYS_PEOPLE: usize = 64;
pub(super) const PASSWORD: &str = "correct horse";

/// Time after which a token is replaced.
const TOKEN_TIME: Duration = Duration::from_mins(5);
const TIMEOUT: Duration = Duration::from_mins(1);
const BATCH: usize = 1_000;

/// Views of a database that somebody else wrote: one step without an end, and large values.
pub(super) const HOSTILE_VIEWS: [(&str, &str); 2] = [
    (
        "endless",
        "SELECT 1, 'harbour', instr(printf('%.*c', 90000000, 'a'), printf('%.*c', 40000000, 'a') || 'b')",
    ),
    (
        "huge",
        "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 60) \
         SELECT n, printf('%d%.*c', n, 9000000, 'x'), n FROM n",
    ),
];
pub(super) const HARMLESS_VIEW: (&str, &str) = ("plain", "SELECT 1, 'harbour', 1");

/// Settings of the servers, with the folder of the views and the authority that they trust.
pub(super) fn settings(folder: &Path, authority: &Authority) -> Vec<(&'static str, String)> {
    vec![
        ("SSL_CERT_FILE", authority.file().display().to_string()),
        ("TRAWL_TRUSTED_PROXIES", "127.0.0.0/8".to_owned()),
        ("TRAWL_CONNECTORS__ALLOW_HTTP_HOSTS", "localhost".to_owned()),
        ("TRAWL_CONNECTORS__ALLOW_AUTH_NONE", "true".to_owned()),
        ("TRAWL_LIMITS__CONNECTIONS", "300".to_owned()),
        ("TRAWL_SUBSCRIPTIONS__FOLDERS", folder.display().to_string()),
        ("TRAWL_SEARCH__TIMEOUT_MS", "2000".to_owned()),
    ]
}

/// Logins of the demo's people; the first is greedy.
pub(super) fn logins() -> Vec<String> {
    demo_people().map(|person| person["loginId"].as_str().unwrap().to_owned()).collect()
}

fn demo_people() -> impl Iterator<Item = Value> {
    let rows = include_str!("../../../src/demo/data/users.jsonl").lines().take(PEOPLE + 1);
    rows.map(|row| serde_json::from_str(row).unwrap())
}

/// Scopes of applications.
pub(super) const SCOPES: [&str; 5] =
    ["directory:write", "contents:read", "contents:write", "files", "act-as-user"];

/// An application, or a person through it.
pub(super) struct Account {
    application: Value,
    login: Option<String>,
    /// The tenant that an operator names.
    acts_on: Option<&'static str>,
    token: tokio::sync::Mutex<Option<(Instant, String)>>,
}

impl Account {
    fn new(application: &Value, login: Option<&str>) -> Self {
        let login = login.map(str::to_owned);
        Self { application: application.clone(), login, acts_on: None, token: tokio::sync::Mutex::default() }
    }

    pub(super) fn secret(&self, name: &str) -> &str {
        self.application[name].as_str().unwrap()
    }
}

/// Applications of the two tenants, as `trawl app create --json` prints them.
pub(super) struct Applications {
    pub(super) northwind: Value,
    pub(super) mallory: Value,
    pub(super) mallorys_operator: Value,
    pub(super) northwinds_operator: Value,
}

pub(super) struct Workplace {
    pub(super) journal: Journal,
    bases: Vec<String>,
    /// Follows no redirects.
    pub(super) http: Client,
    pub(super) people: Vec<Account>,
    pub(super) writer: Account,
    /// A person of northwind who asks too much.
    pub(super) greedy: Account,
    pub(super) mallory: Account,
    pub(super) operator: Account,
    northwinds_operator: Account,
    pub(super) visitor: Account,
    pub(super) foreign: ForeignSystems,
    /// The harmless and the hostile ones.
    inputs: Arc<[Inputs; 2]>,
    is_hostile: Arc<AtomicBool>,
    /// Factor of all intervals between calls.
    pub(super) slowness: u32,
    /// Ids of acknowledged items of the writer.
    pub(super) written: Mutex<BTreeSet<String>>,
    /// Those that a walk through whole pages did not meet.
    pub(super) lost: Mutex<BTreeSet<String>>,
    /// Number of walks.
    pub(super) walks: AtomicUsize,
}

impl Workplace {
    /// Gives calls to the servers at these addresses.
    pub(super) async fn new(
        bases: Vec<String>,
        applications: &Applications,
        authority: &Authority,
        slowness: u32,
    ) -> Self {
        let is_hostile = Arc::new(AtomicBool::new(false));
        let inputs = Arc::new([Inputs::harmless(), Inputs::hostile()]);
        let logins = logins();
        let operator =
            |application, tenant| Account { acts_on: Some(tenant), ..Account::new(application, None) };
        let person = |login: &String| Account::new(&applications.northwind, Some(login));
        Self {
            journal: Journal::new(),
            bases,
            http: Client::builder()
                .no_proxy()
                .timeout(TIMEOUT)
                .redirect(redirect::Policy::none())
                .build()
                .unwrap(),
            people: logins[1..].iter().map(person).collect(),
            writer: Account::new(&applications.northwind, None),
            greedy: person(&logins[0]),
            mallory: Account::new(&applications.mallory, None),
            operator: operator(&applications.mallorys_operator, MALLORY),
            northwinds_operator: operator(&applications.northwinds_operator, NORTHWIND),
            visitor: Account::new(&applications.mallory, Some("m0")),
            foreign: ForeignSystems::start(Arc::clone(&is_hostile), Arc::clone(&inputs), authority).await,
            inputs,
            is_hostile,
            slowness,
            written: Mutex::default(),
            lost: Mutex::default(),
            walks: AtomicUsize::default(),
        }
    }

    pub(super) fn is_hostile(&self) -> bool {
        self.is_hostile.load(Ordering::Relaxed)
    }

    /// What strangers send at present.
    pub(super) fn inputs(&self) -> &Inputs {
        &self.inputs[usize::from(self.is_hostile())]
    }

    /// Whether strangers, and the systems that answer, mean harm from now on.
    pub(super) fn set_hostile(&self, is_hostile: bool) {
        self.is_hostile.store(is_hostile, Ordering::Relaxed);
    }

    /// The address of any server.
    pub(super) fn base(&self) -> &str {
        &self.bases[fastrand::usize(..self.bases.len())]
    }

    /// A caller with a token that is good for minutes; none while no server gives one.
    pub(super) async fn caller(&self, account: &Account) -> Option<Caller> {
        let mut token = account.token.lock().await;
        if token.as_ref().is_none_or(|(since, _)| since.elapsed() > TOKEN_TIME) {
            let granted = self.grant(account, account.secret("clientSecret"), None).await?;
            *token = Some((Instant::now(), granted.body["access_token"].as_str()?.to_owned()));
        }
        let (_, token) = token.as_ref()?;
        let caller = Caller::new(&self.http, self.base(), token);
        Some(Caller { tenant: account.acts_on.map(str::to_owned), ..caller })
    }

    /// Asks for a token, through a proxy if there is one.
    pub(super) async fn grant(&self, account: &Account, secret: &str, from: Option<&str>) -> Option<Answer> {
        let form = match &account.login {
            None => vec![("grant_type", "client_credentials")],
            Some(login) => vec![
                ("grant_type", TOKEN_EXCHANGE),
                ("subject_token_type", LOGIN_ID),
                ("subject_token", login),
            ],
        };
        let request = self.http.post(format!("{}/oauth2/token", self.base()));
        let request = request.basic_auth(account.secret("clientId"), Some(secret)).form(&form);
        Answer::receive(through(request, from)).await
    }

    /// Signs a person of a tenant in, and writes down how it ended.
    pub(super) async fn sign_in(&self, client: &'static str, person: (&str, &str), password: &str) {
        let call = async { self.try_to_sign_in(person, password).await.map_or(0, |answer| answer.status) };
        self.journal.write_down(client, call).await;
    }

    async fn try_to_sign_in(&self, (tenant, login): (&str, &str), password: &str) -> Option<Answer> {
        let (base, from) = (self.base().to_owned(), changing_address());
        let receive = async |request: RequestBuilder| Answer::receive(through(request, Some(&from))).await;
        let start = format!("{base}/session/start?tenant={tenant}&to=/&moved=1");
        let start = receive(self.http.get(start)).await?;
        // Replicas have one public address, where none of them listens here.
        let (_, login_page) = start.header("location").split_once("/oauth2/")?;
        let page = receive(self.http.get(format!("{base}/oauth2/{login_page}"))).await?;
        let Some(form) = sealed_form_in(&page.text) else { return Some(page) };
        let (cookie, _) = page.header("set-cookie").split_once(';')?;
        let fields = [("form", form.as_str()), ("login", login), ("password", password)];
        let request = self.http.post(format!("{base}/oauth2/authorize")).header("cookie", cookie);
        receive(request.form(&fields)).await
    }

    /// Makes a request of an account; none without an answer.
    ///
    /// A token that is refused is replaced once: the clock may have stepped since its issue.
    pub(super) async fn ask(
        &self,
        account: &Account,
        request: impl Fn(&Caller) -> RequestBuilder,
    ) -> Option<Answer> {
        let answer = Answer::receive(request(&self.caller(account).await?)).await?;
        if answer.status != 401 {
            return Some(answer);
        }
        *account.token.lock().await = None;
        Answer::receive(request(&self.caller(account).await?)).await
    }

    /// Makes a request of an account, and writes down how it ended.
    pub(super) async fn call(
        &self,
        client: &'static str,
        account: &Account,
        request: impl Fn(&Caller) -> RequestBuilder,
    ) -> Option<Answer> {
        let mut answered = None;
        let call = async {
            answered = self.ask(account, request).await;
            answered.as_ref().map_or(0, |answer| answer.status)
        };
        self.journal.write_down(client, call).await;
        answered
    }

    /// Adds the people who search, or gives those of the demo a password.
    pub(super) async fn add_people(&self) {
        let people = demo_people().map(|person| {
            let login = person["loginId"].as_str().unwrap();
            with_password(with(user(login, ""), "userId", person["userId"].clone()))
        });
        let application = self.caller(&self.writer).await.unwrap();
        let answer = application.put("/v1/users/sync", &people.collect()).await.ok();
        assert_eq!(answer.items(), [] as [Value; 0]);
    }

    /// Writes `items` items, half of them Chinese, and registers the feeds and sources of strangers.
    pub(super) async fn fill(&self, items: usize, folder: &Path) {
        let writer = self.caller(&self.writer).await.unwrap();
        for (module, texts) in [("feed", texts::chinese()), ("article", texts::english())] {
            for first in (0..items / 2).step_by(BATCH) {
                let item_of = |number: usize| {
                    let title = &texts[number % texts.len()];
                    item(&format!("{module}-{number}"), title, NEW_YEAR + i64::try_from(number).unwrap())
                };
                let batch: Vec<Value> = (first..first + BATCH).map(item_of).collect();
                writer.put(&format!("/v1/contents/{module}"), &Value::from(batch)).await.ok();
            }
        }
        let operator = self.caller(&self.northwinds_operator).await.unwrap();
        operator.register_source(&self.foreign.wiki(), WIKI, &[WIKI]).await;
        let people = (0..MALLORYS_PEOPLE).map(|number| with_password(user(&format!("m{number}"), "")));
        let mallory = self.caller(&self.mallory).await.unwrap();
        mallory.put("/v1/users/sync", &people.collect()).await.ok();
        let operator = self.caller(&self.operator).await.unwrap();
        for (id, address) in self.foreign.feeds() {
            operator.post(SUBSCRIPTIONS, &feed(id, &address)).await.ok();
        }
        let views = HOSTILE_VIEWS.iter().copied().chain([HARMLESS_VIEW]).collect::<Vec<_>>();
        let file = write_views(folder, &views).await;
        for (view, _) in views {
            operator.post(SUBSCRIPTIONS, &form_of_view(&file, view)).await.ok();
        }
        for (id, registration) in self.foreign.sources() {
            operator.register_source(&registration, id, &[id]).await;
        }
    }

    /// Acknowledged items of the writer that are not stored.
    pub(super) async fn missing_items(&self) -> Vec<String> {
        let writer = self.caller(&self.writer).await.unwrap();
        let written = self.written.lock().unwrap().clone();
        let mut missing = Vec::new();
        for id in written {
            let found =
                Answer::receive(writer.request(Method::GET, &format!("/v1/contents/article/{id}"))).await;
            if found.is_none_or(|found| found.status != 200) {
                missing.push(id);
            }
        }
        missing
    }
}

fn with_password(mut person: Value) -> Value {
    person["password"] = json!(BASE64_STANDARD.encode(Md5::digest(PASSWORD)));
    person
}

/// An address of a network of its own.
pub(super) fn changing_address() -> String {
    format!("2001:db8:{:x}:{:x}::1", fastrand::u16(..), fastrand::u16(..))
}

/// Lets a request come through a proxy from an address.
pub(super) fn through(request: RequestBuilder, from: Option<&str>) -> RequestBuilder {
    match from {
        Some(address) => request.header("x-forwarded-for", address),
        None => request,
    }
}
