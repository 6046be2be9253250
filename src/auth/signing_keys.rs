//! The keys that sign tokens: one at a time, replaced when an operator asks for it. The one before verifies until the last token
//! that it signed has expired, by the life that tokens have when it is replaced.

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey,
    jwk::{Jwk, PublicKeyUse},
};
use sea_orm::{ConnectionTrait, FromQueryResult};
use serde::Serialize;
use uuid::Uuid;

use super::keys::Keys;
use crate::{
    error::{Error, Result},
    store::{Transaction, now_millis, sql},
};

/// Keys that are there at once: those before the current one are kept for the life of a token.
const MOST_KEYS: usize = 20;

/// What a token that was being issued while its key was replaced may still be signed by, in milliseconds.
const MARGIN: i64 = 60_000;

/// A key that signs tokens, or did.
pub struct SigningKey {
    /// The `kid` of tokens.
    pub id: String,
    created_at: i64,
    retired_at: Option<i64>,
    /// When the last token that it signed has expired, whatever lives tokens have had since.
    verifies_until: Option<i64>,
    pub(super) signing: EncodingKey,
    pub(super) verifying: DecodingKey,
    public: Jwk,
}

/// A signing key as operators see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SigningKeyInfo {
    /// The `kid` in the head of tokens and in the key set.
    pub kid: String,
    /// The algorithm: ES256.
    pub alg: &'static str,
    /// Epoch milliseconds.
    pub created_at: i64,
    /// Since when it signs no more, epoch milliseconds; null for the one that signs.
    pub retired_at: Option<i64>,
    /// Until when tokens that it signed are taken, epoch milliseconds; null for the one that signs.
    pub verifies_until: Option<i64>,
}

/// The keys of this server: the one that signs first, then the ones before it.
pub(super) struct SigningKeys(Vec<SigningKey>);

impl SigningKeys {
    /// The one that signs.
    pub(super) fn current(&self) -> Result<&SigningKey> {
        self.0.first().ok_or_else(|| Error::internal("there is no key to sign with"))
    }

    /// The one of this id, where tokens that it signed may still be about.
    pub(super) fn find(&self, id: &str) -> Option<&SigningKey> {
        self.0.iter().find(|key| key.id == id && !key.is_over())
    }

    /// What verifies tokens, for others (RFC 7517).
    pub(super) fn public(&self) -> Vec<Jwk> {
        let valid = self.0.iter().filter(|key| !key.is_over());
        valid.map(|key| key.public.clone()).collect()
    }

    /// The keys as operators see them.
    pub(super) fn describe(&self) -> Vec<SigningKeyInfo> {
        self.0.iter().map(SigningKey::describe).collect()
    }

    /// Whether any has nothing to verify any more.
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
            kid: self.id.clone(),
            alg: "ES256",
            created_at: self.created_at,
            retired_at: self.retired_at,
            verifies_until: self.verifies_until,
        }
    }
}

#[derive(FromQueryResult)]
struct Row {
    id: String,
    key_sealed: Vec<u8>,
    created_at: i64,
    retired_at: Option<i64>,
    verifies_until: Option<i64>,
}

impl Row {
    fn open(self, keys: &Keys) -> Result<SigningKey> {
        let pkcs8 = keys.secrets.open(self.id.as_bytes(), &self.key_sealed).map_err(|_| {
            Error::internal(
                "the master key is not the one that this database was sealed with; put the right one back \
                 (TRAWL_MASTER_KEY, or master.key in the data directory)",
            )
        })?;
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &pkcs8)
            .map_err(|error| Error::internal(error.to_string()))?;
        let verifying = DecodingKey::from_ec_der(pair.public_key().as_ref());
        let mut public =
            Jwk::from_decoding_key(&verifying, Some(Algorithm::ES256)).map_err(Error::internal)?;
        public.common.key_id = Some(self.id.clone());
        public.common.public_key_use = Some(PublicKeyUse::Signature);
        Ok(SigningKey {
            signing: EncodingKey::from_ec_der(&pkcs8),
            verifying,
            public,
            id: self.id,
            created_at: self.created_at,
            retired_at: self.retired_at,
            verifies_until: self.verifies_until,
        })
    }
}

/// The keys that are stored.
pub(super) async fn read<C: ConnectionTrait>(connection: &C, keys: &Keys) -> Result<SigningKeys> {
    let statement = sql(
        "SELECT id, key_sealed, created_at, retired_at, verifies_until FROM signing_keys \
         ORDER BY retired_at IS NOT NULL, retired_at DESC, created_at DESC, id",
        [],
    );
    let rows = Row::find_by_statement(statement).all(connection).await?;
    let opened: Result<_> = rows.into_iter().map(|row| row.open(keys)).collect();
    Ok(SigningKeys(opened?))
}

/// Stores a new key, which signs from now on, in the place of the one before, whose tokens live so long. Answers its id.
///
/// # Errors
/// 409 where so many were made that others would have too long a list to read.
pub(super) async fn add(transaction: &Transaction, keys: &Keys, lifetime_seconds: u32) -> Result<String> {
    let statement = sql("SELECT COUNT(*) AS rows FROM signing_keys", []);
    let row = transaction.query_one_raw(statement).await?;
    let known: i64 = row.map_or(Ok(0), |row| row.try_get("", "rows"))?;
    if usize::try_from(known).unwrap_or(MOST_KEYS) >= MOST_KEYS {
        let full = format!("{MOST_KEYS} keys are kept; wait until the tokens of the oldest have expired");
        return Err(Error::conflict(full));
    }
    let now = now_millis();
    let until = now + i64::from(lifetime_seconds) * 1_000 + MARGIN;
    let retire = sql(
        "UPDATE signing_keys SET retired_at = ?, verifies_until = ? WHERE retired_at IS NULL",
        [now.into(), until.into()],
    );
    transaction.execute_raw(retire).await?;
    let (id, sealed) = generate(keys)?;
    let statement = sql(
        "INSERT INTO signing_keys (id, key_sealed, created_at) VALUES (?, ?, ?)",
        [id.as_str().into(), sealed.into(), now.into()],
    );
    transaction.execute_raw(statement).await?;
    Ok(id)
}

/// Removes the keys that have nothing to verify any more.
pub(super) async fn remove_over(transaction: &Transaction) -> Result<()> {
    let statement = sql("DELETE FROM signing_keys WHERE verifies_until <= ?", [now_millis().into()]);
    transaction.execute_raw(statement).await?;
    Ok(())
}

fn generate(keys: &Keys) -> Result<(String, Vec<u8>)> {
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING)
        .map_err(|_| Error::internal("no signing key could be made"))?;
    let pkcs8 =
        pair.to_pkcs8v1().map_err(|_| Error::internal("the signing key could not be written down"))?;
    let id = Uuid::new_v4().to_string();
    let sealed = keys.secrets.seal(id.as_bytes(), pkcs8.as_ref()).map_err(Error::internal)?;
    Ok((id, sealed))
}
