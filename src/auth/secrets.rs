//! Secrets and their hashes.
//!
//! Client secrets are random and have a keyed hash. Passwords, and client secrets of earlier versions, have an Argon2id hash.

use std::{
    net::IpAddr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use argon2::{Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};
use aws_lc_rs::{hmac, rand};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use futures::{StreamExt, TryStreamExt};
use secrecy::{ExposeSecret, SecretString};
use trawl_fair::{Asker, FairPermit, FairSemaphore, TooManyWait};

use crate::{
    error::{Error, Result},
    http::client_address::network_of,
};

/// Checks that may wait for each that runs.
const WAITING_FOR_EACH: usize = 32;
/// Setting of a replica that knows keyed hashes, and their kind.
pub const KEYED_HASHES: &str = "client_secrets";
/// Begins a keyed hash, which is in URL-safe base64.
const KEYED: &str = "hmac-sha256:";

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

/// The hash of a secret of [`generate`], by a key of the server.
pub fn keyed_hash(key: &hmac::Key, secret: &SecretString) -> String {
    let tag = hmac::sign(key, secret.expose_secret().as_bytes());
    format!("{KEYED}{}", BASE64_URL_SAFE_NO_PAD.encode(tag))
}

/// Whether a hash is a keyed one.
pub fn is_keyed(hash: &str) -> bool {
    hash.starts_with(KEYED)
}

/// Whether the secret has this keyed hash, in constant time.
pub fn has_keyed_hash(key: &hmac::Key, secret: &SecretString, hash: &str) -> bool {
    let tag = hash.strip_prefix(KEYED).and_then(|tag| BASE64_URL_SAFE_NO_PAD.decode(tag).ok());
    tag.is_some_and(|tag| hmac::verify(key, secret.expose_secret().as_bytes(), &tag).is_ok())
}

/// The network or directory that checks are for. Each has a fair share of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SecretCheckFor {
    /// A network: an IPv4 /24 or an IPv6 /48.
    Network(IpAddr),
    /// A tenant whose directory brings passwords.
    Directory(i64),
}

impl SecretCheckFor {
    /// The network of a client's address.
    pub fn address(address: IpAddr) -> Self {
        Self::Network(network_of(address))
    }
}

/// Checks Argon2id hashes with bounded concurrency, in fair shares.
///
/// A check takes 19 MiB and about 12 ms of CPU, a failure twice that.
#[derive(Clone, Debug)]
pub struct SecretChecker {
    at_once: usize,
    people: CheckPermits,
    /// Places of clients whose hashes an earlier version made.
    clients: CheckPermits,
    /// Hash to check where there is none, against timing attacks.
    decoy: Arc<str>,
}

impl SecretChecker {
    /// A checker of `at_once` concurrent checks.
    pub fn new(at_once: usize) -> Result<Self> {
        let decoy = hash(&generate()?)?;
        let places = || FairSemaphore::new(at_once, at_once, at_once.saturating_mul(WAITING_FOR_EACH));
        Ok(Self { at_once, people: places(), clients: places(), decoy: decoy.into() })
    }

    /// Hashes each password of a directory, reusing given hashes that match.
    pub async fn hash_all(
        &self,
        tenant_id: i64,
        secrets: Vec<(SecretString, Option<String>)>,
    ) -> Result<Vec<String>> {
        let hashed = secrets.into_iter().map(|(secret, known)| async move {
            let directory = Asker { group: SecretCheckFor::Directory(tenant_id), member: String::new() };
            let permit = self.people.acquire_patiently(directory, 1).await;
            off_the_runtime(permit, move || {
                let bytes = secret.expose_secret().as_bytes();
                match known.filter(|known| Argon2::default().verify_password(bytes, known.as_str()).is_ok()) {
                    Some(known) => Ok(known),
                    None => hash(&secret),
                }
            })
            .await?
        });
        futures::stream::iter(hashed).buffered(self.at_once).try_collect().await
    }

    /// Whether the secret of a login matches; a hash of `None` takes as long.
    ///
    /// # Errors
    /// 503 when too many checks wait.
    pub async fn check(
        &self,
        asks: SecretCheckFor,
        login: String,
        secret: SecretString,
        hash: Option<String>,
    ) -> Result<bool> {
        let permit = self.people.acquire(Asker { group: asks, member: login }).await.map_err(busy)?;
        let decoy = Arc::clone(&self.decoy);
        let check = move || {
            let matches = has_slow_hash(&secret, hash.as_deref().unwrap_or(&decoy));
            hash.is_some() && matches
        };
        off_the_runtime(permit, check).await
    }

    /// Finds the Argon2id hash that a client's secret has.
    ///
    /// # Errors
    /// 503 when too many checks wait.
    pub async fn find_hash(
        &self,
        asks: SecretCheckFor,
        client_id: String,
        secret: SecretString,
        hashes: Vec<String>,
    ) -> Result<Option<String>> {
        let permit = self.clients.acquire(Asker { group: asks, member: client_id }).await.map_err(busy)?;
        off_the_runtime(permit, move || hashes.into_iter().find(|hash| has_slow_hash(&secret, hash))).await
    }
}

fn has_slow_hash(secret: &SecretString, hash: &str) -> bool {
    Argon2::default().verify_password(secret.expose_secret().as_bytes(), hash).is_ok()
}

/// Permits of networks and directories, for their logins or clients.
type CheckPermits = FairSemaphore<SecretCheckFor, String>;

/// A permit outlives a caller that leaves, as the work does.
async fn off_the_runtime<T: Send + 'static>(
    permit: FairPermit<SecretCheckFor, String>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let work = move || {
        let done = work();
        drop(permit);
        done
    };
    tokio::task::spawn_blocking(work).await.map_err(Error::internal)
}

fn busy(TooManyWait: TooManyWait) -> Error {
    Error::unavailable("too many secrets are being checked", Duration::from_secs(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keyed_hash_fits_its_secret_and_key_alone() {
        let keys = [1_u8, 2].map(|byte| hmac::Key::new(hmac::HMAC_SHA256, &[byte; 32]));
        let secrets = [generate().unwrap(), generate().unwrap()];
        let hash = keyed_hash(&keys[0], &secrets[0]);
        assert!(is_keyed(&hash) && has_keyed_hash(&keys[0], &secrets[0], &hash));
        assert!(!has_keyed_hash(&keys[0], &secrets[1], &hash));
        assert!(!has_keyed_hash(&keys[1], &secrets[0], &hash));
        for damaged in ["", KEYED, &hash[..hash.len() - 1], "hmac-sha256:*"] {
            assert!(!has_keyed_hash(&keys[0], &secrets[0], damaged), "{damaged}");
        }
    }

    #[test]
    fn addresses_of_one_network_wait_as_one() {
        let of = |address: &str| SecretCheckFor::address(address.parse().unwrap());
        assert_eq!(of("2001:db8:1:2::3"), of("2001:db8:1:ffff:1::"));
        assert_ne!(of("2001:db8:1::"), of("2001:db8:2::"));
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.200"));
        assert_ne!(of("192.0.2.1"), of("192.0.3.1"));
    }
}
