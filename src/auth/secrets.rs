//! Client secrets: made at random, kept as Argon2id hashes (decisions 3.7).

use std::{sync::Arc, time::Duration};

use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use aws_lc_rs::rand;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use futures::{StreamExt, TryStreamExt};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Semaphore;

use crate::error::{Error, Result};

/// Checks that may wait for their turn, for each that may run.
const WAITING_FOR_EACH: usize = 32;

/// A new secret: 32 random bytes in URL-safe base64.
pub fn generate() -> Result<SecretString> {
    let mut bytes = [0; 32];
    rand::fill(&mut bytes).map_err(|_| Error::internal("no random bytes could be had"))?;
    Ok(SecretString::from(BASE64_URL_SAFE_NO_PAD.encode(bytes)))
}

/// The Argon2id hash of a secret, in PHC form.
pub fn hash(secret: &SecretString) -> Result<String> {
    let hash: argon2::PasswordHash = Argon2::default()
        .hash_password(secret.expose_secret().as_bytes())
        .map_err(|error| Error::internal(error.to_string()))?;
    Ok(hash.to_string())
}

/// Checks secrets against their hashes, a bounded number at once: each check takes 19 MiB and some 12 ms of a core, and
/// that of a wrong secret twice the time.
#[derive(Clone, Debug)]
pub struct SecretChecker {
    at_once: usize,
    running: Arc<Semaphore>,
    admitted: Arc<Semaphore>,
    /// Checked against when the application is not known, so that the time taken does not tell.
    decoy: Arc<str>,
}

impl SecretChecker {
    /// A checker that runs `at_once` checks at the most.
    pub fn new(at_once: usize) -> Result<Self> {
        let decoy = hash(&generate()?)?;
        Ok(Self {
            at_once,
            running: Arc::new(Semaphore::new(at_once)),
            admitted: Arc::new(Semaphore::new(at_once.saturating_mul(1 + WAITING_FOR_EACH))),
            decoy: decoy.into(),
        })
    }

    /// For each secret a hash of it: the one beside it where that was made of the same secret, else a new one. It takes its turn
    /// among the checks, so that they need not wait for all of it.
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

    /// Whether `secret` is the one that `hash` was made of; `None` takes as long and is false.
    ///
    /// # Errors
    /// 503 when too many checks wait already.
    pub async fn check(&self, secret: SecretString, hash: Option<String>) -> Result<bool> {
        self.check_either(secret, [hash, None]).await
    }

    /// The same, for a secret that may be the one of either hash. One that is neither takes as long whichever of them is there.
    ///
    /// # Errors
    /// As [`SecretChecker::check`].
    pub async fn check_either(&self, secret: SecretString, hashes: [Option<String>; 2]) -> Result<bool> {
        let _admitted = self.admitted.try_acquire().map_err(|_| {
            Error::unavailable("too many token requests wait already", Duration::from_secs(1))
        })?;
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
