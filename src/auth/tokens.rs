//! Access tokens: signed JWTs in the profile of RFC 9068 (decisions 3.1).

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, encode};
use sea_orm::ConnectionTrait;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{keys::Keys, scopes::Scopes};
use crate::{
    error::{Error, Result},
    store::{Store, now_millis, sql},
};

/// The token type of RFC 9068 §2.1.
const TOKEN_TYPE: &str = "at+jwt";

/// What a token says (RFC 9068 §2.2, and whose it is).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// Who issued it: this database.
    pub iss: String,
    /// Whom it is for: the same.
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

/// Signs tokens and verifies them, with a key that survives restarts.
pub struct Tokens {
    key_id: String,
    signing: EncodingKey,
    verifying: DecodingKey,
    validation: Validation,
    issuer: String,
    lifetime_seconds: u32,
}

impl Tokens {
    /// Takes the signing key from the store, making one at the first start.
    pub async fn load(store: &Store, keys: &Keys, lifetime_seconds: u32) -> Result<Self> {
        let (key_id, pkcs8) = match stored_key(store, keys).await? {
            Some(key) => key,
            None => make_key(store, keys).await?,
        };
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &pkcs8)
            .map_err(|error| Error::internal(error.to_string()))?;
        let issuer = format!("urn:trawl:{}", store.id());
        let mut validation = Validation::new(Algorithm::ES256);
        validation.set_issuer(&[&issuer]);
        validation.set_audience(&[&issuer]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        validation.leeway = 0;
        Ok(Self {
            key_id,
            signing: EncodingKey::from_ec_der(&pkcs8),
            verifying: DecodingKey::from_ec_der(pair.public_key().as_ref()),
            validation,
            issuer,
            lifetime_seconds,
        })
    }

    /// How long a token is valid, in seconds.
    pub fn lifetime_seconds(&self) -> u32 {
        self.lifetime_seconds
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
            aud: self.issuer.clone(),
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
        let mut header = Header::new(Algorithm::ES256);
        header.typ = Some(TOKEN_TYPE.to_owned());
        header.kid = Some(self.key_id.clone());
        encode(&header, &claims, &self.signing).map_err(Error::internal)
    }

    /// Verifies signature, type, issuer, audience and expiry. Whether its application, tenant and person still
    /// exist is not asked here.
    ///
    /// # Errors
    /// 401; the message tells an expired token from a wrong one and nothing more.
    pub fn verify(&self, token: &str) -> Result<Claims> {
        use jsonwebtoken::errors::ErrorKind;
        let data = decode::<Claims>(token, &self.verifying, &self.validation).map_err(|error| {
            Error::unauthorized(match error.kind() {
                ErrorKind::ExpiredSignature => "the token has expired; ask for a new one",
                _ => "the token is not valid",
            })
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

async fn stored_key(store: &Store, keys: &Keys) -> Result<Option<(String, Vec<u8>)>> {
    let row = store
        .reader()
        .query_one_raw(sql("SELECT id, key_sealed FROM signing_keys ORDER BY created_at DESC LIMIT 1", []))
        .await?;
    let Some(row) = row else { return Ok(None) };
    let id: String = row.try_get("", "id")?;
    let sealed: Vec<u8> = row.try_get("", "key_sealed")?;
    let key = keys.secrets.open(id.as_bytes(), &sealed).map_err(|_| {
        Error::internal(
            "the master key is not the one that this database was sealed with; put the right one back \
             (TRAWL_MASTER_KEY, or master.key in the data directory)",
        )
    })?;
    Ok(Some((id, key)))
}

async fn make_key(store: &Store, keys: &Keys) -> Result<(String, Vec<u8>)> {
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING)
        .map_err(|_| Error::internal("no signing key could be made"))?;
    let pkcs8 =
        pair.to_pkcs8v1().map_err(|_| Error::internal("the signing key could not be written down"))?;
    let id = Uuid::new_v4().to_string();
    let sealed = keys.secrets.seal(id.as_bytes(), pkcs8.as_ref()).map_err(Error::internal)?;
    let statement = sql(
        "INSERT INTO signing_keys (id, key_sealed, created_at) VALUES (?, ?, ?)",
        [id.as_str().into(), sealed.into(), now_millis().into()],
    );
    store
        .write(move |transaction| {
            Box::pin(async move {
                transaction.execute_raw(statement).await?;
                Ok(())
            })
        })
        .await?;
    Ok((id, pkcs8.as_ref().to_vec()))
}
