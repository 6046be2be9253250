//! External `OpenID` Connect issuers of user tokens (book: how-to/sign-in.md).
//!
//! An unverified token only selects its issuer.

mod keyring;
mod sign_in;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, sync::Arc};

use jsonwebtoken::{
    Algorithm, Header, Validation, dangerous::insecure_decode_claims, decode, decode_header,
    errors::ErrorKind,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use trawl_connectors::AddressRules;

use self::keyring::{Documents, Key, Keyring, over_guarded_connections};
pub use self::sign_in::{SignIn, SignInAnswer, SignInRequest};
use super::tokens::epoch_seconds;
use crate::{
    config,
    error::{Error, Result},
};

const LEEWAY_SECONDS: u64 = 30;

const KEY_ID_BYTES: usize = 256;

const REQUIRED_CLAIMS: [&str; 3] = ["exp", "iss", "aud"];

/// Access tokens (RFC 9068) and ID tokens; logout tokens have another type.
const TYPES: [&str; 3] = ["JWT", "at+jwt", "application/at+jwt"];

/// The trusted issuers.
#[derive(Default)]
pub struct Issuers {
    by_name: HashMap<String, Arc<Issuer>>,
    sign_ins: Vec<SignIn>,
}

/// A trusted issuer.
pub struct Issuer {
    trusts: Vec<config::IssuerSettings>,
    keyring: Keyring,
}

/// The identity in a verified token.
#[derive(Debug)]
pub struct Identity<'a> {
    /// Matching settings of the issuer.
    pub trust: &'a config::IssuerSettings,
    /// The person's login account.
    pub login_id: String,
    /// Expiry, epoch seconds.
    pub expires_at: u64,
}

#[derive(Deserialize)]
struct UnverifiedClaims {
    iss: String,
}

#[derive(Deserialize)]
struct IssuerClaims {
    aud: AudienceClaim,
    exp: u64,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AudienceClaim {
    One(String),
    Several(Vec<String>),
}

impl AudienceClaim {
    fn names(&self, audience: &str) -> bool {
        match self {
            Self::One(one) => one == audience,
            Self::Several(several) => several.iter().any(|one| one == audience),
        }
    }

    fn is_one(&self) -> bool {
        match self {
            Self::One(_) => true,
            Self::Several(several) => several.len() == 1,
        }
    }
}

impl Issuers {
    /// The issuers of the settings. Keys are fetched on demand, within `rules`.
    pub fn new(settings: &[config::IssuerSettings], rules: &AddressRules) -> Self {
        let issuers = Self::with_documents(settings, || over_guarded_connections(rules.clone()));
        let sign_in = |trust: &config::IssuerSettings| {
            SignIn::new(trust, Arc::clone(issuers.by_name.get(&trust.issuer)?), rules.clone())
        };
        let sign_ins = settings.iter().filter_map(sign_in).collect();
        Self { sign_ins, ..issuers }
    }

    /// The issuers for browser sign-in, in the order of the settings.
    pub fn sign_ins(&self) -> &[SignIn] {
        &self.sign_ins
    }

    /// The sign-in issuer with this id.
    pub fn sign_in(&self, id: &str) -> Option<&SignIn> {
        self.sign_ins.iter().find(|sign_in| sign_in.id() == id)
    }

    fn with_documents(settings: &[config::IssuerSettings], documents: impl Fn() -> Documents) -> Self {
        let mut trusts: HashMap<String, Vec<config::IssuerSettings>> = HashMap::new();
        for trust in settings {
            trusts.entry(trust.issuer.clone()).or_default().push(trust.clone());
        }
        let issuer = |(name, trusts): (String, Vec<config::IssuerSettings>)| {
            let keyring = Keyring::new(name.clone(), documents());
            (name, Arc::new(Issuer { trusts, keyring }))
        };
        Self { by_name: trusts.into_iter().map(issuer).collect(), sign_ins: Vec::new() }
    }

    /// The trusted issuer that the token names.
    pub fn of(&self, token: &str) -> Option<Arc<Issuer>> {
        if self.by_name.is_empty() {
            return None;
        }
        let UnverifiedClaims { iss } = insecure_decode_claims(token).ok()?;
        self.by_name.get(&iss).cloned()
    }
}

impl Issuer {
    /// Verifies type, algorithm, key, signature, issuer, audience and times.
    ///
    /// # Errors
    /// 401, telling only expired from invalid; 503 without keys.
    pub async fn verify(&self, token: &str) -> Result<Identity<'_>> {
        let header = decode_header(token).map_err(|_| invalid())?;
        let key_id = self.check_header(&header)?;
        let key = self.keyring.find(key_id).await?.ok_or_else(invalid)?;
        self.verify_with(&key, header.alg, token)
    }

