//! Browsers that people signed in with: what a cookie is worth, for how long, and who of them operates the server.
//!
//! A cookie holds 32 random bytes, and the database their SHA-256: who reads the database signs in as nobody. What else ends a
//! session (the person, his password, the application) is asked for whenever its caller is looked up, as of tokens.

pub mod application;
mod rows;

use std::{collections::HashSet, fmt, sync::Arc, time::Duration};

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use secrecy::{ExposeSecret, SecretString};

use super::{
    caller::Authenticator,
    secrets,
    tenants::Tenant,
    usage::{LastUse, Usage},
};
use crate::{
    config::{Console, Web},
    error::{Error, Result},
    store::{Store, now_millis},
};

pub(super) use self::rows::{Row, find};

/// Sessions that one person may have; of more, those go that were not used for the longest time.
const MOST_OF_ONE_PERSON: u64 = 50;

/// The bytes that a cookie holds.
const SECRET_BYTES: usize = 32;

/// What a session is known by: the SHA-256 of what its cookie holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SessionId([u8; 32]);

impl SessionId {
    /// The session of a cookie with this value; none where it cannot be one of ours.
    pub fn of(cookie: &str) -> Option<Self> {
        let secret = BASE64_URL_SAFE_NO_PAD.decode(cookie).ok()?;
        let digest = (secret.len() == SECRET_BYTES).then(|| digest(&SHA256, &secret))?;
        Some(Self(digest.as_ref().try_into().ok()?))
    }

    /// Its bytes, as the database has them.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn digits(self) -> String {
        hex::encode(self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SessionId").finish_non_exhaustive()
    }
}

/// Whom a new session is of.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// The tenant's number.
    pub tenant_id: i64,
    /// The id on the synchronising side.
    pub user_id: String,
    /// His epoch when he proved who he is.
    pub user_epoch: i64,
    /// His login account then.
    pub login_id: String,
    /// The application that he signed in by.
    pub client_id: String,
    /// Its epoch then.
    pub client_epoch: i64,
    /// The id of the issuer that he signed in by; none where it was the login page.
    pub issuer: Option<String>,
}

/// For how long sessions are good, who of their people operates the server, and when each was last used.
#[derive(Debug)]
pub struct Sessions {
    idle: Duration,
    life: Duration,
    operators: HashSet<String>,
    usage: Usage,
}

impl Sessions {
    /// By these settings.
    pub fn new(web: &Web, console: &Console) -> Self {
        Self {
            idle: web.session_idle(),
            life: web.session_life(),
            operators: console.operators.iter().cloned().collect(),
            usage: Usage::of_sessions(),
        }
    }

    /// How long a session lasts at the most.
    pub fn life(&self) -> Duration {
        self.life
    }

    /// Whether the person with this login in this tenant operates the server.
    pub fn is_operator(&self, login_id: &str, tenant: &Tenant) -> bool {
        self.operators.contains(&format!("{login_id}@{}", tenant.code))
    }

    /// Where the uses of a session are noted.
    pub(super) fn last_use(&self, id: SessionId) -> Arc<LastUse> {
        self.usage.of(&id.digits())
    }

    /// Until when the session is good if it is used, in epoch seconds; none where it is not any more.
    pub(super) fn expiry(&self, id: SessionId, row: &Row) -> Option<u64> {
        let now = now_millis();
        let used_at = self.usage.noted(&id.digits()).unwrap_or_default().max(row.used_at);
        let is_used = used_at.saturating_add(millis(self.idle)) > now;
        let ends_at = row.created_at.saturating_add(millis(self.life));
        (is_used && ends_at > now).then(|| u64::try_from(ends_at / 1_000).unwrap_or_default())
    }

    /// Writes down what is noted in memory of when sessions were used.
    pub async fn write_down(&self, store: &Store) -> Result<()> {
        self.usage.write_down(store).await
    }

    /// Forgets sessions that are over, some at a time. Answers whether that is done.
    pub async fn remove_expired(&self, store: &Store) -> Result<bool> {
        let now = now_millis();
        rows::remove_expired(store, now - millis(self.life), now - millis(self.idle)).await
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

impl Authenticator {
    /// Begins a session. Answers what its cookie is to hold. The session that the browser had before, if any, ends with it.
    pub async fn begin_session(
        &self,
        signed_in: SignedIn,
        replaced: Option<SessionId>,
    ) -> Result<SecretString> {
        let secret = secrets::generate()?;
        let id = SessionId::of(secret.expose_secret());
        let id = id.ok_or_else(|| Error::internal("a secret is not of the length that sessions have"))?;
        if let Some(replaced) = replaced {
            self.end_session(replaced).await?;
        }
        let forget = self.forgetting_callers(signed_in.tenant_id);
        let job = self.store.write(move |transaction| {
            Box::pin(async move {
                rows::insert(transaction, id, &signed_in, now_millis()).await?;
                let (tenant_id, user_id) = (signed_in.tenant_id, &signed_in.user_id);
                if rows::remove_above(transaction, tenant_id, user_id, MOST_OF_ONE_PERSON).await? {
                    transaction.after_commit(forget);
                }
                Ok(())
            })
        });
        job.await?;
        Ok(secret)
    }

    /// Ends a session, at once. Answers the number of the tenant and the id of the person whose it was, if there was one.
    pub async fn end_session(&self, id: SessionId) -> Result<Option<(i64, String)>> {
        let Some(row) = find(self.store.reader(), id).await? else { return Ok(None) };
        let forget = self.forgetting_callers(row.tenant_id);
        let job = self.store.write(move |transaction| {
            Box::pin(async move {
                rows::remove(transaction, id).await?;
                transaction.after_commit(forget);
                Ok(())
            })
        });
        job.await?;
        Ok(Some((row.tenant_id, row.user_id)))
    }
}
