//! People who are vouched for with a key that everyone knows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, encode};
use secrecy::SecretString;
use serde_json::{Value, json};
use trawl_connectors::{
    Assertion, AssertionClaims, AssertionHeader, AssertionIssuer, AssertionSubject, KnownPerson, SourceError,
    SourceIdentity,
};

const KEY: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgsKELNJJRcHJ8KLuKx4xDEE4mKoXq+RGG2tLKgvyfLvehRANC\
AASCNvN/Q077M8j8GJWwSfQWzJVsv10XaNcZRUDCKDWEH+HGVwhaN5kCINa9Vr0DdzBcIoV15Pq1jUm3KSCxD2zq";

/// The public key as trawl publishes its own.
#[allow(dead_code, reason = "the suite verifies nothing")]
pub(crate) fn published_keys() -> Value {
    json!({"keys": [{
        "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": "known-to-everyone",
        "x": "gjbzf0NO-zPI_BiVsEn0FsyVbL9dF2jXGUVAwig1hB8", "y": "4cZXCFo3mQIg1r1WvQN3MFwihXXk-rWNSbcpILEPbOo",
    }]})
}

pub(crate) fn sign(claims: &Value) -> String {
    let key = EncodingKey::from_ec_der(&BASE64_STANDARD.decode(KEY).unwrap());
    let header = Header { kid: Some("known-to-everyone".to_owned()), ..Header::new(Algorithm::ES256) };
    encode(&header, claims, &key).unwrap()
}

/// The claims of an assertion with a proper signature, expired or not.
#[allow(dead_code, reason = "the suite verifies nothing")]
pub(crate) fn verify(assertion: &str) -> Option<Value> {
    let keys: JwkSet = serde_json::from_value(published_keys()).unwrap();
    let key = DecodingKey::from_jwk(&keys.keys[0]).unwrap();
    let mut validation = Validation::new(Algorithm::ES256);
    (validation.validate_exp, validation.validate_aud) = (false, false);
    decode::<Value>(assertion, &key, &validation).ok().map(|data| data.claims)
}

/// Standing of people by synchronised id. The login of `mei` is `mei@example`.
#[derive(Debug, Default)]
pub(crate) struct People(Mutex<HashMap<String, u64>>);

impl People {
    pub(crate) fn of(ids: &[&str]) -> Arc<Self> {
        let people = Self::default();
        for id in ids {
            people.put(id, 1);
        }
        Arc::new(people)
    }

    pub(crate) fn put(&self, id: &str, standing: u64) {
        self.0.lock().unwrap().insert(id.to_owned(), standing);
    }

    #[allow(dead_code, reason = "checks remove nobody")]
    pub(crate) fn remove(&self, id: &str) {
        self.0.lock().unwrap().remove(id);
    }

    /// Sends assertions in the default header.
    pub(crate) fn in_header(self: &Arc<Self>) -> SourceIdentity {
        SourceIdentity {
            issuer: Arc::clone(self) as Arc<dyn AssertionIssuer>,
            claims: AssertionClaims { subject: AssertionSubject::UserId, audience: None, departments: false },
            header: Some(AssertionHeader::new("X-Trawl-Assertion").unwrap()),
        }
    }
}

#[async_trait]
impl AssertionIssuer for People {
    async fn find_person(&self, user_id: &str) -> Result<KnownPerson, SourceError> {
        let standing = self.0.lock().unwrap().get(user_id).copied();
        let standing = standing.ok_or_else(|| SourceError::PersonRefused("nobody".to_owned()))?;
        Ok(KnownPerson {
            user_id: user_id.to_owned(),
            login_id: format!("{user_id}@example"),
            departments: vec!["sales".to_owned()],
            standing,
        })
    }

    async fn sign(&self, assertion: &Assertion<'_>) -> Result<SecretString, SourceError> {
        let Assertion { person, claims, audience, life } = *assertion;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let subject = match claims.subject {
            AssertionSubject::UserId => &person.user_id,
            AssertionSubject::LoginId => &person.login_id,
        };
        let departments = claims.departments.then_some(&person.departments);
        let claims = json!({
            "sub": subject, "aud": audience, "exp": now.saturating_add_signed(life), "departments": departments,
        });
        Ok(sign(&claims).into())
    }
}
