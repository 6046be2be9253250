//! The person for whom the command line calls a source.
//!
//! The command publishes the key that signs the assertions.

use std::{net::SocketAddr, sync::Arc};

use async_trait::async_trait;
use axum::{Json, Router, routing::get};
use jsonwebtoken::jwk::JwkSet;
use secrecy::SecretString;
use tokio::net::TcpListener;
use trawl_connectors::{
    Assertion, AssertionClaims, AssertionHeader, AssertionIssuer, AssertionSubject, DEFAULT_ASSERTION_HEADER,
    Grant, KnownPerson, SourceError, SourceIdentity,
};

use crate::auth::{assertions::sign_alone, signing_keys::KeyPair};

#[derive(Debug, clap::Args)]
pub(super) struct PersonOptions {
    /// Id of the person who searches, for a source with an identity
    #[arg(long, value_name = "ID")]
    person: Option<String>,
    /// Their login account [default: the id]
    #[arg(long, value_name = "LOGIN", requires = "person")]
    login: Option<String>,
    /// Their departments
    #[arg(long = "department", value_name = "ID", requires = "person")]
    departments: Vec<String>,
    /// Header of the assertion [default: X-Trawl-Assertion, or none if a mapping names $person]
    #[arg(long, value_name = "NAME", requires = "person")]
    assertion_header: Option<String>,
    /// Audience of the assertion [default: origin of the source's address]
    #[arg(long, value_name = "AUDIENCE", requires = "person")]
    assertion_audience: Option<String>,
    /// Where to serve the key of assertions, at /jwks
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", requires = "person")]
    keys_listen: SocketAddr,
}

/// Knows one person.
struct OnePerson {
    person: KnownPerson,
    key: KeyPair,
    issuer: String,
}

impl std::fmt::Debug for OnePerson {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("OnePerson").field("person", &self.person).finish_non_exhaustive()
    }
}

#[async_trait]
impl AssertionIssuer for OnePerson {
    async fn find_person(&self, _user_id: &str) -> Result<KnownPerson, SourceError> {
        Ok(self.person.clone())
    }

    async fn sign(&self, assertion: &Assertion<'_>) -> Result<SecretString, SourceError> {
        sign_alone(&self.key, &self.issuer, assertion).map_err(|error| SourceError::Failed(error.message))
    }
}

impl PersonOptions {
    pub(super) fn person(&self) -> Option<&str> {
        self.person.as_deref()
    }

    /// Returns the identity of the source's calls.
    ///
    /// A key that signs is served from now on. `is_variable`: a mapping names `$person`.
    pub(super) async fn identity(
        &self,
        grant: Grant,
        is_variable: bool,
    ) -> Result<Option<SourceIdentity>, String> {
        let Some(id) = &self.person else { return Ok(None) };
        // Else the source learns of the person by their token, or from the mapping.
        let takes_assertion = !grant.is_of_people() && (!is_variable || self.assertion_header.is_some());
        let header = takes_assertion.then(|| {
            AssertionHeader::new(self.assertion_header.as_deref().unwrap_or(DEFAULT_ASSERTION_HEADER))
        });
        let header =
            header.transpose().map_err(|invalid| format!("--assertion-header: {}", invalid.reason))?;
        let (key, _) = KeyPair::generate().map_err(|error| format!("--keys-listen: {}", error.message))?;
        let signs = takes_assertion || grant.is_of_people();
        let issuer = if signs { self.publish(&key).await? } else { String::new() };
        let person = KnownPerson {
            user_id: id.clone(),
            login_id: self.login.clone().unwrap_or_else(|| id.clone()),
            departments: self.departments.clone(),
            standing: 0,
        };
        let claims = AssertionClaims {
            subject: AssertionSubject::UserId,
            audience: self.assertion_audience.clone(),
            departments: !self.departments.is_empty(),
        };
        Ok(Some(SourceIdentity { issuer: Arc::new(OnePerson { person, key, issuer }), claims, header }))
    }

    /// Serves the key; returns the issuer.
    async fn publish(&self, key: &KeyPair) -> Result<String, String> {
        let published = JwkSet { keys: vec![key.public().clone()] };
        let failed = |error: std::io::Error| format!("--keys-listen: {}: {error}", self.keys_listen);
        let listener = TcpListener::bind(self.keys_listen).await.map_err(failed)?;
        let issuer = format!("http://{}", listener.local_addr().map_err(failed)?);
        eprintln!("The key of assertions: {issuer}/jwks");
        let keys = Router::new().route("/jwks", get(async move || Json(published)));
        tokio::spawn(async move { axum::serve(listener, keys).await });
        Ok(issuer)
    }
}
