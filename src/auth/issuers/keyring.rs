//! Keys and endpoints of one issuer.
//!
//! A missing key triggers a fetch, shared and rate limited. Cached keys survive the issuer's outages.

use std::{
    collections::HashMap,
    num::NonZeroU32,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use jsonwebtoken::{
    Algorithm, AlgorithmFamily, DecodingKey,
    jwk::{Jwk, PublicKeyUse},
};
use serde::Deserialize;
use serde_json::value::RawValue;
use trawl_connectors::{AddressRules, fetch_document, read_json};
use url::Url;

use crate::error::{Error, Result};

const FRESH_FOR: Duration = Duration::from_hours(1);

const FETCH_TIMEOUT: Duration = Duration::from_secs(10);

/// Burst of fetches; then one per [`FETCH_INTERVAL`].
const FETCHES_AT_ONCE: NonZeroU32 = NonZeroU32::new(5).unwrap();
const FETCH_INTERVAL: Duration = Duration::from_secs(10);

const MAX_BYTES: usize = 256 << 10;

const MAX_KEYS: usize = 100;

pub(super) struct Key {
    pub(super) verifying: DecodingKey,
    algorithm: Option<Algorithm>,
}

impl Key {
    pub(super) fn is_for(&self, algorithm: Algorithm) -> bool {
        self.verifying.family() == algorithm.family() && self.algorithm.is_none_or(|own| own == algorithm)
    }
}

pub(super) type Documents = Box<dyn Fn(Url) -> Document + Send + Sync>;
pub(super) type Document = BoxFuture<'static, std::result::Result<Vec<u8>, String>>;

pub(super) fn over_guarded_connections(rules: AddressRules) -> Documents {
    Box::new(move |url| {
        let rules = rules.clone();
        let fetched = async move { fetch_document("the issuer", &url, &rules, MAX_BYTES).await };
        fetched.map(|document| document.map_err(|error| error.to_string())).boxed()
    })
}

type Fetched = std::result::Result<Arc<FetchedKeys>, Arc<str>>;
type Fetch = Shared<BoxFuture<'static, Fetched>>;

struct FetchedKeys {
    by_id: HashMap<String, Arc<Key>>,
    endpoints: Arc<Endpoints>,
    fetched_at: Instant,
}

/// Optional endpoints (`OpenID` Connect Discovery §3, RFC 9207).
#[derive(Debug, Deserialize)]
pub(super) struct Endpoints {
    pub(super) authorization_endpoint: Option<String>,
    pub(super) token_endpoint: Option<String>,
    pub(super) userinfo_endpoint: Option<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

impl Endpoints {
    pub(super) fn wants_secret_in_body(&self) -> bool {
        self.token_endpoint_auth_methods_supported.as_ref().is_some_and(|methods| {
            let takes = |method: &str| methods.iter().any(|supported| supported == method);
            takes("client_secret_post") && !takes("client_secret_basic")
        })
    }
}

struct Inner {
    issuer: String,
    documents: Documents,
    current: ArcSwapOption<FetchedKeys>,
}

pub(super) struct Keyring {
    inner: Arc<Inner>,
    latest: Mutex<Option<Fetch>>,
    budget: DefaultDirectRateLimiter,
}

impl Keyring {
    pub(super) fn new(issuer: String, documents: Documents) -> Self {
        let quota = Quota::with_period(FETCH_INTERVAL).unwrap_or(Quota::per_minute(FETCHES_AT_ONCE));
        Self {
            inner: Arc::new(Inner { issuer, documents, current: ArcSwapOption::empty() }),
            latest: Mutex::new(None),
            budget: RateLimiter::direct(quota.allow_burst(FETCHES_AT_ONCE)),
        }
    }

    /// The key with this id; expired keys serve during a refresh.
    ///
    /// # Errors
    /// 503 without keys.
    pub(super) async fn find(&self, key_id: &str) -> Result<Option<Arc<Key>>> {
        let current = self.inner.current.load_full();
        if let Some(current) = &current
            && let Some(key) = current.by_id.get(key_id)
        {
            if current.fetched_at.elapsed() >= FRESH_FOR {
                drop(self.fetch());
            }
            return Ok(Some(Arc::clone(key)));
        }
        match self.fetch() {
            Some(fetch) => match fetch.await {
                Ok(keys) => Ok(keys.by_id.get(key_id).cloned()),
                Err(_) if current.is_none() => Err(unavailable()),
                Err(_) => Ok(None),
            },
            None if current.is_none() => Err(unavailable()),
            None => Ok(None),
        }
    }

    /// The endpoints; expired ones serve during a refresh.
    ///
    /// # Errors
    /// 503 without any.
    pub(super) async fn endpoints(&self) -> Result<Arc<Endpoints>> {
        if let Some(current) = self.inner.current.load_full() {
            if current.fetched_at.elapsed() >= FRESH_FOR {
                drop(self.fetch());
            }
            return Ok(Arc::clone(&current.endpoints));
        }
        let away = || Error::unavailable("the issuer is unavailable at the moment", FETCH_INTERVAL);
        let keys = self.fetch().ok_or_else(away)?.await.map_err(|_| away())?;
        Ok(Arc::clone(&keys.endpoints))
    }

    fn fetch(&self) -> Option<Fetch> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fetch) = latest.as_ref().filter(|fetch| fetch.peek().is_none()) {
            return Some(fetch.clone());
        }
        self.budget.check().ok()?;
        let inner = Arc::clone(&self.inner);
        let bounded = async move {
            let late = Err("the issuer did not answer in time".into());
            let fetched = tokio::time::timeout(FETCH_TIMEOUT, inner.fetch()).await.unwrap_or(late);
            match &fetched {
                Ok(keys) => inner.current.store(Some(Arc::clone(keys))),
                Err(reason) => {
                    tracing::warn!(issuer = inner.issuer, %reason, "the keys of an issuer could not be fetched");
                }
            }
            fetched
        };
        let fetch = AssertUnwindSafe(bounded)
            .catch_unwind()
            .map(|outcome| outcome.unwrap_or_else(|_| Err("fetching its keys was aborted".into())))
            .boxed()
            .shared();
        tokio::spawn(fetch.clone());
        *latest = Some(fetch.clone());
        Some(fetch)
    }
}

