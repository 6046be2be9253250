//! A client with a token or a browser session.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::answer::Answer;

#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) http: reqwest::Client,
    pub(crate) base: String,
    pub(crate) token: String,
    /// Cookie of a browser session, in place of the token.
    pub(crate) cookie: String,
    /// The header `indicated-e-code`.
    pub(crate) tenant: Option<String>,
}

impl Caller {
    pub(crate) fn new(http: &reqwest::Client, base: &str, token: &str) -> Self {
        Self {
            http: http.clone(),
            base: base.to_owned(),
            token: token.to_owned(),
            cookie: String::new(),
            tenant: None,
        }
    }

    /// The same caller at another address.
    pub(crate) fn at(&self, base: &str) -> Self {
        Self { base: base.to_owned(), ..self.clone() }
    }

    pub(crate) fn on(&self, tenant: &str) -> Self {
        Self { tenant: Some(tenant.to_owned()), ..self.clone() }
    }

    /// Makes a request, in a session with the pages' header.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.bare_request(method, path);
        if self.cookie.is_empty() {
            request.bearer_auth(&self.token)
        } else {
            request.header("x-trawl-session", "1").header("sec-fetch-site", "same-origin")
        }
    }

    /// Makes a request with the session's cookie only, as any site can cause.
    pub(crate) fn bare_request(&self, method: Method, path: &str) -> RequestBuilder {
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        if !self.cookie.is_empty() {
            request = request.header("cookie", &self.cookie);
        }
        match &self.tenant {
            Some(tenant) => request.header("indicated-e-code", tenant),
            None => request,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        send(self.request(Method::GET, path)).await
    }

    pub(crate) async fn post_empty(&self, path: &str) -> Answer {
        send(self.request(Method::POST, path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        send(self.request(Method::POST, path).json(body)).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        send(self.request(Method::PUT, path).json(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        send(self.request(Method::DELETE, path)).await
    }

    /// Sends a text with the JSON content type.
    pub(crate) async fn send_text(&self, method: Method, path: &str, body: impl Into<String>) -> Answer {
        let request = self.request(method, path).header("content-type", "application/json");
        send(request.body(body.into())).await
    }

    pub(crate) async fn search(&self, parameters: &[(&str, &str)]) -> Answer {
        send(self.request(Method::POST, "/contents/search").query(parameters)).await
    }

    /// Registers a source as an operator, and a module over `sources`.
    pub(crate) async fn register_source(&self, source: &Value, module: &str, sources: &[&str]) {
        self.post("/admin/v1/sources", source).await.ok();
        self.register_module(module, sources).await;
    }

    /// Registers a module as an operator.
    pub(crate) async fn register_module(&self, module: &str, sources: &[&str]) {
        let module = json!({
            "id": format!("id-of-{module}"), "name": module, "code": module, "orderNo": 50, "type": 101,
            "sources": sources,
        });
        self.post("/admin/v1/modules", &module).await.ok();
    }

    pub(crate) async fn find(&self, module: &str, keyword: &str) -> Vec<String> {
        let parameters = [("moduleId", module), ("keyword", keyword), ("limit", "1000")];
        let answer = self.search(&parameters).await.ok();
        answer.ids().into_iter().map(str::to_owned).collect()
    }
}

pub(crate) async fn send(request: RequestBuilder) -> Answer {
    let again = request.try_clone();
    let answer = Answer::read(request.send().await.unwrap()).await;
    match again {
        // The database of a busy machine was late, and nothing was done.
        Some(again) if answer.status == 503 && answer.message() == "the database does not answer" => {
            Answer::read(again.send().await.unwrap()).await
        }
        _ => answer,
    }
}
