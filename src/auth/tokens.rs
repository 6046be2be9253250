//! Access tokens: signed JWTs in the profile of RFC 9068 (decisions 3.1).

use std::sync::Arc;

use arc_swap::ArcSwap;
use jsonwebtoken::{
    Algorithm, Header, Validation, decode, decode_header, encode, errors::ErrorKind, jwk::Jwk,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    keys::Keys,
    scopes::Scopes,
    signing_keys::{self, SigningKeyInfo, SigningKeys},
    tenants::Tenant,
};
use crate::{
    audit::{self, Actor, Deed},
    error::{Error, Result},
    store::{Store, now_millis},
};

/// The token type of RFC 9068 §2.1.
const TOKEN_TYPE: &str = "at+jwt";

/// What a token says (RFC 9068 §2.2, and whose it is).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// Who issued it: the address that clients know the server by.
    pub iss: String,
    /// Whom it is for: this database.
    pub aud: String,
    /// The application, or the person's id on the synchronising side.
    pub sub: String,
    /// The application that asked for it.
    pub client_id: String,
    /// Expiry, epoch seconds.
    pub exp: u64,
    /// Issue, epoch seconds.
    pub iat: u64,
    /// The token's own id.
    pub jti: String,
    /// The scopes, space-separated (RFC 8693 §4.2).
    pub scope: String,
    /// The tenant's number.
    pub tenant: i64,
    /// The application's epoch when it was issued.
    pub epoch: i64,
    /// What a user token says besides; without it `sub` is the application.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<UserClaims>,
}

/// What a user token says of its person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserClaims {
    /// The person's epoch when it was issued.
    pub epoch: i64,
    /// The number of the binding of the device that it was asked for with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<i64>,
}

/// Whom a token is to be issued for.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The application that asks.
    pub client_id: String,
    /// The application's epoch.
    pub epoch: i64,
    /// The tenant's number.
    pub tenant_id: i64,
    /// The person, for a user token: the id on the synchronising side, and what the token says of him.
    pub user: Option<(String, UserClaims)>,
    /// What the token allows.
    pub scopes: Scopes,
}

/// Signs tokens and verifies them, with keys that survive restarts.
pub struct Tokens {
    store: Store,
    sealing: Arc<Keys>,
    keys: ArcSwap<SigningKeys>,
    validation: Validation,
    issuer: String,
    audience: String,
    lifetime_seconds: u32,
}

impl Tokens {
    /// Takes the signing keys from the store, making one at the first start. Tokens name `issuer` as who issued them.
    pub async fn load(
        store: &Store,
        keys: &Arc<Keys>,
        issuer: String,
        lifetime_seconds: u32,
    ) -> Result<Arc<Self>> {
        let mut stored = signing_keys::read(store.reader(), keys).await?;
        if stored.current().is_err() {
            let sealing = Arc::clone(keys);
            let job = store.write(move |transaction| {
                Box::pin(async move { signing_keys::add(transaction, &sealing, lifetime_seconds).await })
            });
            job.await?;
            stored = signing_keys::read(store.reader(), keys).await?;
        }
        let audience = format!("urn:trawl:{}", store.id());
        // Not by the issuer: the server's address changes, with its port, its proxy or its name, and tokens that are out are to
        // stay good. Whose token it is, is said by the key, which nobody else has, and by the audience, which is the
        // database's own.
        let mut validation = Validation::new(Algorithm::ES256);
        validation.set_audience(&[&audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        validation.leeway = 0;
        Ok(Arc::new(Self {
            store: store.clone(),
            sealing: Arc::clone(keys),
            keys: ArcSwap::from_pointee(stored),
            validation,
            issuer,
            audience,
            lifetime_seconds,
        }))
    }

    /// How long a token is valid, in seconds.
    pub fn lifetime_seconds(&self) -> u32 {
        self.lifetime_seconds
    }

    /// Who issues tokens: the address that clients know the server by.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// What verifies tokens, for others (RFC 7517).
    pub fn public_keys(&self) -> Vec<Jwk> {
        self.keys.load().public()
    }

    /// The signing keys: the one that signs first, then the ones before it.
    pub fn describe_keys(&self) -> Vec<SigningKeyInfo> {
        self.keys.load().describe()
    }

    /// Has a new key sign from now on; the one before verifies until its last token has expired. Answers the new one. It is a
    /// deed on the whole server, kept with the tenant that is named.
    ///
    /// # Errors
    /// 409 where it was asked for too often.
    pub async fn rotate_key(self: &Arc<Self>, actor: Actor, tenant: Arc<Tenant>) -> Result<SigningKeyInfo> {
        let tokens = Arc::clone(self);
        let job = self.store.write(move |transaction| {
            Box::pin(async move {
                let id = signing_keys::add(transaction, &tokens.sealing, tokens.lifetime_seconds).await?;
                let deed = Deed::new("rotate", "signing-key", id);
                audit::record(transaction, &actor, &tenant, vec![deed]).await?;
                let keys = signing_keys::read(&**transaction, &tokens.sealing).await?;
                let described = keys.describe();
                // On the writer, and so in the order of rotations.
                transaction.after_commit(move || tokens.keys.store(Arc::new(keys)));
                described.into_iter().next().ok_or_else(|| Error::internal("the new key is not there"))
            })
        });
        job.await
    }

    /// Removes the keys that have nothing to verify any more.
    pub async fn remove_old_keys(self: &Arc<Self>) -> Result<()> {
        if !self.keys.load().has_over() {
            return Ok(());
        }
        let tokens = Arc::clone(self);
        let job = self.store.write(move |transaction| {
            Box::pin(async move {
                signing_keys::remove_over(transaction).await?;
                let keys = signing_keys::read(&**transaction, &tokens.sealing).await?;
                transaction.after_commit(move || tokens.keys.store(Arc::new(keys)));
                Ok(())
            })
        });
        job.await
    }

    /// Issues a token.
    pub fn issue(&self, subject: Subject) -> Result<String> {
        self.issue_as(subject, Uuid::new_v4().to_string())
    }

    /// Issues a token with this id (`jti`), which no other token has.
    pub fn issue_as(&self, subject: Subject, jti: String) -> Result<String> {
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
        let keys = self.keys.load();
        let key = keys.current()?;
        let mut header = Header::new(Algorithm::ES256);
        header.typ = Some(TOKEN_TYPE.to_owned());
        header.kid = Some(key.id.clone());
        encode(&header, &claims, &key.signing).map_err(Error::internal)
    }

    /// Verifies signature, type, audience and expiry. Whether its application, tenant and person still
    /// exist is not asked here.
    ///
    /// # Errors
    /// 401; the message tells an expired token from a wrong one and nothing more.
    pub fn verify(&self, token: &str) -> Result<Claims> {
        let invalid = || Error::unauthorized("the token is not valid");
        let key_id = decode_header(token).ok().and_then(|header| header.kid).ok_or_else(invalid)?;
        let keys = self.keys.load();
        let key = keys.find(&key_id).ok_or_else(invalid)?;
        let data = decode::<Claims>(token, &key.verifying, &self.validation).map_err(|error| match error
            .kind()
        {
            ErrorKind::ExpiredSignature => Error::unauthorized("the token has expired; ask for a new one"),
            _ => invalid(),
        })?;
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
