//! A browser session of the pages.

use serde_json::{Value, json};
use url::{Position, Url};

use super::{answer::Answer, app::TestApp, browser::Browser, caller::Caller, login};

impl TestApp {
    /// A person of `acme`, given a password.
    pub(crate) async fn web_session(&self, login: &'static str) -> Caller {
        self.web_session_at("acme", login).await
    }

    /// The login equals the id.
    pub(crate) async fn web_session_at(&self, tenant: &str, login: &'static str) -> Caller {
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
        let back = browser.sign_in_at(url.unwrap().as_str(), login, "correct horse").await;
        browser.follow(back.as_str()).await
    }

    #[track_caller]
    pub(crate) fn session_of(&self, answer: &Answer) -> Caller {
        let (cookie, _) = answer.header("set-cookie").split_once(';').unwrap_or_default();
        assert!(cookie.contains("trawl-session="), "no session: {:?}", answer.headers);
        Caller { cookie: cookie.to_owned(), ..self.caller("") }
    }
}

/// A session at one of several servers, whose public address is another.
pub(crate) async fn web_session_at(base: &str, tenant: &str, login: &str, password: &str) -> Caller {
    let mut browser = login::Browser::new(base);
    let here = |url: Url| format!("{base}{}", &url[Position::BeforePath..]);
    let start = format!("{base}/session/start?tenant={tenant}&to=/&moved=1");
    let page = here(login::location(&browser.follow(&start).await));
    let page = browser.follow(&page).await;
    let back = here(login::location(&browser.submit(&page, login, password).await));
    let answer = browser.follow(&back).await;
    let (cookie, _) = answer.header("set-cookie").split_once(';').unwrap();
    Caller { cookie: cookie.to_owned(), ..Caller::new(&reqwest::Client::new(), base, "") }
}

/// Places at which both have the same byte: of random ones, a 256th.
pub(crate) fn same_bytes(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).filter(|(one, other)| one == other).count()
}

impl Caller {
    pub(crate) async fn info(&self) -> Value {
        self.get("/session").await.ok().data().clone()
    }

    pub(crate) async fn assert_ended(&self) {
        self.post_empty("/modules").await.fails(401, "the session has ended; sign in again");
        assert_eq!(self.info().await["signedIn"], false);
    }
}

impl Browser {
    pub(crate) async fn hold(&self, session: &Caller) {
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
