//! Sign-in without scripts, and the application's side of it.

use reqwest::{RequestBuilder, header::ACCEPT_LANGUAGE, redirect};
use serde_json::{Value, json};
use trawl::{
    auth::{
        applications::{Kind, LoginClient, NewApplication},
        login, secrets,
    },
    identity::scopes::TokenScope,
    platform::tenants::service::register_application,
    store::Store,
};
use url::Url;

use super::{
    TIMEOUT,
    answer::Answer,
    app::{Application, TestApp},
    database::write,
    items::user,
};

pub(crate) const CALLBACK: &str = "https://app.example/callback";

pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub(crate) const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

pub(crate) struct LoginSetup {
    pub(crate) app: TestApp,
    pub(crate) acme: Application,
    pub(crate) portal: Application,
}

impl LoginSetup {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// Mei has a password.
    pub(crate) async fn start_with(change: impl FnOnce(&mut trawl::config::Config)) -> Self {
        let (app, acme) = TestApp::start_acme_with(change).await;
        let portal = app.portal(&[CALLBACK], false).await;
        app.sync(&acme.caller, "users", &json!([user("mei", "")])).await;
        app.set_password("mei", "correct horse").await;
        Self { app, acme, portal }
    }

    pub(crate) fn parameters(&self) -> Vec<(&str, &str)> {
        login_parameters(&self.portal.client_id)
    }

    pub(crate) fn issuer(&self) -> String {
        self.app.app.config.public_url()
    }

    pub(crate) async fn sign_in(&self) -> String {
        let mut browser = self.app.browser();
        let page = browser.open(&self.parameters()).await;
        let answer = browser.submit(&page, "mei", "correct horse").await;
        parameter(&location(&answer), "code")
    }

    pub(crate) async fn use_code(&self, code: &str) -> Answer {
        self.app.grant(&self.portal, &code_form(code)).await
    }
}

pub(crate) fn login_parameters(client_id: &str) -> Vec<(&str, &str)> {
    vec![
        ("response_type", "code"),
        ("client_id", client_id),
        ("redirect_uri", CALLBACK),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("state", "st&te ö"),
    ]
}

pub(crate) fn code_form(code: &str) -> [(&str, &str); 4] {
    [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
    ]
}

impl TestApp {
    /// It signs people in and may only search.
    pub(crate) async fn portal(&self, redirect_uris: &[&str], is_public: bool) -> Application {
        // A public client cannot have this scope.
        let more = (!is_public).then_some(TokenScope::ActAsUser);
        let new = NewApplication {
            tenant: "acme".to_owned(),
            kind: Kind::Application,
            bound: Vec::new(),
            scopes: Some([TokenScope::ContentsRead, TokenScope::Tasks].into_iter().chain(more).collect()),
            name: "The <Portal>".to_owned(),
            login: LoginClient {
                redirect_uris: redirect_uris.iter().map(|uri| (*uri).to_owned()).collect(),
                is_public,
            },
        };
        let registered = register_application(&self.app.store, &self.app.keys, new).await.unwrap();
        Application {
            tenant: "acme".to_owned(),
            tenant_id: registered.tenant.id,
            client_id: registered.credentials.client_id,
            client_secret: registered.credentials.client_secret,
            caller: self.caller(""),
        }
    }

    pub(crate) async fn set_password(&self, user_id: &str, password: &str) {
        set_password(&self.app.store, user_id, password).await;
    }

    pub(crate) fn browser(&self) -> Browser {
        Browser::of(self.http.clone(), &self.base)
    }
}

impl Browser {
    pub(crate) fn new(base: &str) -> Self {
        let http = reqwest::Client::builder().no_proxy().timeout(TIMEOUT);
        Self::of(http.redirect(redirect::Policy::none()).build().unwrap(), base)
    }

    fn of(http: reqwest::Client, base: &str) -> Self {
        Self {
            http,
            address: format!("{base}/oauth2/authorize"),
            cookie: None,
            language: "en",
            forwarded_for: None,
            user_agent: None,
        }
    }
}

