//! Browser sessions.
//!
//! The cookie holds 32 random bytes, the database only their SHA-256. Look-ups also check person, password and
//! application, as for tokens.

pub mod application;
pub mod cookies;
mod rows;

use std::{collections::HashSet, fmt, sync::Arc, time::Duration};

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};

use super::{
    tenants::Tenant,
    usage::{LastUse, Usage},
};
use crate::{
    config::{Console, Web},
    error::Result,
    store::{Store, now_millis},
};

pub(super) use self::rows::{SessionRow, find, insert, remove, remove_above};

const SECRET_BYTES: usize = 32;

/// The SHA-256 of a session cookie's content.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SessionId([u8; 32]);

impl SessionId {
    /// The session of a cookie value, if well-formed.
    pub fn of(cookie: &str) -> Option<Self> {
        let secret = BASE64_URL_SAFE_NO_PAD.decode(cookie).ok()?;
        let digest = (secret.len() == SECRET_BYTES).then(|| digest(&SHA256, &secret))?;
        Some(Self(digest.as_ref().try_into().ok()?))
    }

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

/// The person and application of a new session.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// Tenant number.
    pub tenant_id: i64,
    /// Synchronised id.
    pub user_id: String,
    /// The person's epoch at sign-in.
    pub user_epoch: i64,
    /// Login account at sign-in.
    pub login_id: String,
    /// Application signed in by.
    pub client_id: String,
    /// The application's epoch at sign-in.
    pub client_epoch: i64,
    /// The sign-in's issuer; `None` for the login page.
    pub issuer: Option<String>,
}

/// Session lifetimes, operators and last uses.
#[derive(Debug)]
pub struct Sessions {
    idle: Duration,
    life: Duration,
    operators: HashSet<String>,
    usage: Usage,
}

impl Sessions {
    /// Sessions with these settings.
    pub fn new(web: &Web, console: &Console) -> Self {
        Self {
            idle: web.session_idle(),
            life: web.session_life(),
            operators: console.operators.iter().cloned().collect(),
            usage: Usage::for_sessions(),
        }
    }

    /// The maximum lifetime of a session.
    pub fn life(&self) -> Duration {
        self.life
    }

    /// Whether this login of this tenant operates the server.
    pub fn is_operator(&self, login_id: &str, tenant: &Tenant) -> bool {
        self.operators.contains(&format!("{login_id}@{}", tenant.code))
    }

    pub(super) fn last_use(&self, id: SessionId) -> Arc<LastUse> {
        self.usage.of(&id.digits())
    }

    pub(super) fn expiry(&self, id: SessionId, row: &SessionRow) -> Option<u64> {
        let now = now_millis();
        let used_at = self.usage.noted(&id.digits()).unwrap_or_default().max(row.used_at);
        let is_used = used_at.saturating_add(millis(self.idle)) > now;
        let ends_at = row.created_at.saturating_add(millis(self.life));
        (is_used && ends_at > now).then(|| u64::try_from(ends_at / 1_000).unwrap_or_default())
    }

    /// Writes noted uses to the database.
    pub async fn write_down(&self, store: &Store) -> Result<()> {
        self.usage.write_down(store).await
    }

    /// Removes some expired sessions. Returns whether none is left.
    pub async fn remove_expired(&self, store: &Store) -> Result<bool> {
        let now = now_millis();
        rows::remove_expired(store, now - millis(self.life), now - millis(self.idle)).await
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
