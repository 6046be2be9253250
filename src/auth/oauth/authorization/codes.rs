//! One-time authorization codes, in memory by digest.
//!
//! (RFC 6749 §4.1.2, §10.5; RFC 7636 §4.6.)

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use aws_lc_rs::digest::{SHA256, digest};
use moka::{policy::EvictionPolicy, sync::Cache};
use oauth2::{PkceCodeChallenge, PkceCodeVerifier};
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use crate::{
    auth::{secrets, tokens::epoch_seconds},
    error::Result,
    identity::scopes::Scopes,
};

const LIFE: Duration = Duration::from_mins(1);

/// Period in which a reuse revokes the token.
const REMEMBERED_FOR: Duration = Duration::from_mins(10);

const REMEMBERED: u64 = 20_000;

const VERIFIER_BYTES: std::ops::RangeInclusive<usize> = 43..=128;

/// The grant behind a code.
#[derive(Clone, Debug)]
pub struct CodeGrant {
    /// Client id.
    pub client_id: String,
    /// Redirect URI.
    pub redirect_uri: String,
    /// Code challenge (RFC 7636).
    pub code_challenge: String,
    /// Tenant number.
    pub tenant_id: i64,
    /// The person's synchronised id.
    pub user_id: String,
    /// The person's epoch at sign-in.
    pub user_epoch: i64,
    /// Login account at sign-in.
    pub login_id: String,
    /// Token scopes.
    pub scopes: Scopes,
    /// The person's device.
    pub device_id: Option<String>,
}

/// An application's use of a code.
#[derive(Clone, Copy, Debug)]
pub struct CodeUse<'a> {
    /// Code.
    pub code: &'a str,
    /// Client id.
    pub client_id: &'a str,
    /// Redirect URI.
    pub redirect_uri: &'a str,
    /// PKCE verifier.
    pub code_verifier: &'a str,
}

/// The result of a use.
#[derive(Debug)]
pub enum Outcome {
    /// A token may be issued.
    CodeGrant {
        /// Grant.
        granted: Box<CodeGrant>,
        /// The token's id (`jti`), fixed so that a reuse can revoke it.
        jti: String,
    },
    /// Unknown, foreign, used or expired code, or wrong proof.
    Refused,
    /// Used before: revoke the first token.
    UsedAgain {
        /// Token id.
        jti: String,
        /// Latest expiry, epoch seconds.
        expires_at: u64,
        /// Tenant number.
        tenant_id: i64,
    },
}

enum State {
    Fresh { granted: Box<CodeGrant>, until: Instant },
    Used { jti: String, expires_at: u64, tenant_id: i64 },
    Spent,
}

struct Code {
    client_id: String,
    state: Mutex<State>,
}

/// The recent codes.
pub struct Codes(Cache<[u8; 32], Arc<Code>>);

impl Default for Codes {
    fn default() -> Self {
        let policy = EvictionPolicy::lru();
        let cache = Cache::builder().max_capacity(REMEMBERED).time_to_live(REMEMBERED_FOR);
        Self(cache.eviction_policy(policy).build())
    }
}

impl Codes {
    /// A new code.
    pub fn give(&self, granted: CodeGrant, now: Instant) -> Result<SecretString> {
        let code = secrets::generate()?;
        let client_id = granted.client_id.clone();
        let state = State::Fresh { granted: Box::new(granted), until: now + LIFE };
        self.0.insert(hash(code.expose_secret()), Arc::new(Code { client_id, state: Mutex::new(state) }));
        Ok(code)
    }

    /// Uses a code for a token of `token_seconds`. Failures spend it too.
    pub fn take(&self, code_use: CodeUse<'_>, token_seconds: u32, now: Instant) -> Outcome {
        let Some(code) = self.0.get(&hash(code_use.code)) else { return Outcome::Refused };
        // Another application neither spends nor probes it.
        if code.client_id != code_use.client_id {
            return Outcome::Refused;
        }
        let mut state = code.state.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, State::Spent) {
            State::Fresh { granted, until } if now < until && granted.is_proved_by(code_use) => {
                let jti = Uuid::new_v4().to_string();
                // The token is issued slightly later.
                let expires_at = epoch_seconds() + u64::from(token_seconds) + LIFE.as_secs();
                *state = State::Used { jti: jti.clone(), expires_at, tenant_id: granted.tenant_id };
                Outcome::CodeGrant { granted, jti }
            }
            State::Used { jti, expires_at, tenant_id } => {
                *state = State::Used { jti: jti.clone(), expires_at, tenant_id };
                Outcome::UsedAgain { jti, expires_at, tenant_id }
            }
            State::Fresh { .. } | State::Spent => Outcome::Refused,
        }
    }
}

