//! A browser session of the pages.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::{
    answer::Answer,
    app::TestApp,
    browser::Browser,
    caller::send,
    login::{self, location},
};

#[derive(Clone, Debug)]
pub(crate) struct WebSession {
    pub(crate) http: reqwest::Client,
    pub(crate) base: String,
    pub(crate) cookie: String,
    /// The header `indicated-e-code`.
    pub(crate) tenant: Option<String>,
}

impl TestApp {
    /// A person of `acme`, given a password.
    pub(crate) async fn web_session(&self, login: &'static str) -> WebSession {
        self.web_session_at("acme", login).await
    }

    /// The login equals the id.
    pub(crate) async fn web_session_at(&self, tenant: &str, login: &'static str) -> WebSession {
        self.set_password(login, "correct horse").await;
        let mut browser = self.browser();
        let answer = self.sign_in_to_pages(&mut browser, tenant, login, "/").await;
        self.session_of(&answer)
    }

    /// Returns the callback's answer.
    pub(crate) async fn sign_in_to_pages(
        &self,
        browser: &mut login::Browser,
        tenant: &str,
        login: &str,
        to: &str,
    ) -> Answer {
        let url = url::Url::parse_with_params(
            &format!("{}/session/start", self.base),
            [("tenant", tenant), ("to", to)],
        );
        let page = location(&browser.follow(url.unwrap().as_str()).await);
        let page = browser.follow(page.as_str()).await;
        let back = location(&browser.submit(&page, login, "correct horse").await);
        browser.follow(back.as_str()).await
    }

    #[track_caller]
    pub(crate) fn session_of(&self, answer: &Answer) -> WebSession {
        let (cookie, _) = answer.header("set-cookie").split_once(';').unwrap_or_default();
        assert!(cookie.contains("trawl-session="), "no session: {:?}", answer.headers);
        WebSession {
            http: self.http.clone(),
            base: self.base.clone(),
            cookie: cookie.to_owned(),
            tenant: None,
        }
    }
}

impl WebSession {
    pub(crate) fn on(&self, tenant: &str) -> Self {
        Self { tenant: Some(tenant.to_owned()), ..self.clone() }
    }

    /// Makes a request with the pages' header.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.bare_request(method, path).header("x-trawl-session", "1").header("sec-fetch-site", "same-origin")
    }

    /// Makes a request with the cookie only, as any site can cause.
    pub(crate) fn bare_request(&self, method: Method, path: &str) -> RequestBuilder {
        let request =
            self.http.request(method, format!("{}{path}", self.base)).header("cookie", &self.cookie);
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

    pub(crate) async fn info(&self) -> Value {
        self.get("/session").await.ok().data().clone()
    }

    pub(crate) async fn assert_ended(&self) {
        self.post_empty("/modules").await.fails(401, "the session has ended; sign in again");
        assert_eq!(self.info().await["signedIn"], false);
    }
}

impl Browser {
    pub(crate) async fn hold(&self, session: &WebSession) {
        let (name, value) = session.cookie.split_once('=').unwrap();
        let cookie = json!({
            "url": session.base, "name": name, "value": value, "path": "/", "httpOnly": true, "sameSite": "Strict",
        });
        assert_eq!(self.tell("Network.setCookie", cookie).await["success"], true);
    }

    pub(crate) async fn fill_in_login(&self, login: &str, password: &str) {
        for (field, text) in [("login", login), ("password", password)] {
            let field = self.client.find(&format!("#{field}")).await.unwrap();
            field.clear().await.unwrap();
            field.send_keys(text).await.unwrap();
        }
        self.client.find("button[type=submit]").await.unwrap().click().await.unwrap();
    }
}
