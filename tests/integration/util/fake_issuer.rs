//! A scripted `OpenID` Connect issuer with its own keys.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use axum::{
    Json, Router,
    extract::{Query, State},
    http::{HeaderMap, StatusCode},
    response::{Html, IntoResponse, Response},
    routing::{get, post},
};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, jwk::Jwk};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use trawl::{auth::tokens::epoch_seconds, config::IssuerSettings};

/// Id and secret; the secret needs form encoding.
pub(crate) const CLIENT: (&str, &str) = ("trawl at work", "s:e/c%r+e t=&ö");

pub(crate) struct FakeIssuer {
    pub(crate) issuer: String,
    pub(crate) key: EncodingKey,
    site: Arc<Site>,
}

struct Site {
    issuer: String,
    signing: EncodingKey,
    description: Mutex<Value>,
    keys: Value,
    answer: Mutex<(StatusCode, String)>,
    userinfo: Mutex<(StatusCode, String)>,
    asked: Mutex<Vec<(String, String)>>,
}

pub(crate) fn new_key() -> EncodingKey {
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
    EncodingKey::from_ec_der(pair.to_pkcs8v1().unwrap().as_ref())
}

impl FakeIssuer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let key = new_key();
        let mut public = Jwk::from_encoding_key(&key, Algorithm::ES256).unwrap();
        public.common.key_id = Some("one".to_owned());
        let description = json!({
            "issuer": issuer, "jwks_uri": format!("{issuer}/jwks"),
            "authorization_endpoint": format!("{issuer}/auth?style=plain"),
            "token_endpoint": format!("{issuer}/token"),
        });
        let site = Arc::new(Site {
            issuer: issuer.clone(),
            signing: key.clone(),
            description: Mutex::new(description),
            keys: json!({"keys": [public]}),
            answer: Mutex::new((StatusCode::NOT_FOUND, String::new())),
            userinfo: Mutex::default(),
            asked: Mutex::default(),
        });
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(describe))
            .route("/jwks", get(async |State(site): State<Arc<Site>>| Json(site.keys.clone())))
            .route("/token", post(give))
            .route("/userinfo", get(tell))
            .route("/auth", get(prove))
            .with_state(Arc::clone(&site));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { issuer, key, site }
    }

    /// Settings that trust it for people of `acme`.
    pub(crate) fn trusted(&self) -> IssuerSettings {
        serde_json::from_value(json!({
            "issuer": self.issuer, "audience": "https://trawl.example/", "tenant": "acme",
            "scopes": ["contents:read"], "algorithms": ["ES256"],
            "sign_in": {"name": "Staff", "client_id": CLIENT.0, "client_secret": CLIENT.1},
        }))
        .unwrap()
    }

    pub(crate) fn describe(&self, change: impl FnOnce(&mut Value)) {
        change(&mut self.site.description.lock().unwrap());
    }

    pub(crate) fn claims(&self, nonce: &str) -> Value {
        good_claims(&self.issuer, nonce)
    }

    pub(crate) fn answer(&self, status: u16, body: impl Into<String>) {
        *self.site.answer.lock().unwrap() = (StatusCode::from_u16(status).unwrap(), body.into());
    }

    pub(crate) fn give(&self, id_token: &str) {
        *self.site.answer.lock().unwrap() = (StatusCode::OK, token_answer(id_token));
    }

    /// Answers at a userinfo endpoint.
    pub(crate) fn tell(&self, status: u16, body: impl Into<String>) {
        self.describe(|description| {
            description["userinfo_endpoint"] = format!("{}/userinfo", self.issuer).into();
        });
        *self.site.userinfo.lock().unwrap() = (StatusCode::from_u16(status).unwrap(), body.into());
    }

    pub(crate) fn requests(&self) -> Option<(String, String)> {
        self.site.asked.lock().unwrap().pop()
    }
}

pub(crate) fn sign(key: &EncodingKey, claims: &Value, change: impl FnOnce(&mut Header)) -> String {
    let mut header = Header::new(Algorithm::ES256);
    header.kid = Some("one".to_owned());
    change(&mut header);
    encode(&header, claims, key).unwrap()
}

fn good_claims(issuer: &str, nonce: &str) -> Value {
    let now = epoch_seconds();
    json!({
        "iss": issuer, "aud": CLIENT.0, "sub": "1234", "iat": now, "exp": now + 600, "nonce": nonce,
        "preferred_username": "mei",
    })
}

fn token_answer(id_token: &str) -> String {
    json!({"access_token": "x", "token_type": "Bearer", "id_token": id_token}).to_string()
}

/// Sends the browser back, as if Mei had authenticated.
async fn prove(State(site): State<Arc<Site>>, Query(asked): Query<HashMap<String, String>>) -> Html<String> {
    let token = sign(&site.signing, &good_claims(&site.issuer, &asked["nonce"]), |_| {});
    *site.answer.lock().unwrap() = (StatusCode::OK, token_answer(&token));
    let (redirect_uri, state) = (&asked["redirect_uri"], &asked["state"]);
    Html(format!("<a id=\"back\" href=\"{redirect_uri}?code=x&amp;state={state}\">Go on</a>"))
}

async fn describe(State(site): State<Arc<Site>>) -> Json<Value> {
    Json(site.description.lock().unwrap().clone())
}

async fn tell(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    let authorization = headers["authorization"].to_str().unwrap();
    site.asked.lock().unwrap().push((authorization.to_owned(), "userinfo".to_owned()));
    let (status, body) = site.userinfo.lock().unwrap().clone();
    // Some issuers name no type.
    (status, [("location", "http://127.0.0.1:1/")], body).into_response()
}

async fn give(State(site): State<Arc<Site>>, headers: HeaderMap, form: String) -> Response {
    let authorization = headers.get("authorization").map_or("", |value| value.to_str().unwrap());
    site.asked.lock().unwrap().push((authorization.to_owned(), form));
    let (status, body) = site.answer.lock().unwrap().clone();
    (status, [("content-type", "application/json"), ("location", "http://127.0.0.1:1/")], body)
        .into_response()
}
