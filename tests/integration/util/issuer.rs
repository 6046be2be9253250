//! Sign-in at a real `OpenID` provider (`tests/oidc-provider/server.mjs`, `people`).

use reqwest::{Client, Response, header::LOCATION, redirect};
use serde::Deserialize;
use serde_json::{Value, json};
use trawl::{config::IssuerSettings, identity::scopes::TokenScope};
use url::Url;

use super::{
    TIMEOUT,
    login::{CHALLENGE, VERIFIER, parameter},
    openid::{Provider, usual_settings},
};

/// Token audiences: trawl, and another system.
pub(crate) const TRAWL: &str = "https://trawl.example/";
pub(crate) const ELSEWHERE: &str = "https://elsewhere.example/";

const PORTAL: (&str, &str) = ("portal", "secret-of-the-portal");
const CALLBACK: &str = "https://portal.example/callback";

#[derive(Deserialize)]
pub(crate) struct Tokens {
    pub(crate) access_token: String,
    pub(crate) id_token: String,
}

pub(crate) fn people(algorithm: &str) -> Value {
    let mut settings = usual_settings();
    let (id, secret) = PORTAL;
    settings["clients"].as_array_mut().unwrap().push(json!({
        "client_id": id, "client_secret": secret, "token_endpoint_auth_method": "client_secret_basic",
        "grant_types": ["authorization_code"], "response_types": ["code"], "redirect_uris": [CALLBACK],
        "scope": "openid search",
    }));
    for audience in [TRAWL, ELSEWHERE] {
        settings["resources"][audience] = json!({"scope": "search", "accessTokenFormat": "jwt"});
    }
    settings["people"] = json!(true);
    settings["algorithm"] = json!(algorithm);
    settings
}

/// Issuers of trawl's access tokens and the portal's ID tokens.
pub(crate) fn trusted(provider: &Provider, tenant: &str) -> Vec<IssuerSettings> {
    let trust = |audience: &str| {
        let scopes = [TokenScope::ContentsRead].map(TokenScope::as_str);
        serde_json::from_value(json!({
            "issuer": provider.issuer, "audience": audience, "tenant": tenant, "scopes": scopes,
        }))
        .unwrap()
    };
    vec![trust(TRAWL), trust(PORTAL.0)]
}

impl Provider {
    pub(crate) async fn sign_in(&self, name: &str, audience: &str) -> Tokens {
        let browser = new_browser();
        let parameters = [
            ("client_id", PORTAL.0),
            ("response_type", "code"),
            ("redirect_uri", CALLBACK),
            ("scope", "openid search"),
            ("resource", audience),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
        ];
        let start = Url::parse_with_params(&format!("{}/auth", self.issuer), parameters).unwrap();
        let callback = prove(&browser, start, name).await;
        let code = parameter(&callback, "code");
        let form = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
        ];
        let request = browser.post(self.endpoints.token.clone()).form(&form);
        let answer = request.basic_auth(PORTAL.0, Some(PORTAL.1)).send().await.unwrap();
        answer.error_for_status().unwrap().json().await.unwrap()
    }
}

impl Provider {
    /// Completes the provider's pages; returns the redirect.
    pub(crate) async fn prove(start: Url, name: &str) -> Url {
        prove(&new_browser(), start, name).await
    }
}

fn new_browser() -> Client {
    let browser = Client::builder().no_proxy().timeout(TIMEOUT).cookie_store(true);
    browser.redirect(redirect::Policy::none()).build().unwrap()
}

async fn prove(browser: &Client, start: Url, name: &str) -> Url {
    let page = target(&browser.get(start).send().await.unwrap());
    let login = [("prompt", "login"), ("login", name), ("password", "any")];
    let back = target(&browser.post(page).form(&login).send().await.unwrap());
    let page = target(&browser.get(back).send().await.unwrap());
    let back = target(&browser.post(page).form(&[("prompt", "consent")]).send().await.unwrap());
    target(&browser.get(back).send().await.unwrap())
}

#[track_caller]
fn target(response: &Response) -> Url {
    let location = response.headers().get(LOCATION);
    let location = location.unwrap_or_else(|| panic!("not a redirect: {}", response.status()));
    response.url().join(location.to_str().unwrap()).unwrap()
}