    /// The header's key id. Embedded keys and addresses are ignored.
    fn check_header<'h>(&self, header: &'h Header) -> Result<&'h str> {
        let is_typed =
            header.typ.as_ref().is_none_or(|kind| TYPES.iter().any(|known| known.eq_ignore_ascii_case(kind)));
        // No critical extension is supported (RFC 7515 §4.1.11).
        let is_plain = header.crit.is_none();
        let is_allowed = self.trusts.iter().any(|trust| trust.algorithms.contains(&header.alg));
        let key_id = header.kid.as_deref().filter(|key_id| key_id.len() <= KEY_ID_BYTES);
        key_id.filter(|_| is_typed && is_plain && is_allowed).ok_or_else(invalid)
    }

    fn verify_with(&self, key: &Key, algorithm: Algorithm, token: &str) -> Result<Identity<'_>> {
        let audiences: Vec<&str> = self.trusts.iter().map(|trust| trust.audience.as_str()).collect();
        let IssuerClaims { aud, exp, others } =
            self.read(key, algorithm, token, (&audiences, &REQUIRED_CLAIMS))?;
        let mut trusts = self.trusts.iter();
        let trust = trusts.find(|trust| aud.names(&trust.audience)).ok_or_else(invalid)?;
        // Algorithms differ by audience.
        if !trust.algorithms.contains(&algorithm) {
            return Err(invalid());
        }
        let login_id = named(trust, &others)
            .ok_or_else(|| Error::unauthorized(format!("the token has no claim {}", trust.claim)))?;
        Ok(Identity { trust, login_id, expires_at: exp })
    }

    fn read<T: DeserializeOwned>(
        &self,
        key: &Key,
        algorithm: Algorithm,
        token: &str,
        (audiences, required): (&[&str], &[&str]),
    ) -> Result<T> {
        if !key.is_for(algorithm) {
            return Err(invalid());
        }
        let mut validation = Validation::new(algorithm);
        validation.set_issuer(&[&self.trusts[0].issuer]);
        validation.set_audience(audiences);
        validation.set_required_spec_claims(required);
        validation.validate_nbf = true;
        validation.leeway = LEEWAY_SECONDS;
        let token = decode::<Map<String, Value>>(token, &key.verifying, &validation).map_err(|error| {
            Error::unauthorized(match error.kind() {
                ErrorKind::ExpiredSignature => "the token has expired; ask for a new one",
                _ => "the token is not valid",
            })
        })?;
        #[expect(clippy::cast_precision_loss, reason = "seconds are exact for millions of years")]
        let latest = (epoch_seconds() + LEEWAY_SECONDS) as f64;
        let is_issued = |at: &Value| at.as_f64().is_some_and(|at| at <= latest);
        if !token.claims.get("iat").is_none_or(is_issued) {
            return Err(invalid());
        }
        serde_json::from_value(token.claims.into()).map_err(|_| invalid())
    }

    /// Verifies an ID token (`OpenID` Connect Core §3.1.3.7). Returns its claims.
    async fn verify_id_token(
        &self,
        trust: &config::IssuerSettings,
        client_id: &str,
        nonce: &str,
        token: &str,
    ) -> Result<Map<String, Value>> {
        let header = decode_header(token).map_err(|_| invalid())?;
        let key_id = self.check_header(&header)?;
        let is_id_token = header.typ.as_ref().is_none_or(|kind| kind.eq_ignore_ascii_case("JWT"));
        if !is_id_token || !trust.algorithms.contains(&header.alg) {
            return Err(invalid());
        }
        let key = self.keyring.find(key_id).await?.ok_or_else(invalid)?;
        let IssuerClaims { aud, others, .. } =
            self.read(&key, header.alg, token, (&[client_id], &REQUIRED_CLAIMS))?;
        let said = |name: &str| others.get(name).and_then(Value::as_str);
        let is_of_this_client = match said("azp") {
            Some(party) => party == client_id,
            None => !others.contains_key("azp") && aud.is_one(),
        };
        if !is_of_this_client || said("nonce") != Some(nonce) {
            return Err(invalid());
        }
        Ok(others)
    }

    /// Verifies a signed userinfo response, whose issuer, audience and times are optional (§5.3.2).
    async fn verify_userinfo(
        &self,
        trust: &config::IssuerSettings,
        client_id: &str,
        token: &str,
    ) -> Result<Map<String, Value>> {
        let header = decode_header(token).map_err(|_| invalid())?;
        let key_id = self.check_header(&header)?;
        if !trust.algorithms.contains(&header.alg) {
            return Err(invalid());
        }
        let key = self.keyring.find(key_id).await?.ok_or_else(invalid)?;
        self.read(&key, header.alg, token, (&[client_id], &[]))
    }
}

/// The login account that the claims name.
fn named(trust: &config::IssuerSettings, claims: &Map<String, Value>) -> Option<String> {
    let named = claims.get(&trust.claim).and_then(Value::as_str).filter(|login_id| !login_id.is_empty());
    named.map(str::to_owned)
}

fn invalid() -> Error {
    Error::unauthorized("the token is not valid")
}
