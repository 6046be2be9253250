//! Logins through the crate `oauth2` and the npm package `openid-client`.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{ChildStdin, ChildStdout, Command, Stdio},
};

use oauth2::{
    AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, HttpRequest, HttpResponse,
    PkceCodeChallenge, RedirectUrl, Scope, TokenResponse, TokenUrl, basic::BasicClient,
};
use serde_json::{Value, json};

use crate::util::{
    items::item,
    login::{CALLBACK, LoginSetup, location, parameter},
    program::Process,
};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oidc-provider");

const LOOPBACK: &str = "http://127.0.0.1/callback";
const LOOPBACK_WITH_A_PORT: &str = "http://127.0.0.1:51004/callback";

#[tokio::test]
async fn crate_oauth2_signs_a_person_in() {
    let setup = LoginSetup::start().await;
    let app = &setup.app;
    let loopback = app.portal(&[LOOPBACK], true).await;
    app.put_contents(&setup.acme.caller, "article", &[item("1", "harbour", 1)]).await;
    let confidential = (&setup.portal, CALLBACK, Some(setup.portal.secret()));
    let public = (&loopback, LOOPBACK_WITH_A_PORT, None);
    for (application, redirect_uri, secret) in [confidential, public] {
        let client = BasicClient::new(ClientId::new(application.client_id.clone()))
            .set_auth_uri(AuthUrl::new(format!("{}/oauth2/authorize", app.base)).unwrap())
            .set_token_uri(TokenUrl::new(format!("{}/oauth2/token", app.base)).unwrap())
            .set_redirect_uri(RedirectUrl::new(redirect_uri.to_owned()).unwrap());
        let client = match secret {
            Some(secret) => client.set_client_secret(ClientSecret::new(secret.to_owned())),
            None => client.set_auth_type(AuthType::RequestBody),
        };
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let (url, state) = client
            .authorize_url(CsrfToken::new_random)
            .add_scope(Scope::new("contents:read".to_owned()))
            .set_pkce_challenge(challenge)
            .url();

        let mut browser = app.browser();
        let shown = browser.follow(url.as_str()).await;
        let back = location(&browser.submit(&shown, "mei", "correct horse").await);
        assert!(back.as_str().starts_with(&format!("{redirect_uri}?")), "{back}");
        assert_eq!(&parameter(&back, "state"), state.secret());
        assert_eq!(parameter(&back, "iss"), setup.issuer());

        let code = AuthorizationCode::new(parameter(&back, "code"));
        let exchange = async |request: HttpRequest| {
            let request = reqwest::Request::try_from(request).unwrap();
            let response = app.http.execute(request).await?;
            let mut answer = HttpResponse::new(Vec::new());
            (*answer.status_mut(), *answer.headers_mut()) = (response.status(), response.headers().clone());
            *answer.body_mut() = response.bytes().await?.to_vec();
            Ok::<_, reqwest::Error>(answer)
        };
        let request = client.exchange_code(code).set_pkce_verifier(verifier);
        let token = request.request_async(&|request| Box::pin(exchange(request))).await.unwrap();
        let scopes: Vec<&str> = token.scopes().unwrap().iter().map(|scope| scope.as_str()).collect();
        assert_eq!(scopes, ["contents:read"]);
        let mei = app.caller(token.access_token().secret());
        assert_eq!(mei.find("article", "harbour").await, ["1"]);
        mei.post("/api/todo/batch_create", &json!([])).await.fails(403, "application token");
    }
}

struct OpenIdClient {
    _process: Process,
    stdin: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl OpenIdClient {
    fn start() -> Self {
        assert!(
            Path::new(FOLDER).join("node_modules/openid-client").exists(),
            "the client of these tests is not installed: run `npm ci --prefix tests/oidc-provider`, or ./tests/run"
        );
        let mut child = Command::new("node")
            .arg("client.mjs")
            .current_dir(FOLDER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("these tests need Node.js 20 or later as `node`");
        let stdin = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { _process: Process(child), stdin, answers }
    }

    async fn ask(mut self, line: String) -> (Self, Value) {
        let asking = tokio::task::spawn_blocking(move || {
            writeln!(self.stdin, "{line}").unwrap();
            let mut answer = String::new();
            self.answers.read_line(&mut answer).unwrap();
            let answer = serde_json::from_str(&answer).unwrap_or_else(|_| panic!("no answer: {answer:?}"));
            (self, answer)
        });
        asking.await.unwrap()
    }
}

#[tokio::test]
async fn package_openid_client_signs_a_person_in() {
    let setup = LoginSetup::start().await;
    let app = &setup.app;
    let loopback = app.portal(&[LOOPBACK], true).await;
    app.put_contents(&setup.acme.caller, "article", &[item("1", "harbour", 1)]).await;
    let confidential = (&setup.portal, CALLBACK, Some(setup.portal.secret()));
    for (application, redirect_uri, secret) in [confidential, (&loopback, LOOPBACK_WITH_A_PORT, None)] {
        let settings = json!({
            "issuer": setup.issuer(), "base": app.base, "clientId": application.client_id,
            "clientSecret": secret, "redirectUri": redirect_uri, "scope": "contents:read",
        });
        let (client, answer) = OpenIdClient::start().ask(settings.to_string()).await;
        let mut browser = app.browser();
        let page = browser.follow(answer["url"].as_str().unwrap()).await;
        let back = location(&browser.submit(&page, "mei", "correct horse").await);
        let (_, answer) = client.ask(back.into()).await;
        assert_eq!(answer["scope"], "contents:read", "{answer}");
        let mei = app.caller(answer["accessToken"].as_str().unwrap());
        assert_eq!(mei.find("article", "harbour").await, ["1"]);
    }
}

/// RFC 9207.
#[tokio::test]
async fn package_openid_client_detects_mix_up_and_refusal() {
    let setup = LoginSetup::start().await;
    let settings = |issuer: &str, scope: &str| {
        json!({
            "issuer": issuer, "base": setup.app.base, "clientId": setup.portal.client_id,
            "clientSecret": setup.portal.secret(), "redirectUri": CALLBACK, "scope": scope,
        })
        .to_string()
    };
    let mut browser = setup.app.browser();
    let (client, answer) = OpenIdClient::start().ask(settings("https://other.example", "tasks")).await;
    let page = browser.follow(answer["url"].as_str().unwrap()).await;
    let back = location(&browser.submit(&page, "mei", "correct horse").await);
    let (_, answer) = client.ask(back.into()).await;
    assert!(answer["error"].is_string() && answer["accessToken"].is_null(), "{answer}");

    let (client, answer) = OpenIdClient::start().ask(settings(&setup.issuer(), "files")).await;
    let back = location(&browser.follow(answer["url"].as_str().unwrap()).await);
    let (_, answer) = client.ask(back.into()).await;
    assert_eq!(answer["error"], "invalid_scope", "{answer}");
}
