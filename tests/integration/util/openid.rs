//! The npm package `oidc-provider` in its own process; see `tests/oidc-provider/server.mjs`.

use std::{
    panic::resume_unwind,
    path::Path,
    process::{Child, ChildStdin, Command},
};

use serde::Deserialize;
use serde_json::{Value, json};
use trawl_connectors::{ClientCredentials, Grant};
use url::Url;

use super::{
    TIMEOUT,
    program::{Process, spawn_helper},
};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oidc-provider");

/// Audiences with JWTs and with opaque tokens.
pub(crate) const JWT_AUDIENCE: &str = "https://intranet.example/search";
pub(crate) const OPAQUE_AUDIENCE: &str = "https://archive.example/search";

pub(crate) const CLIENT: (&str, &str) = ("trawl", "secret-of-the-client");
pub(crate) const SOURCE_CLIENT: (&str, &str) = ("source", "secret-of-the-source");

/// Killed on drop and ended with this process.
pub(crate) struct Provider {
    pub(crate) issuer: String,
    pub(crate) endpoints: Endpoints,
    http: reqwest::Client,
    settings: Value,
    child: Process,
    /// Closing it ends the provider.
    _stdin: ChildStdin,
}

/// OIDC Discovery §3.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Endpoints {
    #[serde(rename = "token_endpoint")]
    pub(crate) token: Url,
    #[serde(rename = "jwks_uri")]
    pub(crate) keys: Url,
    #[serde(rename = "introspection_endpoint")]
    pub(crate) introspection: Url,
}

#[derive(Debug, Deserialize)]
struct TokenRequest {
    /// `basic` or `post`.
    method: String,
    status: u16,
}

/// Two clients and two audiences; tokens live an hour.
pub(crate) fn usual_settings() -> Value {
    json!({
        "port": 0,
        "clients": [client(CLIENT, "client_secret_basic"), client(SOURCE_CLIENT, "client_secret_basic")],
        "authMethods": ["client_secret_basic", "client_secret_post"],
        "scopes": ["search", "reports"],
        "resources": {
            JWT_AUDIENCE: {"scope": "search", "accessTokenFormat": "jwt"},
            OPAQUE_AUDIENCE: {"scope": "search", "accessTokenFormat": "opaque"},
        },
        "lives": [3600],
    })
}

pub(crate) fn client((id, secret): (&str, &str), method: &str) -> Value {
    json!({
        "client_id": id,
        "client_secret": secret,
        "token_endpoint_auth_method": method,
        "scope": "search",
    })
}

impl Provider {
    pub(crate) async fn start(settings: Value) -> Self {
        let http = reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build().unwrap();
        let line = settings.to_string();
        let started = tokio::task::spawn_blocking(move || spawn(&line)).await;
        let (child, stdin, issuer) = started.unwrap_or_else(|error| resume_unwind(error.into_panic()));
        let discovery = http.get(format!("{issuer}/.well-known/openid-configuration"));
        let endpoints = discovery.send().await.unwrap().json().await.unwrap();
        Self { issuer, endpoints, http, settings, child: Process(child), _stdin: stdin }
    }

    pub(crate) fn stop(&mut self) {
        self.child.0.kill().unwrap();
        self.child.0.wait().unwrap();
    }

    /// Starts again with other keys; needs a fixed port.
    pub(crate) async fn start_again(self) -> Self {
        let settings = self.settings.clone();
        drop(self);
        Self::start(settings).await
    }

    pub(crate) fn credentials(&self, audience: &str) -> ClientCredentials {
        let (id, secret) = CLIENT;
        ClientCredentials {
            grant: Grant::ClientCredentials,
            token_url: self.endpoints.token.clone(),
            client_id: id.to_owned(),
            client_secret: secret.into(),
            scope: Some("search".to_owned()),
            audience: Some(audience.to_owned()),
        }
    }

    pub(crate) async fn token_requests(&self) -> Vec<String> {
        let request = self.http.get(format!("{}/test/token-requests", self.issuer));
        let requests: Vec<TokenRequest> = request.send().await.unwrap().json().await.unwrap();
        requests.iter().map(|request| format!("{} {}", request.method, request.status)).collect()
    }
}

fn spawn(settings: &str) -> (Child, ChildStdin, String) {
    assert!(
        Path::new(FOLDER).join("node_modules/.package-lock.json").exists(),
        "the OpenID provider of these tests is not installed: run `npm ci --prefix tests/oidc-provider`, \
         or ./tests/run, which does so"
    );
    let mut command = Command::new("node");
    command.arg("server.mjs").current_dir(FOLDER);
    let (child, stdin, line) = spawn_helper(command, Some(settings), "{");
    let ready: Value = serde_json::from_str(&line).unwrap();
    (child, stdin, ready["issuer"].as_str().unwrap().to_owned())
}