impl CodeGrant {
    fn is_proved_by(&self, code_use: CodeUse<'_>) -> bool {
        // The crate panics at a verifier of another length.
        self.redirect_uri == code_use.redirect_uri
            && VERIFIER_BYTES.contains(&code_use.code_verifier.len())
            && PkceCodeChallenge::from_code_verifier_sha256(&PkceCodeVerifier::new(
                code_use.code_verifier.to_owned(),
            ))
            .as_str()
                == self.code_challenge
    }
}

fn hash(code: &str) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, code.as_bytes()).as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    fn granted() -> CodeGrant {
        CodeGrant {
            client_id: "app".to_owned(),
            redirect_uri: "https://app.example/callback".to_owned(),
            code_challenge: CHALLENGE.to_owned(),
            tenant_id: 7,
            user_id: "mei".to_owned(),
            user_epoch: 0,
            login_id: "mei".to_owned(),
            scopes: Scopes::default(),
            device_id: None,
        }
    }

    fn right(code: &SecretString) -> CodeUse<'_> {
        CodeUse {
            code: code.expose_secret(),
            client_id: "app",
            redirect_uri: "https://app.example/callback",
            code_verifier: VERIFIER,
        }
    }

    #[test]
    fn a_code_is_good_for_one_use_and_a_second_one_names_its_token() {
        let (codes, now) = (Codes::default(), Instant::now());
        let code = codes.give(granted(), now).unwrap();
        let Outcome::CodeGrant { granted, jti: first } = codes.take(right(&code), 60, now) else {
            panic!("the first use is refused");
        };
        assert_eq!(granted.user_id, "mei");
        for _ in 0..2 {
            let Outcome::UsedAgain { jti, expires_at, tenant_id } = codes.take(right(&code), 60, now) else {
                panic!("another use is not noticed");
            };
            assert_eq!((jti, tenant_id), (first.clone(), 7));
            assert!(expires_at >= epoch_seconds() + 60);
        }
    }

    #[test]
    fn a_code_is_good_for_a_minute() {
        let (codes, now) = (Codes::default(), Instant::now());
        let code = codes.give(granted(), now).unwrap();
        assert!(matches!(codes.take(right(&code), 60, now + LIFE), Outcome::Refused));
        assert!(matches!(codes.take(right(&code), 60, now), Outcome::Refused), "it was not spent");
    }

    #[test]
    fn a_wrong_use_spends_the_code_and_another_application_does_not() {
        let now = Instant::now();
        let longest = "x".repeat(100_000);
        for (wrong, is_spent) in [
            (
                CodeUse { code_verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXl", ..right(&"".into()) },
                true,
            ),
            (CodeUse { code_verifier: "", ..right(&"".into()) }, true),
            (CodeUse { code_verifier: CHALLENGE, ..right(&"".into()) }, true),
            (CodeUse { code_verifier: &longest, ..right(&"".into()) }, true),
            (CodeUse { redirect_uri: "https://app.example/callback/", ..right(&"".into()) }, true),
            (CodeUse { client_id: "other", ..right(&"".into()) }, false),
        ] {
            let codes = Codes::default();
            let code = codes.give(granted(), now).unwrap();
            let wrong = CodeUse { code: code.expose_secret(), ..wrong };
            assert!(matches!(codes.take(wrong, 60, now), Outcome::Refused), "{wrong:?}");
            let afterwards = codes.take(right(&code), 60, now);
            assert_eq!(matches!(afterwards, Outcome::Refused), is_spent, "{wrong:?}");
        }
        assert!(matches!(Codes::default().take(right(&"unknown".into()), 60, now), Outcome::Refused));
    }
}
