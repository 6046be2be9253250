//! Token signing keys: one signs, retired ones verify.
//!
//! A retired key verifies until its last token expires.

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey, Header, encode,
    jwk::{Jwk, PublicKeyUse},
};
use serde::Serialize;
use uuid::Uuid;

use super::keys::Keys;
use crate::{
    error::{Error, Result},
    store::{Connection, FromRow, Transaction, now_millis, sql},
};

const MAX_KEYS: usize = 20;

/// Slack for tokens issued during a rotation, in milliseconds.
const MARGIN: i64 = 60_000;

/// A key pair of ES256.
pub struct KeyPair {
    /// `kid` of tokens.
    id: String,
    signing: EncodingKey,
    pub(super) verifying: DecodingKey,
    public: Jwk,
}

impl KeyPair {
    /// A new pair, and its private key as PKCS #8.
    ///
    /// # Errors
    /// No random bytes.
    pub fn generate() -> Result<(Self, Vec<u8>)> {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING)
            .map_err(|_| Error::internal("no signing key could be generated"))?;
        let pkcs8 =
            pair.to_pkcs8v1().map_err(|_| Error::internal("the signing key could not be serialised"))?;
        let pkcs8 = pkcs8.as_ref().to_vec();
        Ok((Self::read(Uuid::new_v4().to_string(), &pkcs8)?, pkcs8))
    }

    fn read(id: String, pkcs8: &[u8]) -> Result<Self> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8)
            .map_err(|error| Error::internal(error.to_string()))?;
        let verifying = DecodingKey::from_ec_der(pair.public_key().as_ref());
        let mut public =
            Jwk::from_decoding_key(&verifying, Some(Algorithm::ES256)).map_err(Error::internal)?;
        public.common.key_id = Some(id.clone());
        public.common.public_key_use = Some(PublicKeyUse::Signature);
        Ok(Self { signing: EncodingKey::from_ec_der(pkcs8), verifying, public, id })
    }

    /// The public key (RFC 7517).
    pub fn public(&self) -> &Jwk {
        &self.public
    }

    /// Signs claims as a JWT of this `typ`.
    ///
    /// # Errors
    /// Claims that are no JSON object.
    pub fn sign(&self, token_type: &str, claims: &impl Serialize) -> Result<String> {
        let mut header = Header::new(Algorithm::ES256);
        header.typ = Some(token_type.to_owned());
        header.kid = Some(self.id.clone());
        encode(&header, claims, &self.signing).map_err(Error::internal)
    }
}

/// A current or retired signing key.
pub(super) struct SigningKey {
    pub(super) pair: KeyPair,
    created_at: i64,
    retired_at: Option<i64>,
    /// Expiry of its last token, fixed at rotation.
    verifies_until: Option<i64>,
}

/// A signing key as shown to operators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SigningKeyInfo {
    /// The `kid` in tokens and in the key set.
    pub kid: String,
    /// Algorithm: ES256.
    pub alg: &'static str,
    /// Epoch milliseconds.
    pub created_at: i64,
    /// End of signing, epoch milliseconds; null for the current key.
    pub retired_at: Option<i64>,
    /// End of verification, epoch milliseconds; null for the current key.
    pub verifies_until: Option<i64>,
}

pub(super) struct SigningKeys(Vec<SigningKey>);

impl SigningKeys {
    pub(super) fn current(&self) -> Result<&SigningKey> {
        self.0.first().ok_or_else(|| Error::internal("there is no signing key"))
    }

    pub(super) fn find(&self, id: &str) -> Option<&SigningKey> {
        self.0.iter().find(|key| key.pair.id == id && !key.is_over())
    }

    pub(super) fn public(&self) -> Vec<Jwk> {
        let valid = self.0.iter().filter(|key| !key.is_over());
        valid.map(|key| key.pair.public.clone()).collect()
    }

    pub(super) fn describe(&self) -> Vec<SigningKeyInfo> {
        self.0.iter().map(SigningKey::describe).collect()
    }

    pub(super) fn has_over(&self) -> bool {
        self.0.iter().any(SigningKey::is_over)
    }
}

impl SigningKey {
    fn is_over(&self) -> bool {
        self.verifies_until.is_some_and(|until| until <= now_millis())
    }

    fn describe(&self) -> SigningKeyInfo {
        SigningKeyInfo {
            kid: self.pair.id.clone(),
            alg: "ES256",
            created_at: self.created_at,
            retired_at: self.retired_at,
            verifies_until: self.verifies_until,
        }
    }
}

#[derive(FromRow)]
struct SigningKeyRow {
    id: String,
    key_sealed: Vec<u8>,
    created_at: i64,
    retired_at: Option<i64>,
    verifies_until: Option<i64>,
}

impl SigningKeyRow {
    fn open(self, keys: &Keys) -> Result<SigningKey> {
        let pkcs8 = keys.secrets.open(self.id.as_bytes(), &self.key_sealed).map_err(|_| {
            Error::internal(
                "this database was sealed with another master key; restore that one (TRAWL_MASTER_KEY, or master.key in the data directory)",
            )
        })?;
        Ok(SigningKey {
            pair: KeyPair::read(self.id, &pkcs8)?,
            created_at: self.created_at,
            retired_at: self.retired_at,
            verifies_until: self.verifies_until,
        })
    }
}

pub(super) async fn read(connection: &Connection, keys: &Keys) -> Result<SigningKeys> {
    let statement = sql(
        "SELECT id, key_sealed, created_at, retired_at, verifies_until FROM signing_keys \
         ORDER BY retired_at IS NOT NULL, retired_at DESC, created_at DESC, id",
        [],
    );
    let rows = statement.fetch_all::<SigningKeyRow>(connection).await?;
    let opened: Result<_> = rows.into_iter().map(|row| row.open(keys)).collect();
    Ok(SigningKeys(opened?))
}

/// Rotates the key. Returns the new id, or 409 at the limit.
pub(super) async fn add(transaction: &Transaction, keys: &Keys, lifetime_seconds: u32) -> Result<String> {
    let statement = sql("SELECT COUNT(*) AS rows FROM signing_keys", []);
    if statement.count(transaction).await? >= MAX_KEYS as u64 {
        let full =
            format!("there are already {MAX_KEYS} signing keys; wait until the oldest one's tokens expire");
        return Err(Error::conflict(full));
    }
    let now = now_millis();
    let until = now + i64::from(lifetime_seconds) * 1_000 + MARGIN;
    let retire = sql(
        "UPDATE signing_keys SET retired_at = ?, verifies_until = ? WHERE retired_at IS NULL",
        [now.into(), until.into()],
    );
    retire.execute(transaction).await?;
    let (id, sealed) = generate(keys)?;
    let statement = sql(
        "INSERT INTO signing_keys (id, key_sealed, created_at) VALUES (?, ?, ?)",
        [id.as_str().into(), sealed.into(), now.into()],
    );
    statement.execute(transaction).await?;
    Ok(id)
}

pub(super) async fn remove_over(transaction: &Transaction) -> Result<()> {
    let statement = sql("DELETE FROM signing_keys WHERE verifies_until <= ?", [now_millis().into()]);
    statement.execute(transaction).await?;
    Ok(())
}

fn generate(keys: &Keys) -> Result<(String, Vec<u8>)> {
    let (KeyPair { id, .. }, pkcs8) = KeyPair::generate()?;
    let sealed = keys.secrets.seal(id.as_bytes(), &pkcs8).map_err(Error::internal)?;
    Ok((id, sealed))
}
