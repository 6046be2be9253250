//! A client with a token.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::answer::Answer;

#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) http: reqwest::Client,
    pub(crate) base: String,
    pub(crate) token: String,
    /// The header `indicated-e-code`.
    pub(crate) tenant: Option<String>,
}

impl Caller {
    pub(crate) fn on(&self, tenant: &str) -> Self {
        Self { tenant: Some(tenant.to_owned()), ..self.clone() }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base)).bearer_auth(&self.token);
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
    Answer::read(request.send().await.unwrap()).await
}
