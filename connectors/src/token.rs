//! One cached token per source or person, one fetch for waiting searches.
//!
//! A task of its own drives each fetch. A token is used until shortly before its end.

mod endpoint;

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use moka::sync::Cache;
use secrecy::SecretString;
use tokio::time::Instant;

use self::endpoint::TokenEndpoint;
#[cfg(any(test, fuzzing))]
pub(crate) use self::endpoint::{FetchFailure, read_token};
use crate::addresses::AddressRules;
use crate::credentials::SourceCredential;
use crate::error::SourceError;
use crate::identity::{KnownPerson, SourceIdentity};
use crate::settings::{ClientCredentials, SettingsError};

/// It may exceed a search's limit, so that a slow endpoint serves the next search.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
/// People whose tokens a source keeps.
const MAX_PEOPLE: u64 = 10_000;
/// Time after which the token of a person who searches no more is dropped.
const IDLE: Duration = Duration::from_mins(10);

pub(crate) struct Token {
    pub(crate) credential: SourceCredential,
    /// The token's text, for redaction.
    pub(crate) text: SecretString,
    /// RFC 6749 requires it if it differs from the requested scope.
    pub(crate) scope: Option<String>,
    /// What the endpoint's answer tells in another way than RFC 6749.
    pub(crate) note: Option<String>,
    pub(crate) fresh_until: Instant,
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Token")
            .field("scope", &self.scope)
            .field("fresh_until", &self.fresh_until)
            .finish_non_exhaustive()
    }
}

type TokenFetch = Shared<BoxFuture<'static, Result<Arc<Token>, SourceError>>>;

/// Tokens of one client at one token endpoint.
pub(crate) struct TokenCache {
    endpoint: Arc<TokenEndpoint>,
    /// The application's own token.
    own: LatestFetch,
    /// Tokens of people, by synchronised id.
    people: Cache<String, Arc<PersonFetch>>,
}

#[derive(Default)]
struct LatestFetch(Mutex<Option<TokenFetch>>);

/// The token of a person, as long as they stand as they did.
struct PersonFetch {
    standing: u64,
    latest: LatestFetch,
}

impl TokenCache {
    pub(crate) fn new(
        credentials: ClientCredentials,
        identity: Option<&SourceIdentity>,
        rules: &AddressRules,
    ) -> Result<Self, SettingsError> {
        let endpoint = Arc::new(TokenEndpoint::new(credentials, identity, rules)?);
        let people = Cache::builder().max_capacity(MAX_PEOPLE).time_to_idle(IDLE).build();
        Ok(Self { endpoint, own: LatestFetch::default(), people })
    }

    /// The token of `person` if the grant is of people, else of the application.
    pub(crate) async fn get(&self, person: Option<&KnownPerson>) -> Result<Arc<Token>, SourceError> {
        self.join(person, None).await
    }

    pub(crate) async fn renew(
        &self,
        person: Option<&KnownPerson>,
        refused: &Arc<Token>,
    ) -> Result<Arc<Token>, SourceError> {
        self.join(person, Some(refused)).await
    }

    fn join(&self, person: Option<&KnownPerson>, refused: Option<&Arc<Token>>) -> TokenFetch {
        let person = person.filter(|_| self.endpoint.grants_people());
        let start = || start_fetch(Arc::clone(&self.endpoint), person.cloned());
        match person {
            None => self.own.join(refused, start),
            Some(person) => {
                let fetch =
                    || Arc::new(PersonFetch { standing: person.standing, latest: LatestFetch::default() });
                let entry = self.people.entry_by_ref(&person.user_id);
                let kept = entry.or_insert_with_if(fetch, |kept| kept.standing != person.standing);
                kept.into_value().latest.join(refused, start)
            }
        }
    }
}

impl LatestFetch {
    fn join(&self, refused: Option<&Arc<Token>>, start: impl FnOnce() -> TokenFetch) -> TokenFetch {
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fetch) = latest.as_ref() {
            let good = match fetch.peek() {
                None => true,
                Some(Ok(token)) => {
                    Instant::now() < token.fresh_until
                        && refused.is_none_or(|refused| !Arc::ptr_eq(refused, token))
                }
                Some(Err(_)) => false,
            };
            if good {
                return fetch.clone();
            }
        }
        let fetch = start();
        *latest = Some(fetch.clone());
        fetch
    }
}

fn start_fetch(endpoint: Arc<TokenEndpoint>, person: Option<KnownPerson>) -> TokenFetch {
    let bounded = async move {
        let late = Err(SourceError::Timeout);
        tokio::time::timeout(FETCH_TIMEOUT, endpoint.fetch(person.as_ref())).await.unwrap_or(late)
    };
    let fetch = AssertUnwindSafe(bounded)
        .catch_unwind()
        .map(|outcome| {
            let broke = |_| SourceError::Failed("fetching a token failed unexpectedly".to_owned());
            outcome.map_err(broke).flatten().map(Arc::new)
        })
        .boxed()
        .shared();
    tokio::spawn(fetch.clone());
    fetch
}
