//! A system that validates JWTs (RFC 9068) or introspects (RFC 7662).

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicI64, Ordering},
};

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header, jwk::JwkSet};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use trawl_connectors::ClientCredentials;
use url::Url;

use super::{
    TIMEOUT,
    external::auth,
    items::many,
    openid::{Endpoints, JWT_AUDIENCE, OPAQUE_AUDIENCE, Provider, SOURCE_CLIENT},
};

pub(crate) struct ProtectedSource {
    base: Url,
    guard: Arc<Guard>,
}

struct Guard {
    issuer: String,
    /// [`JWT_AUDIENCE`] is checked by the provider's keys, [`OPAQUE_AUDIENCE`] by introspection.
    audience: &'static str,
    endpoints: Endpoints,
    http: reqwest::Client,
    keys: tokio::sync::Mutex<JwkSet>,
    clock: AtomicI64,
    answered: Mutex<Vec<StatusCode>>,
}

#[derive(Deserialize)]
struct Grant {
    #[serde(default)]
    active: bool,
    #[serde(default)]
    iss: String,
    #[serde(default)]
    aud: String,
    #[serde(default)]
    scope: String,
}

impl ProtectedSource {
    /// Tokens need `audience` and the scope `search`.
    pub(crate) async fn start(provider: &Provider, audience: &'static str) -> Self {
        let guard = Arc::new(Guard {
            issuer: provider.issuer.clone(),
            audience,
            endpoints: provider.endpoints.clone(),
            http: reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build().unwrap(),
            keys: tokio::sync::Mutex::new(JwkSet { keys: Vec::new() }),
            clock: AtomicI64::new(0),
            answered: Mutex::default(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&guard));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { base, guard }
    }

    /// Form of its registration, with many concurrent calls.
    pub(crate) fn registration(&self, id: &str, credentials: &ClientCredentials) -> Value {
        json!({
            "id": id, "name": format!("System {id}"), "url": self.base.join("search").unwrap(),
            "auth": auth(credentials), "timeoutMs": 10_000, "pageSize": 10, "maxConcurrency": 128,
        })
    }

    /// Tokens expire that much earlier, or later for a negative number.
    pub(crate) fn put_clock_ahead(&self, seconds: i64) {
        self.guard.clock.store(seconds, Ordering::SeqCst);
    }

    pub(crate) fn answered(&self, status: u16) -> usize {
        self.guard.answered.lock().unwrap().iter().filter(|answered| **answered == status).count()
    }
}

async fn answer(State(guard): State<Arc<Guard>>, method: Method, headers: HeaderMap) -> Response {
    if method == Method::HEAD {
        // The request that opens a connection before the first search.
        return StatusCode::OK.into_response();
    }
    let authorization = headers.get(header::AUTHORIZATION).map_or("", |value| value.to_str().unwrap());
    let token = authorization.strip_prefix("Bearer ").unwrap_or_default();
    let (status, error) = match guard.check(token).await {
        None => (StatusCode::UNAUTHORIZED, "invalid_token"),
        Some(grant) if grant.scope.split(' ').any(|scope| scope == "search") => (StatusCode::OK, ""),
        Some(_) => (StatusCode::FORBIDDEN, "insufficient_scope"),
    };
    guard.answered.lock().unwrap().push(status);
    if status != StatusCode::OK {
        // RFC 6750 §3.
        return (status, [(header::WWW_AUTHENTICATE, format!("Bearer error=\"{error}\""))]).into_response();
    }
    let data = many("x", "harbour", 3, 1);
    let page = json!({"code": 200, "message": null, "data": data, "total": 3, "count": 3, "cursor": null});
    ([(header::CONTENT_TYPE, "application/json;charset=UTF-8")], page.to_string()).into_response()
}

impl Guard {
    /// `None` if the token is invalid here.
    async fn check(&self, token: &str) -> Option<Grant> {
        match self.audience {
            JWT_AUDIENCE => self.verify(token).await,
            OPAQUE_AUDIENCE => self.introspect(token).await,
            other => panic!("unknown audience {other}"),
        }
    }

    async fn verify(&self, token: &str) -> Option<Grant> {
        let header = decode_header(token).ok()?;
        let key = self.key(header.kid.as_deref()?).await?;
        let mut validation = Validation::new(Algorithm::ES256);
        validation.set_issuer(&[&self.issuer]);
        validation.set_audience(&[self.audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        let ahead = self.clock.load(Ordering::SeqCst);
        validation.leeway = u64::try_from(-ahead).unwrap_or(0);
        validation.reject_tokens_expiring_in_less_than = u64::try_from(ahead).unwrap_or(0);
        let verified = decode::<Grant>(token, &key, &validation).ok()?;
        (header.typ.as_deref() == Some("at+jwt")).then_some(verified.claims)
    }

    /// Fetches unknown keys again.
    async fn key(&self, id: &str) -> Option<DecodingKey> {
        let mut keys = self.keys.lock().await;
        if keys.find(id).is_none() {
            *keys = self.http.get(self.endpoints.keys.clone()).send().await.unwrap().json().await.unwrap();
        }
        keys.find(id).map(|key| DecodingKey::from_jwk(key).unwrap())
    }

    async fn introspect(&self, token: &str) -> Option<Grant> {
        let (id, secret) = SOURCE_CLIENT;
        let request = self.http.post(self.endpoints.introspection.clone()).form(&[("token", token)]);
        let answer = request.basic_auth(id, Some(secret)).send().await.unwrap();
        let grant: Grant = answer.json().await.unwrap();
        (grant.active && grant.iss == self.issuer && grant.aud == self.audience).then_some(grant)
    }
}
