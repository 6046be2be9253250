use std::collections::HashMap;
use std::time::Duration;

use reqwest::Response;
use serde_json::Value;
use trawl_connectors::{
    AddressRules, Authentication, DEFAULT_MAX_BODY_BYTES, Method, SourceClient, SourceSettings,
};
use url::Url;

use crate::zoo::{self, Fault, Running};

/// A busy machine must not turn an answer into a late one.
const TIMEOUT: Duration = Duration::from_mins(1);
const IMPATIENCE: Duration = Duration::from_secs(1);

pub(crate) fn settings(url: Url, method: Method, authentication: Authentication) -> SourceSettings {
    SourceSettings {
        url,
        method,
        mapping: None,
        authentication,
        identity: None,
        timeout: TIMEOUT,
        max_concurrency: 1,
        max_body_bytes: DEFAULT_MAX_BODY_BYTES,
    }
}

pub(crate) fn settings_of(running: &Running, method: Method) -> SourceSettings {
    settings(running.url.clone(), method, Authentication::OAuth2Client(running.credentials()))
}

pub(crate) fn timeout_of(fault: &Fault) -> Duration {
    if fault.status == "timeout" { IMPATIENCE } else { TIMEOUT }
}

pub(crate) fn client(running: &Running, settings: SourceSettings) -> SourceClient {
    let rules = AddressRules::allowing([&running.url, &running.token_url]);
    SourceClient::new(settings, &rules).unwrap()
}

pub(crate) struct HttpCaller {
    running: Running,
    client: reqwest::Client,
    token: String,
}

impl HttpCaller {
    pub(crate) async fn start() -> Self {
        Self::with(zoo::start_healthy().await).await
    }

    pub(crate) async fn with(running: Running) -> Self {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut started = Self { running, client, token: String::new() };
        let token = started.token(&[]).await.unwrap();
        token["access_token"].as_str().unwrap().clone_into(&mut started.token);
        started
    }

    pub(crate) fn access_token(&self) -> &str {
        &self.token
    }

    pub(crate) async fn search(&self, parameters: &[(&str, &str)]) -> Response {
        self.search_with(Some(&self.token), parameters).await
    }

    pub(crate) async fn search_with(&self, token: Option<&str>, parameters: &[(&str, &str)]) -> Response {
        let request = self.client.get(self.running.url.clone()).query(parameters);
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        request.send().await.unwrap()
    }

    pub(crate) async fn page(&self, parameters: &[(&str, &str)]) -> Value {
        let answer = self.search(parameters).await;
        assert_eq!(answer.status(), 200, "{parameters:?}");
        answer.json().await.unwrap()
    }

    /// The token response to a valid form with `changed` fields, or its refusal.
    pub(crate) async fn token(&self, changed: &[(&str, &str)]) -> Result<Value, (u16, Value)> {
        let mut form = HashMap::from([
            ("grant_type", "client_credentials"),
            ("client_id", "reference"),
            ("client_secret", "demo-secret-known-to-everyone"),
        ]);
        form.extend(changed.iter().copied());
        let answer = self.client.post(self.running.token_url.clone()).form(&form).send().await.unwrap();
        let status = answer.status().as_u16();
        let body = answer.json().await.unwrap();
        if status == 200 { Ok(body) } else { Err((status, body)) }
    }

    pub(crate) async fn token_by_basic(&self, id: &str, secret: &str) -> Response {
        let request = self.client.post(self.running.token_url.clone()).basic_auth(id, Some(secret));
        request.form(&[("grant_type", "client_credentials")]).send().await.unwrap()
    }
}
