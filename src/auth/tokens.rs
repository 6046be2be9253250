//! Access tokens: signed JWTs of RFC 9068.

use std::sync::Arc;

use arc_swap::ArcSwap;
use jsonwebtoken::{Algorithm, Validation, decode, decode_header, errors::ErrorKind, jwk::Jwk};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    keys::Keys,
    signing_keys::{self, SigningKeyInfo, SigningKeys},
    tenants::Tenant,
};
use crate::{
    audit::{self, Actor, AuditEvent},
    error::{Error, Result},
    identity::scopes::Scopes,
    store::{Cached, Generation, Store, now_millis},
};

/// By which the clocks of replicas may differ.
const CLOCK_SKEW_SECONDS: u64 = 60;

const TOKEN_TYPE: &str = "at+jwt";

/// The claims of a token (RFC 9068 §2.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// Issuer: the server's public address.
    pub iss: String,
    /// Audience: this database.
    pub aud: String,
    /// Application, or the person's synchronised id.
    pub sub: String,
    /// Requesting application.
    pub client_id: String,
    /// Expiry, epoch seconds.
    pub exp: u64,
    /// Issue, epoch seconds.
    pub iat: u64,
    /// Token id.
    pub jti: String,
    /// Scopes, space-separated (RFC 8693 §4.2).
    pub scope: String,
    /// Tenant number.
    pub tenant: i64,
    /// The application's epoch at issue.
    pub epoch: i64,
    /// Claims of a user token; otherwise `sub` is the application.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<UserClaims>,
}

/// A user token's claims on its person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserClaims {
    /// The person's epoch at issue.
    pub epoch: i64,
    /// Number of the device's binding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<i64>,
}

/// The subject of a new token.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Requesting application.
    pub client_id: String,
    /// The application's epoch.
    pub epoch: i64,
    /// Tenant number.
    pub tenant_id: i64,
    /// The person's synchronised id and claims, for a user token.
    pub user: Option<(String, UserClaims)>,
    /// Scopes.
    pub scopes: Scopes,
}

/// Signs and verifies tokens with stored keys.
pub struct Tokens {
    store: Store,
    sealing: Arc<Keys>,
    keys: ArcSwap<(Generation, SigningKeys)>,
    validation: Validation,
    issuer: String,
    audience: String,
    lifetime_seconds: u32,
}

