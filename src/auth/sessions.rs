//! Browser sessions.
//!
//! The cookie holds 32 random bytes, the database only their SHA-256. Look-ups also check person, password and
//! application, as for tokens.

pub mod application;
pub mod cookies;
pub mod listing;
pub mod routes;
mod rows;

use std::{collections::HashSet, fmt, net::IpAddr, sync::Arc, time::Duration};

use aws_lc_rs::digest::{SHA256, digest};
use axum::http::{HeaderMap, header};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};

use super::{
    tenants::Tenant,
    usage::{LastUse, LastUses},
};
use crate::{
    config::{Console, Web},
    error::Result,
    store::{Connection, Store, now_millis},
};

pub use self::rows::end_one;
pub(super) use self::rows::{SessionRow, end_all_but, find, insert, remove, remove_above, renew};

const SECRET_BYTES: usize = 32;

const MAX_USER_AGENT_CHARS: usize = 256;

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

    /// Its hexadecimal digits. No cookie can be made from them.
    pub fn digits(self) -> String {
        hex::encode(self.0)
    }

    /// The session with these digits, if well-formed.
    pub fn from_digits(digits: &str) -> Option<Self> {
        Some(Self(hex::decode(digits).ok()?.try_into().ok()?))
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

/// Where a session begins, and by which browser.
#[derive(Clone, Debug)]
pub struct SessionOrigin {
    /// The client's address.
    pub address: IpAddr,
    /// The browser's `User-Agent`, cut to 256 characters.
    pub user_agent: Option<String>,
}

impl SessionOrigin {
    /// The origin of a request from `address`.
    pub fn of(address: IpAddr, headers: &HeaderMap) -> Self {
        let user_agent = headers.get(header::USER_AGENT).map(|value| {
            let text = String::from_utf8_lossy(value.as_bytes());
            text.chars().filter(|character| !character.is_control()).take(MAX_USER_AGENT_CHARS).collect()
        });
        Self { address, user_agent }
    }
}

/// An unexpired session whose application has not changed since.
#[derive(Clone, Debug)]
pub struct LiveSession {
    /// Id.
    pub id: SessionId,
    /// The person, by synchronised id.
    pub user_id: String,
    user_epoch: i64,
    login_id: String,
    /// Application signed in by.
    pub client_id: String,
    /// The sign-in's issuer; `None` for the login page.
    pub issuer: Option<String>,
    /// Begin, epoch milliseconds.
    pub created_at: i64,
    /// Last use, epoch milliseconds.
    pub used_at: i64,
    /// End without further use, epoch milliseconds.
    pub expires_at: i64,
    /// The client's address at sign-in.
    pub address: Option<String>,
    /// The browser's `User-Agent` at sign-in.
    pub user_agent: Option<String>,
}

impl LiveSession {
    /// Whether it holds for its person with this epoch and login.
    pub fn holds_for(&self, user_epoch: i64, login_id: &str) -> bool {
        self.user_epoch == user_epoch && self.login_id == login_id
    }
}

/// Session lifetimes, operators and last uses.
#[derive(Debug)]
pub struct Sessions {
    idle: Duration,
    life: Duration,
    operators: HashSet<String>,
    require_second_factor: bool,
    usage: LastUses,
}

impl Sessions {
    /// Sessions with these settings.
    pub fn new(web: &Web, console: &Console) -> Self {
        Self {
            idle: Duration::from_mins(web.session_idle_minutes.into()),
            life: Duration::from_hours(web.session_hours.into()),
            operators: console.operators.iter().cloned().collect(),
            require_second_factor: console.require_second_factor,
            usage: LastUses::for_sessions(),
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

    /// Whether operators who sign in by password need a second factor.
    pub fn require_second_factor(&self) -> bool {
        self.require_second_factor
    }

    pub(super) fn last_use(&self, id: SessionId) -> Arc<LastUse> {
        self.usage.of(&id.digits())
    }

    /// The live sessions of these people.
    pub async fn find_live(
        &self,
        connection: &Connection,
        tenant_id: i64,
        user_ids: &[&str],
    ) -> Result<Vec<LiveSession>> {
        let now = now_millis();
        let rows = rows::find_of_people(connection, tenant_id, user_ids).await?;
        let live = rows.into_iter().filter_map(|(id, row)| {
            let used_at = self.used_at(id, &row);
            let expires_at = self.idle_end(used_at).min(self.latest_end(&row));
            (expires_at > now).then_some(LiveSession {
                id,
                user_id: row.user_id,
                user_epoch: row.user_epoch,
                login_id: row.login_id,
                client_id: row.client_id,
                issuer: row.issuer,
                created_at: row.created_at,
                used_at,
                expires_at,
                address: row.address,
                user_agent: row.user_agent,
            })
        });
        Ok(live.collect())
    }

    /// The latest end of a session that has not expired, epoch seconds.
    pub(super) fn expiry(&self, id: SessionId, row: &SessionRow) -> Option<u64> {
        let now = now_millis();
        let latest = self.latest_end(row);
        let is_used = self.idle_end(self.used_at(id, row)) > now;
        (is_used && latest > now).then(|| u64::try_from(latest / 1_000).unwrap_or_default())
    }

    fn used_at(&self, id: SessionId, row: &SessionRow) -> i64 {
        self.usage.noted(&id.digits()).unwrap_or_default().max(row.used_at)
    }

    fn idle_end(&self, used_at: i64) -> i64 {
        used_at.saturating_add(millis(self.idle))
    }

    fn latest_end(&self, row: &SessionRow) -> i64 {
        row.created_at.saturating_add(millis(self.life))
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
