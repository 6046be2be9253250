//! Assertions of trawl: short JWTs that name the person who searches.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use tokio::sync::Mutex;

/// Header of the assertion, as registered at trawl.
pub(crate) const HEADER: &str = "x-trawl-assertion";
/// Unknown keys cause at most one request within this time.
const BETWEEN_FETCHES: Duration = Duration::from_secs(1);

/// Verifier; clones share the keys.
#[derive(Clone)]
pub(crate) struct Assertions {
    keys_url: Arc<str>,
    validation: Arc<Validation>,
    keys: Arc<Mutex<KnownKeys>>,
}

#[derive(Default)]
struct KnownKeys {
    by_id: HashMap<String, DecodingKey>,
    fetched_at: Option<Instant>,
}

/// The claim that is used here; `login`, `tenant` and `departments` are others.
#[derive(Deserialize)]
struct Claims {
    sub: String,
}

impl Assertions {
    /// `keys_url` is trawl's `/oauth2/jwks`, `audience` the origin of this source.
    pub(crate) fn new(keys_url: &str, audience: &str) -> Self {
        let mut validation = Validation::new(Algorithm::ES256);
        validation.set_audience(&[audience]);
        validation.set_required_spec_claims(&["exp", "aud", "sub"]);
        Self { keys_url: keys_url.into(), validation: Arc::new(validation), keys: Arc::default() }
    }

    /// The id of the person who searches, if the request proves it.
    pub(crate) async fn person(&self, headers: &HeaderMap) -> Option<String> {
        let assertion = headers.get(HEADER)?.to_str().ok()?;
        let key = self.key(&decode_header(assertion).ok()?.kid?).await?;
        let claims = decode::<Claims>(assertion, &key, &self.validation).ok()?.claims;
        Some(claims.sub)
    }

    async fn key(&self, id: &str) -> Option<DecodingKey> {
        let mut keys = self.keys.lock().await;
        let is_fresh = keys.fetched_at.is_some_and(|fetched_at| fetched_at.elapsed() < BETWEEN_FETCHES);
        if !keys.by_id.contains_key(id) && !is_fresh {
            keys.fetched_at = Some(Instant::now());
            let response = reqwest::get(&*self.keys_url).await.ok()?;
            let published: JwkSet = response.json().await.ok()?;
            let by_id = published
                .keys
                .iter()
                .filter_map(|key| Some((key.common.key_id.clone()?, DecodingKey::from_jwk(key).ok()?)));
            keys.by_id = by_id.collect();
        }
        keys.by_id.get(id).cloned()
    }
}
