//! The person for whom a source is called, as the source may know them.
//!
//! An [`AssertionIssuer`] vouches for people by short signed JWTs, *assertions*. A source receives them in a header, or its
//! authorization server receives them and grants tokens of people (`token`).

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::credentials::{InvalidCredentials, SourceCredential, check_header};
use crate::error::SourceError;

/// Header of assertions whose source names none.
pub const DEFAULT_ASSERTION_HEADER: &str = "X-Trawl-Assertion";

/// A person as sources know them: `$person` of mappings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KnownPerson {
    /// Synchronised id.
    pub user_id: String,
    /// Login account.
    pub login_id: String,
    /// Departments by synchronised id, the main one first.
    pub departments: Vec<String>,
    /// Changes with their sessions, login and departments.
    #[serde(skip)]
    pub standing: u64,
}

/// The claim that is the subject of assertions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssertionSubject {
    /// Synchronised id.
    UserId,
    /// Login account.
    LoginId,
}

/// Settings of a source's assertions.
#[derive(Clone, Debug)]
pub struct AssertionClaims {
    /// `sub`.
    pub subject: AssertionSubject,
    /// `aud`; `None` for the origin of the source, or the token endpoint.
    pub audience: Option<String>,
    /// Whether `departments` is among the claims.
    pub departments: bool,
}

/// Vouches for the people of one tenant.
#[async_trait]
pub trait AssertionIssuer: fmt::Debug + Send + Sync {
    /// The person with this synchronised id as they are now.
    ///
    /// # Errors
    /// [`SourceError::PersonRefused`] for a person who is deleted or disabled.
    async fn find_person(&self, user_id: &str) -> Result<KnownPerson, SourceError>;

    /// Signs an assertion.
    ///
    /// # Errors
    /// No key is at hand.
    async fn sign(&self, assertion: &Assertion<'_>) -> Result<SecretString, SourceError>;
}

/// Claims of one assertion.
#[derive(Clone, Copy, Debug)]
pub struct Assertion<'a> {
    /// The person.
    pub person: &'a KnownPerson,
    /// Settings of the source.
    pub claims: &'a AssertionClaims,
    /// `aud`.
    pub audience: &'a str,
    /// Seconds until `exp`; negative in a check.
    pub life: i64,
}

/// Seconds until the end of an assertion.
const LIFE: i64 = 60;

impl<'a> Assertion<'a> {
    pub(crate) fn new(person: &'a KnownPerson, claims: &'a AssertionClaims, audience: &'a str) -> Self {
        Self { person, claims, audience, life: LIFE }
    }
}

/// How a source learns for whom it is called.
#[derive(Clone, Debug)]
pub struct SourceIdentity {
    /// Vouches for the people.
    pub issuer: Arc<dyn AssertionIssuer>,
    /// Claims of the assertions.
    pub claims: AssertionClaims,
    /// Header of the assertion; `None` for a token of the person or `$person`.
    pub header: Option<AssertionHeader>,
}

/// Header of an assertion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssertionHeader(HeaderName);

impl AssertionHeader {
    /// # Errors
    /// A reserved or malformed name.
    pub fn new(name: &str) -> Result<Self, InvalidCredentials> {
        check_header(name).map(Self)
    }

    /// Whether this is its name, in any case.
    pub fn is_named(&self, name: &str) -> bool {
        self.0.as_str().eq_ignore_ascii_case(name)
    }

    /// Makes a bearer token in `Authorization`, else a bare value.
    pub(crate) fn credential(&self, assertion: &SecretString) -> Result<SourceCredential, SourceError> {
        let scheme = if self.0 == AUTHORIZATION { "Bearer " } else { "" };
        let value = HeaderValue::try_from(format!("{scheme}{}", assertion.expose_secret()))
            .map_err(|_| SourceError::Failed("the assertion cannot be sent in a header".to_owned()))?;
        Ok(SourceCredential::header(self.0.clone(), value))
    }
}

/// The person of one call, and the assertion that it sends.
pub(crate) struct IdentifiedPerson {
    pub(crate) person: KnownPerson,
    pub(crate) assertion: Option<SignedAssertion>,
}

pub(crate) struct SignedAssertion {
    pub(crate) credential: SourceCredential,
    /// The text, for redaction.
    pub(crate) text: SecretString,
}

impl SourceIdentity {
    /// `aud` of assertions that the source receives itself.
    pub(crate) fn audience(&self, url: &Url) -> String {
        self.claims.audience.clone().unwrap_or_else(|| url.origin().ascii_serialization())
    }

    /// # Errors
    /// [`SourceError::PersonRefused`] without a person who stands.
    pub(crate) async fn identify(
        &self,
        url: &Url,
        user_id: Option<&str>,
    ) -> Result<IdentifiedPerson, SourceError> {
        let person = self.issuer.find_person(user_id.ok_or_else(SourceError::no_person)?).await?;
        let Some(header) = &self.header else { return Ok(IdentifiedPerson { person, assertion: None }) };
        let audience = self.audience(url);
        let text = self.issuer.sign(&Assertion::new(&person, &self.claims, &audience)).await?;
        let assertion = SignedAssertion { credential: header.credential(&text)?, text };
        Ok(IdentifiedPerson { person, assertion: Some(assertion) })
    }
}
