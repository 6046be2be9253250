//! Assertions: short JWTs that vouch for a person (RFC 7523 §3).
//!
//! An external source or its authorization server receives them.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use async_trait::async_trait;
use secrecy::SecretString;
use serde::Serialize;
use trawl_connectors::{Assertion, AssertionIssuer, AssertionSubject, KnownPerson, SourceError};
use uuid::Uuid;

use super::{
    directory::{Person, PersonDirectory, SubjectKind},
    sessions::Sessions,
    signing_keys::KeyPair,
    tenants,
    tokens::{Tokens, epoch_seconds},
};
use crate::{
    error::{Error, Result},
    store::Store,
};

/// Differs from access tokens' type, so that no assertion is one.
const TOKEN_TYPE: &str = "JWT";

/// Vouches for the people of all tenants.
#[derive(Clone)]
pub struct Assertions {
    store: Store,
    tokens: Arc<Tokens>,
    directory: Arc<dyn PersonDirectory>,
    sessions: Arc<Sessions>,
}

impl Assertions {
    /// Signs with these tokens' keys.
    pub fn new(
        store: &Store,
        tokens: &Arc<Tokens>,
        directory: Arc<dyn PersonDirectory>,
        sessions: &Arc<Sessions>,
    ) -> Self {
        let (tokens, sessions) = (Arc::clone(tokens), Arc::clone(sessions));
        Self { store: store.clone(), tokens, directory, sessions }
    }

    /// The issuer of a tenant's assertions.
    pub fn of_tenant(&self, tenant_id: i64) -> Arc<dyn AssertionIssuer> {
        Arc::new(TenantAssertions { assertions: self.clone(), tenant_id })
    }
}

impl std::fmt::Debug for Assertions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Assertions").finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct TenantAssertions {
    assertions: Assertions,
    tenant_id: i64,
}

/// Signs an assertion outside of a server, with the given key pair.
///
/// # Errors
/// See [`KeyPair::sign`].
pub fn sign_alone(pair: &KeyPair, issuer: &str, assertion: &Assertion<'_>) -> Result<SecretString> {
    pair.sign(TOKEN_TYPE, &SignedClaims::new(issuer, "", assertion)).map(SecretString::from)
}

/// Claims (RFC 7519 §4.1).
#[derive(Serialize)]
struct SignedClaims<'c> {
    iss: &'c str,
    aud: &'c str,
    sub: &'c str,
    iat: u64,
    exp: u64,
    jti: String,
    /// Login account.
    login: &'c str,
    /// Tenant code.
    tenant: &'c str,
    /// Synchronised ids, the main department first.
    #[serde(skip_serializing_if = "Option::is_none")]
    departments: Option<&'c [String]>,
}

impl<'c> SignedClaims<'c> {
    fn new(issuer: &'c str, tenant: &'c str, assertion: &Assertion<'c>) -> Self {
        let Assertion { person, claims, audience, life } = *assertion;
        let now = epoch_seconds();
        Self {
            iss: issuer,
            aud: audience,
            sub: match claims.subject {
                AssertionSubject::UserId => &person.user_id,
                AssertionSubject::LoginId => &person.login_id,
            },
            iat: now,
            exp: now.saturating_add_signed(life),
            jti: Uuid::new_v4().to_string(),
            login: &person.login_id,
            tenant,
            departments: claims.departments.then_some(&person.departments),
        }
    }
}

#[async_trait]
impl AssertionIssuer for TenantAssertions {
    async fn find_person(&self, user_id: &str) -> Result<KnownPerson, SourceError> {
        let found = self.find(user_id).await.map_err(|error| failed(&error))?;
        found.ok_or_else(|| SourceError::PersonRefused("no active person has this id".to_owned()))
    }

    async fn sign(&self, assertion: &Assertion<'_>) -> Result<SecretString, SourceError> {
        self.sign_claims(assertion).await.map_err(|error| failed(&error))
    }
}

impl TenantAssertions {
    async fn find(&self, user_id: &str) -> Result<Option<KnownPerson>> {
        let Assertions { store, directory, sessions, .. } = &self.assertions;
        let reader = store.reader();
        let person = directory.find_person(reader, self.tenant_id, SubjectKind::UserId, user_id).await?;
        let Some(person) = person else { return Ok(None) };
        let live = sessions.find_live(reader, self.tenant_id, &[user_id]).await?;
        let mut hasher = DefaultHasher::new();
        let departments = departments(&person);
        (person.epoch, &person.login_id, &departments).hash(&mut hasher);
        let mut ids: Vec<String> = live.into_iter().map(|session| session.id.digits()).collect();
        ids.sort_unstable();
        ids.hash(&mut hasher);
        let Person { user_id, login_id, .. } = person;
        Ok(Some(KnownPerson { user_id, login_id, departments, standing: hasher.finish() }))
    }

    async fn sign_claims(&self, assertion: &Assertion<'_>) -> Result<SecretString> {
        let Assertions { store, tokens, .. } = &self.assertions;
        let tenant = tenants::find_by_id(store.reader(), self.tenant_id).await?;
        let tenant = tenant.ok_or_else(|| Error::not_found("the tenant is deleted"))?;
        let claims = SignedClaims::new(tokens.issuer(), &tenant.code, assertion);
        tokens.sign(TOKEN_TYPE, &claims).await.map(SecretString::from)
    }
}

/// The main one first, each once.
fn departments(person: &Person) -> Vec<String> {
    let deputies: Vec<String> = serde_json::from_str(&person.deputy_org_ids).unwrap_or_default();
    let mut departments: Vec<String> = person.org_id.iter().cloned().collect();
    departments.extend(deputies.into_iter().filter(|id| person.org_id.as_ref() != Some(id)));
    departments
}

fn failed(error: &Error) -> SourceError {
    SourceError::Failed(format!("the person could not be vouched for: {}", error.message))
}
