//! Calls of the server's own HTTP interface.

use std::net::SocketAddr;

use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde_json::Value;

use super::DemoError;

/// The demo's application at the server.
pub(super) struct DemoClient {
    http: reqwest::Client,
    base: String,
    client_id: String,
    client_secret: SecretString,
}

impl DemoClient {
    pub(super) fn new(
        address: SocketAddr,
        client_id: String,
        client_secret: SecretString,
    ) -> Result<Self, DemoError> {
        let http = reqwest::Client::builder().no_proxy().build()?;
        Ok(Self { http, base: format!("http://{address}"), client_id, client_secret })
    }

    /// A token of the application, or of a person.
    pub(super) async fn token(&self, login: Option<&str>) -> Result<SecretString, DemoError> {
        let form: Vec<(&str, &str)> = match login {
            None => vec![("grant_type", "client_credentials")],
            Some(login) => vec![
                ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
                ("subject_token_type", "urn:trawl:params:oauth:token-type:login-id"),
                ("subject_token", login),
            ],
        };
        let request = self.http.post(format!("{}/oauth2/token", self.base)).form(&form);
        let request = request.basic_auth(&self.client_id, Some(self.client_secret.expose_secret()));
        let answer: Value = request.send().await?.json().await?;
        let token = answer["access_token"].as_str().map(SecretString::from);
        token.ok_or_else(|| DemoError::Content(answer.to_string()))
    }

    /// Fails unless all rows are accepted.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        token: &SecretString,
        rows: &impl Serialize,
    ) -> Result<(), DemoError> {
        let data = self.call(method, path, Some(token), rows).await?;
        let refused = data.get("error").unwrap_or(&data);
        if refused.as_array().is_some_and(Vec::is_empty) {
            Ok(())
        } else {
            Err(DemoError::Content(format!("{path}: {refused}")))
        }
    }

    pub(super) async fn post(
        &self,
        path: &str,
        token: &SecretString,
        body: &impl Serialize,
    ) -> Result<Value, DemoError> {
        self.call(Method::POST, path, Some(token), body).await
    }

    /// Returns the `data` of a success.
    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        token: Option<&SecretString>,
        body: &impl Serialize,
    ) -> Result<Value, DemoError> {
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        if let Some(token) = token {
            request = request.bearer_auth(token.expose_secret());
        }
        let mut answer: Value = request.json(body).send().await?.json().await?;
        if answer["code"] == 200 {
            Ok(answer["data"].take())
        } else {
            // The path of a robot's message holds its token.
            let path = path.split('?').next().unwrap_or_default();
            Err(DemoError::Content(format!("{path}: {answer}")))
        }
    }

    /// Puts a content at a signed address.
    pub(super) async fn put(&self, address: &str, content: String) -> Result<(), DemoError> {
        self.http.put(address).body(content).send().await?.error_for_status()?;
        Ok(())
    }
}
