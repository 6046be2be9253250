//! Client secrets: random, stored as Argon2id hashes.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use argon2::{Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};
use aws_lc_rs::rand;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use futures::{StreamExt, TryStreamExt};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Semaphore;

use crate::error::{Error, Result};

const WAITING_FOR_EACH: usize = 32;

/// Cost of this process's new hashes. Tests set a low one; unset, it is Argon2's default.
pub static COST: OnceLock<Params> = OnceLock::new();

/// A new secret: 32 random bytes in URL-safe base64.
pub fn generate() -> Result<SecretString> {
    let mut bytes = [0; 32];
    rand::fill(&mut bytes).map_err(|_| Error::internal("the system returned no random bytes"))?;
    Ok(SecretString::from(BASE64_URL_SAFE_NO_PAD.encode(bytes)))
}

/// The Argon2id hash, in PHC form.
pub fn hash(secret: &SecretString) -> Result<String> {
    let cost = COST.get_or_init(Params::default).clone();
    let hash: argon2::PasswordHash = Argon2::new(Algorithm::default(), Version::default(), cost)
        .hash_password(secret.expose_secret().as_bytes())
        .map_err(|error| Error::internal(error.to_string()))?;
    Ok(hash.to_string())
}

/// Checks secrets with bounded concurrency.
///
/// A check takes 19 MiB and about 12 ms of CPU, a failure twice that.
#[derive(Clone, Debug)]
pub struct SecretChecker {
    at_once: usize,
    running: Arc<Semaphore>,
    admitted: Arc<Semaphore>,
    /// Hash to check where there is none, against timing attacks.
    decoy: Arc<str>,
}

impl SecretChecker {
    /// A checker of `at_once` concurrent checks.
    pub fn new(at_once: usize) -> Result<Self> {
        let decoy = hash(&generate()?)?;
        Ok(Self {
            at_once,
            running: Arc::new(Semaphore::new(at_once)),
            admitted: Arc::new(Semaphore::new(at_once.saturating_mul(1 + WAITING_FOR_EACH))),
            decoy: decoy.into(),
        })
    }

    /// Hashes each secret, reusing given hashes that match.
    pub async fn hash_all(&self, secrets: Vec<(SecretString, Option<String>)>) -> Result<Vec<String>> {
        let hashed = secrets.into_iter().map(|(secret, known)| async move {
            let _running = self.running.acquire().await.map_err(Error::internal)?;
            tokio::task::spawn_blocking(move || {
                let bytes = secret.expose_secret().as_bytes();
                match known.filter(|known| Argon2::default().verify_password(bytes, known.as_str()).is_ok()) {
                    Some(known) => Ok(known),
                    None => hash(&secret),
                }
            })
            .await
            .map_err(Error::internal)?
        });
        futures::stream::iter(hashed).buffered(self.at_once).try_collect().await
    }

    /// Whether `secret` matches; `None` takes as long.
    ///
    /// # Errors
    /// 503 when too many checks wait.
    pub async fn check(&self, secret: SecretString, hash: Option<String>) -> Result<bool> {
        self.check_either(secret, [hash, None]).await
    }

    /// Whether `secret` matches either hash, in constant time.
    pub async fn check_either(&self, secret: SecretString, hashes: [Option<String>; 2]) -> Result<bool> {
        let _admitted = self
            .admitted
            .try_acquire()
            .map_err(|_| Error::unavailable("too many token requests are waiting", Duration::from_secs(1)))?;
        let _running = self.running.acquire().await.map_err(Error::internal)?;
        let decoy = Arc::clone(&self.decoy);
        tokio::task::spawn_blocking(move || {
            hashes.into_iter().any(|hash| {
                let checked = hash.as_deref().unwrap_or(&decoy);
                let argon = Argon2::default();
                let matches = argon.verify_password(secret.expose_secret().as_bytes(), checked).is_ok();
                hash.is_some() && matches
            })
        })
        .await
        .map_err(Error::internal)
    }
}
