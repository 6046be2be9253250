//! Second factors of sign-in by password: authenticator and recovery codes.
//!
//! A code is checked in the write transaction that spends it, so it is good once over all replicas.

mod offer;
mod recovery;
mod rows;
mod totp;

pub use self::totp::TotpSecret;
use self::{offer::OfferedSecret, recovery::RecoveryCode, rows::FactorRow, totp::DIGITS};
use super::{keys::Keys, sessions::SessionId};
use crate::{
    error::{Error, Result},
    store::{self, Connection, Json, Transaction, Value, now_millis},
};

/// Wrong codes in a row after which only recovery codes count.
///
/// They also end an offer (NIST SP 800-63B, 5.2.2).
const MAX_WRONG_CODES: i64 = 100;

/// The person whose second factor it is.
#[derive(Clone, Debug)]
pub struct FactorOwner {
    /// Tenant number.
    pub tenant_id: i64,
    /// Synchronised id.
    pub user_id: String,
}

impl FactorOwner {
    fn values(&self) -> [Value; 2] {
        [self.tenant_id.into(), self.user_id.as_str().into()]
    }

    fn context(&self) -> String {
        format!("second factor\0{}\0{}", self.tenant_id, self.user_id)
    }
}

/// A second factor that a code has confirmed.
#[derive(Clone, Copy, Debug)]
pub struct ConfirmedFactor {
    /// When it was confirmed, epoch milliseconds.
    pub confirmed_at: i64,
    /// Recovery codes that are left.
    pub recovery_codes: usize,
}

/// The result of checking a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorOutcome {
    /// A code of the app.
    Right,
    /// A recovery code.
    RightRecovery,
    /// Wrong, or used before.
    Wrong,
    /// Too many were wrong: only recovery codes are taken.
    Locked,
}

impl FactorOutcome {
    /// Whether the code was right.
    pub fn is_right(self) -> bool {
        matches!(self, Self::Right | Self::RightRecovery)
    }
}

/// The person's second factor, if a code has confirmed it.
pub async fn find(connection: &Connection, owner: &FactorOwner) -> store::Result<Option<ConfirmedFactor>> {
    let row = rows::find(connection, owner).await?;
    Ok(row.and_then(|row| {
        row.confirmed_at
            .map(|confirmed_at| ConfirmedFactor { confirmed_at, recovery_codes: row.recovery_hashes.len() })
    }))
}

/// Checks a code, spends a right one and counts a wrong one.
pub async fn check_code(
    transaction: &Transaction,
    keys: &Keys,
    owner: &FactorOwner,
    code: &str,
) -> Result<FactorOutcome> {
    let Some(mut row) = rows::find(transaction, owner).await? else { return Ok(FactorOutcome::Wrong) };
    let Some(secret) = open(keys, owner, row.sealed_secret.as_deref())? else {
        return Ok(FactorOutcome::Wrong);
    };
    let outcome = match EnteredCode::read(code) {
        Some(EnteredCode::Totp(_)) if row.wrong_codes >= MAX_WRONG_CODES => return Ok(FactorOutcome::Locked),
        Some(EnteredCode::Totp(code)) => match secret.find_step(&code, now_seconds(), row.last_step) {
            Some(step) => {
                row.last_step = step;
                FactorOutcome::Right
            }
            None => FactorOutcome::Wrong,
        },
        Some(EnteredCode::Recovery(code)) => {
            match code.find(&keys.client_secrets, &owner.context(), &row.recovery_hashes) {
                Some(place) => {
                    row.recovery_hashes.remove(place);
                    FactorOutcome::RightRecovery
                }
                None => FactorOutcome::Wrong,
            }
        }
        None => FactorOutcome::Wrong,
    };
    row.wrong_codes = if outcome.is_right() { 0 } else { row.wrong_codes + 1 };
    rows::put(transaction, owner, row).await?;
    Ok(outcome)
}

/// Keeps a secret until a code of the same session confirms it.
///
/// An earlier confirmed secret holds until then.
pub async fn offer(
    transaction: &Transaction,
    keys: &Keys,
    (owner, session): (&FactorOwner, SessionId),
    secret: &TotpSecret,
) -> Result<()> {
    let sealed = OfferedSecret::new(secret).seal(keys, owner, session)?;
    let row = rows::find(transaction, owner).await?.unwrap_or_default();
    Ok(rows::put(transaction, owner, FactorRow { sealed_offer: Some(sealed), ..row }).await?)
}

/// Confirms the secret that the session was offered by a code, and counts a wrong one.
///
/// Returns new recovery codes, or none if the code is wrong.
pub async fn confirm(
    transaction: &Transaction,
    keys: &Keys,
    (owner, session): (&FactorOwner, SessionId),
    code: &str,
) -> Result<Option<Vec<String>>> {
    let Some(row) = rows::find(transaction, owner).await? else { return Ok(None) };
    let offered = row.sealed_offer.as_deref();
    let offered = offered.and_then(|sealed| OfferedSecret::open(keys, owner, session, sealed));
    let Some(offered) = offered else { return Ok(None) };
    let secret = offered.secret()?;
    let last_step = match EnteredCode::read(code) {
        Some(EnteredCode::Totp(code)) => secret.find_step(&code, now_seconds(), 0),
        _ => None,
    };
    let Some(last_step) = last_step else {
        let offered = offered.after_wrong_code();
        let sealed_offer = offered.map(|offered| offered.seal(keys, owner, session)).transpose()?;
        rows::put(transaction, owner, FactorRow { sealed_offer, ..row }).await?;
        return Ok(None);
    };
    let sealed = keys.secrets.seal(owner.context().as_bytes(), secret.bytes()).map_err(Error::internal)?;
    let codes = (0..recovery::COUNT).map(|_| RecoveryCode::generate()).collect::<Result<Vec<_>>>()?;
    let hashes = codes.iter().map(|code| code.hash(&keys.client_secrets, &owner.context())).collect();
    let confirmed = FactorRow {
        sealed_secret: Some(sealed),
        sealed_offer: None,
        confirmed_at: Some(now_millis()),
        last_step,
        wrong_codes: 0,
        recovery_hashes: Json(hashes),
    };
    rows::put(transaction, owner, confirmed).await?;
    Ok(Some(codes.iter().map(RecoveryCode::shown).collect()))
}

/// Removes the person's second factor; tells whether one held.
pub async fn remove(transaction: &Transaction, owner: &FactorOwner) -> store::Result<bool> {
    let held = find(transaction, owner).await?.is_some();
    rows::remove(transaction, owner).await?;
    Ok(held)
}

/// A code as a person types it.
enum EnteredCode {
    Totp(String),
    Recovery(RecoveryCode),
}

impl EnteredCode {
    fn read(text: &str) -> Option<Self> {
        // Apps show the digits in groups.
        let digits: String =
            text.chars().filter(|character| !character.is_whitespace()).take(DIGITS + 1).collect();
        if digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(Self::Totp(digits));
        }
        RecoveryCode::read(text).map(Self::Recovery)
    }
}

/// # Errors
/// 500 where the master key is another.
fn open(keys: &Keys, owner: &FactorOwner, sealed: Option<&[u8]>) -> Result<Option<TotpSecret>> {
    let Some(sealed) = sealed else { return Ok(None) };
    let bytes = keys.secrets.open(owner.context().as_bytes(), sealed).map_err(Error::internal)?;
    Ok(TotpSecret::from_bytes(&bytes))
}

fn now_seconds() -> i64 {
    now_millis() / 1_000
}