/// Follows no redirects.
pub(crate) struct Browser {
    http: reqwest::Client,
    address: String,
    pub(crate) cookie: Option<String>,
    pub(crate) language: &'static str,
    pub(crate) forwarded_for: Option<String>,
    pub(crate) user_agent: Option<String>,
}

impl Browser {
    pub(crate) async fn open(&mut self, parameters: &[(&str, &str)]) -> Answer {
        let request = self.http.get(&self.address).query(parameters);
        self.send(request).await
    }

    pub(crate) async fn follow(&mut self, url: &str) -> Answer {
        let request = self.http.get(url);
        self.send(request).await
    }

    /// Signs in at the login page to which `start` leads; returns the callback's address.
    pub(crate) async fn sign_in_at(&mut self, start: &str, login: &str, password: &str) -> Url {
        let page = location(&self.follow(start).await);
        let page = self.follow(page.as_str()).await;
        location(&self.submit(&page, login, password).await)
    }

    pub(crate) async fn submit(&mut self, page: &Answer, login: &str, password: &str) -> Answer {
        let form = sealed_form(page);
        self.submit_form(&form, login, password).await
    }

    pub(crate) async fn submit_form(&mut self, form: &str, login: &str, password: &str) -> Answer {
        let fields = [("form", form), ("login", login), ("password", password)];
        let request = self.http.post(&self.address).form(&fields);
        self.send(request).await
    }

    /// Sends the code for which the login page asks.
    pub(crate) async fn submit_code(&mut self, page: &Answer, code: &str) -> Answer {
        let form = sealed_form(page);
        let request = self.http.post(&self.address).form(&[("form", form.as_str()), ("code", code)]);
        self.send(request).await
    }

    async fn send(&mut self, request: RequestBuilder) -> Answer {
        let request = request.header(ACCEPT_LANGUAGE, self.language);
        let request = match &self.cookie {
            Some(cookie) => request.header("cookie", cookie),
            None => request,
        };
        let request = match &self.forwarded_for {
            Some(address) => request.header("x-forwarded-for", address),
            None => request,
        };
        let request = match &self.user_agent {
            Some(user_agent) => request.header("user-agent", user_agent.as_bytes()),
            None => request,
        };
        let answer = Answer::read(request.send().await.unwrap()).await;
        if let Some((cookie, _)) = answer.header("set-cookie").split_once(';') {
            let (name, _) = cookie.split_once('=').unwrap();
            let held = self.cookie.take().unwrap_or_default();
            let others =
                held.split("; ").filter(|other| other.split('=').next() != Some(name) && !other.is_empty());
            self.cookie = Some(others.chain([cookie]).collect::<Vec<_>>().join("; "));
        }
        answer
    }
}

#[track_caller]
pub(crate) fn sealed_form(page: &Answer) -> String {
    sealed_form_in(&page.text).unwrap_or_else(|| panic!("no form: {}", page.text))
}

pub(crate) fn sealed_form_in(page: &str) -> Option<String> {
    let (_, rest) = page.split_once(r#"name="form" value=""#)?;
    rest.split('"').next().map(str::to_owned)
}

#[track_caller]
pub(crate) fn location(answer: &Answer) -> Url {
    assert_eq!(answer.status, 303, "{}", answer.text);
    assert_eq!(answer.header("cache-control"), "no-store");
    answer.header("location").parse().unwrap()
}

#[track_caller]
pub(crate) fn parameter(url: &Url, name: &str) -> String {
    let values: Vec<String> =
        url.query_pairs().filter(|(key, _)| key == name).map(|(_, value)| value.into_owned()).collect();
    assert_eq!(values.len(), 1, "{name} in {url}");
    values.into_iter().next().unwrap()
}

pub(crate) fn claims(token: &str) -> Value {
    jsonwebtoken::dangerous::insecure_decode(token).unwrap().claims
}

pub(crate) async fn set_password(store: &Store, user_id: &str, password: &str) {
    let hash = secrets::hash(&login::digest(&password.into())).unwrap();
    let text = "UPDATE users SET password_hash = ? WHERE user_id = ?";
    write(store, vec![(text.to_owned(), vec![hash.into(), user_id.into()])], Vec::new()).await;
}