fn unavailable() -> Error {
    Error::unavailable("the keys of the token's issuer cannot be fetched at the moment", FETCH_INTERVAL)
}

#[derive(Deserialize)]
struct ProviderMetadata {
    issuer: String,
    jwks_uri: String,
    #[serde(flatten)]
    endpoints: Endpoints,
}

#[derive(Deserialize)]
struct FetchedKeySet {
    keys: Vec<Box<RawValue>>,
}

impl Inner {
    async fn fetch(&self) -> Fetched {
        let place = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let description: ProviderMetadata = read(&self.document(&place).await?, "description")?;
        if description.issuer != self.issuer {
            return Err(format!("its metadata names the issuer {:?}", shorten(&description.issuer)).into());
        }
        let set: FetchedKeySet = read(&self.document(&description.jwks_uri).await?, "key set")?;
        // A useless key does not discard the others.
        let by_id: HashMap<String, Arc<Key>> =
            set.keys.iter().filter_map(|key| read_key(key)).take(MAX_KEYS).collect();
        if by_id.is_empty() {
            return Err("its key set holds no key with an id that verifies signatures".into());
        }
        let endpoints = Arc::new(description.endpoints);
        Ok(Arc::new(FetchedKeys { by_id, endpoints, fetched_at: Instant::now() }))
    }

    async fn document(&self, place: &str) -> std::result::Result<Vec<u8>, Arc<str>> {
        let url = Url::parse(place).map_err(|_| "its jwks_uri is not an address")?;
        (self.documents)(url).await.map_err(Into::into)
    }
}

fn read<'d, T: Deserialize<'d>>(document: &'d [u8], name: &str) -> std::result::Result<T, Arc<str>> {
    read_json(document).map_err(|_| format!("its {name} is malformed").into())
}

/// A public signing key with an id. Shared secrets are rejected.
fn read_key(text: &RawValue) -> Option<(String, Arc<Key>)> {
    let jwk: Jwk = serde_json::from_str(text.get()).ok()?;
    let common = &jwk.common;
    if common.public_key_use.as_ref().is_some_and(|key_use| *key_use != PublicKeyUse::Signature) {
        return None;
    }
    let algorithm = match common.key_algorithm {
        Some(algorithm) => Some(Algorithm::try_from(algorithm).ok()?),
        None => None,
    };
    let verifying = DecodingKey::from_jwk(&jwk).ok()?;
    let is_public = verifying.family() != AlgorithmFamily::Hmac;
    let key_id = common.key_id.clone().filter(|_| is_public)?;
    Some((key_id, Arc::new(Key { verifying, algorithm })))
}

fn shorten(text: &str) -> String {
    text.chars().take(200).collect()
}