impl Tokens {
    /// Loads the signing keys, or creates one. Tokens name `issuer`.
    pub async fn load(
        store: &Store,
        keys: &Arc<Keys>,
        issuer: String,
        lifetime_seconds: u32,
    ) -> Result<Arc<Self>> {
        let generation = store.generations().now(Cached::SigningKeys);
        let mut stored = signing_keys::read(store.reader(), keys).await?;
        if stored.current().is_err() {
            let sealing = Arc::clone(keys);
            let job = store.write(move |transaction| {
                Box::pin(async move {
                    // Another replica may have started at once.
                    if signing_keys::read(transaction, &sealing).await?.current().is_err() {
                        signing_keys::add(transaction, &sealing, lifetime_seconds).await?;
                    }
                    Ok(())
                })
            });
            job.await?;
            stored = signing_keys::read(store.reader(), keys).await?;
        }
        let audience = format!("urn:trawl:{}", store.id());
        // No issuer check: the public address may change. Key and audience prove the origin.
        let mut validation = Validation::new(Algorithm::ES256);
        validation.set_audience(&[&audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        validation.validate_nbf = true;
        validation.leeway = 0;
        Ok(Arc::new(Self {
            store: store.clone(),
            sealing: Arc::clone(keys),
            keys: ArcSwap::from_pointee((generation, stored)),
            validation,
            issuer,
            audience,
            lifetime_seconds,
        }))
    }

    /// The lifetime of tokens in seconds.
    pub fn lifetime_seconds(&self) -> u32 {
        self.lifetime_seconds
    }

    /// The issuer: the server's public address.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The keys as of the store's last refresh.
    async fn keys(&self) -> Result<Arc<(Generation, SigningKeys)>> {
        let keys = self.keys.load_full();
        if keys.0.is_current() {
            return Ok(keys);
        }
        let generation = self.store.generations().now(Cached::SigningKeys);
        let keys = Arc::new((generation, signing_keys::read(self.store.reader(), &self.sealing).await?));
        self.keys.store(Arc::clone(&keys));
        Ok(keys)
    }

    /// The public keys (RFC 7517).
    pub async fn public_keys(&self) -> Result<Vec<Jwk>> {
        self.store.refresh().await?;
        Ok(self.keys().await?.1.public())
    }

    /// The signing keys, current first.
    pub async fn describe_keys(&self) -> Result<Vec<SigningKeyInfo>> {
        Ok(self.keys().await?.1.describe())
    }

    /// Rotates the signing key and records it under this tenant.
    ///
    /// # Errors
    /// 409 at the limit of keys.
    pub async fn rotate_key(self: &Arc<Self>, actor: Actor, tenant: Arc<Tenant>) -> Result<SigningKeyInfo> {
        let tokens = Arc::clone(self);
        let job = self.store.write(move |transaction| {
            Box::pin(async move {
                let id = signing_keys::add(transaction, &tokens.sealing, tokens.lifetime_seconds).await?;
                let event = AuditEvent::new("rotate", "signing-key", id);
                audit::record(transaction, &actor, &tenant, vec![event]).await?;
                transaction.invalidate(Cached::SigningKeys);
                let described = signing_keys::read(transaction, &tokens.sealing).await?.describe();
                described.into_iter().next().ok_or_else(|| Error::internal("the new key is missing"))
            })
        });
        job.await
    }

    /// Removes keys that verify no valid token.
    pub async fn remove_old_keys(&self) -> Result<()> {
        if !self.keys().await?.1.has_over() {
            return Ok(());
        }
        let job = self.store.write(move |transaction| {
            transaction.invalidate(Cached::SigningKeys);
            Box::pin(signing_keys::remove_over(transaction))
        });
        job.await
    }

    /// Issues a token.
    pub async fn issue(&self, subject: Subject) -> Result<String> {
        self.issue_as(subject, Uuid::new_v4().to_string()).await
    }

    /// Issues a token with this unique id (`jti`).
    pub async fn issue_as(&self, subject: Subject, jti: String) -> Result<String> {
        let issued = epoch_seconds();
        let (user_id, user) = subject.user.unzip();
        let claims = Claims {
            iss: self.issuer.clone(),
            aud: self.audience.clone(),
            sub: user_id.unwrap_or_else(|| subject.client_id.clone()),
            epoch: subject.epoch,
            user,
            client_id: subject.client_id,
            exp: issued + u64::from(self.lifetime_seconds),
            iat: issued,
            jti,
            scope: subject.scopes.to_string(),
            tenant: subject.tenant_id,
        };
        self.sign(TOKEN_TYPE, &claims).await
    }

    /// Signs claims as a JWT of this `typ`.
    pub(super) async fn sign(&self, token_type: &str, claims: &impl Serialize) -> Result<String> {
        self.keys().await?.1.current()?.pair.sign(token_type, claims)
    }

    /// Verifies signature, type, audience and times, not its objects.
    ///
    /// # Errors
    /// 401, telling only expired from invalid.
    pub async fn verify(&self, token: &str) -> Result<Claims> {
        let invalid = || Error::unauthorized("the token is not valid");
        let key_id = decode_header(token).ok().and_then(|header| header.kid).ok_or_else(invalid)?;
        let keys = self.keys().await?;
        let key = keys.1.find(&key_id).ok_or_else(invalid)?;
        let data =
            decode::<Claims>(token, &key.pair.verifying, &self.validation).map_err(|error| {
                match error.kind() {
                    ErrorKind::ExpiredSignature => {
                        Error::unauthorized("the token has expired; ask for a new one")
                    }
                    _ => invalid(),
                }
            })?;
        if data.claims.iat > epoch_seconds() + CLOCK_SKEW_SECONDS {
            return Err(invalid());
        }
        if data.header.typ.as_deref() != Some(TOKEN_TYPE) {
            return Err(Error::unauthorized("the token is not an access token"));
        }
        Ok(data.claims)
    }
}

/// The present time in epoch seconds.
pub fn epoch_seconds() -> u64 {
    u64::try_from(now_millis() / 1_000).unwrap_or_default()
}
