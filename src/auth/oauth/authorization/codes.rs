//! One-time authorization codes, stored by digest.
//!
//! (RFC 6749 §4.1.2, §10.5; RFC 7636 §4.6.)

use aws_lc_rs::digest::{SHA256, digest};
use oauth2::{PkceCodeChallenge, PkceCodeVerifier};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    auth::secrets,
    error::Result,
    identity::scopes::Scopes,
    store::{self, Connection, FromRow, Json, Store, Value, sql},
};

/// Milliseconds.
const LIFE: i64 = 60 * 1_000;

/// Period in which a reuse revokes the token, in milliseconds.
const REMEMBERED_FOR: i64 = 10 * 60 * 1_000;

/// The maximum of remembered codes; the oldest are forgotten.
const REMEMBERED: u64 = 20_000;

const VERIFIER_BYTES: std::ops::RangeInclusive<usize> = 43..=128;

/// The grant behind a code.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
pub enum CodeOutcome {
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

#[derive(FromRow)]
struct StoredCode {
    granted: Json<CodeGrant>,
    issued_at: i64,
    /// Id and latest expiry of a used code's token.
    jti: Option<String>,
    token_expires_at: Option<i64>,
}

impl StoredCode {
    /// The outcome of a further use.
    fn used(self) -> CodeOutcome {
        let (Some(jti), Some(expires_at)) = (self.jti, self.token_expires_at) else {
            return CodeOutcome::Refused;
        };
        let expires_at = u64::try_from(expires_at).unwrap_or_default();
        CodeOutcome::UsedAgain { jti, expires_at, tenant_id: self.granted.tenant_id }
    }
}

/// A new code, at epoch milliseconds.
pub async fn give(store: &Store, granted: CodeGrant, now: i64) -> Result<SecretString> {
    let code = secrets::generate()?;
    // Codes of one millisecond go together.
    let forget = sql(
        "DELETE FROM authorization_codes WHERE issued_at <= MAX(?, COALESCE( \
           (SELECT issued_at FROM authorization_codes ORDER BY issued_at DESC LIMIT 1 OFFSET ?), 0))",
        [(now - REMEMBERED_FOR).into(), (REMEMBERED - 1).into()],
    );
    let insert = sql(
        "INSERT INTO authorization_codes (code_digest, tenant_id, granted, issued_at) VALUES (?, ?, ?, ?)",
        [hash(code.expose_secret()), granted.tenant_id.into(), Value::json(&granted)?, now.into()],
    );
    let job = store.write(move |transaction| {
        Box::pin(async move {
            forget.execute(transaction).await?;
            Ok(insert.execute(transaction).await?)
        })
    });
    job.await?;
    Ok(code)
}

/// Uses a code for a token of `token_seconds`. Failures spend it too.
pub async fn take(store: &Store, code_use: CodeUse<'_>, token_seconds: u32, now: i64) -> Result<CodeOutcome> {
    let hash = hash(code_use.code);
    let code = find(store.reader(), &hash, now).await?;
    // Another application neither spends nor probes it.
    let Some(code) = code.filter(|code| code.granted.client_id == code_use.client_id) else {
        return Ok(CodeOutcome::Refused);
    };
    if code.jti.is_some() {
        return Ok(code.used());
    }
    let is_granted = now < code.issued_at + LIFE && code.granted.is_proved_by(code_use);
    let jti = Uuid::new_v4().to_string();
    let spend = if is_granted {
        // The token is issued slightly later.
        let expires_at = (now + LIFE) / 1_000 + i64::from(token_seconds);
        sql(
            "UPDATE authorization_codes SET jti = ?, token_expires_at = ? WHERE code_digest = ? AND jti IS NULL",
            [jti.as_str().into(), expires_at.into(), hash.clone()],
        )
    } else {
        sql("DELETE FROM authorization_codes WHERE code_digest = ? AND jti IS NULL", [hash.clone()])
    };
    let job = store.write(move |transaction| {
        Box::pin(async move {
            let is_first = spend.execute(transaction).await? > 0;
            Ok(if is_first { None } else { Some(find(transaction, &hash, now).await?) })
        })
    });
    Ok(match job.await? {
        None if is_granted => CodeOutcome::CodeGrant { granted: Box::new(code.granted.0), jti },
        None => CodeOutcome::Refused,
        Some(winner) => winner.map_or(CodeOutcome::Refused, StoredCode::used),
    })
}

async fn find(connection: &Connection, hash: &Value, now: i64) -> store::Result<Option<StoredCode>> {
    let statement = sql(
        "SELECT granted, issued_at, jti, token_expires_at FROM authorization_codes \
         WHERE code_digest = ? AND issued_at > ?",
        [hash.clone(), (now - REMEMBERED_FOR).into()],
    );
    statement.fetch_optional(connection).await
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

fn hash(code: &str) -> Value {
    digest(&SHA256, code.as_bytes()).as_ref().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    const NOW: i64 = 1_700_000_000_000;

    async fn open() -> (tempfile::TempDir, Store) {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        let text = "INSERT INTO tenants (id, code, name, created_at) VALUES (7, 'acme', 'Acme', 0)";
        let insert = sql(text, []);
        let job = store.write(|transaction| Box::pin(async { Ok(insert.execute(transaction).await?) }));
        job.await.unwrap();
        (directory, store)
    }

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

    #[tokio::test]
    async fn a_code_is_good_for_one_use_and_others_name_its_token() {
        let (_directory, store) = open().await;
        let code = give(&store, granted(), NOW).await.unwrap();
        let uses = (0..8).map(|_| take(&store, right(&code), 60, NOW));
        let (mut granted, mut again) = (Vec::new(), Vec::new());
        for outcome in futures::future::try_join_all(uses).await.unwrap() {
            match outcome {
                CodeOutcome::CodeGrant { granted: grant, jti } => granted.push((grant.user_id, jti)),
                CodeOutcome::UsedAgain { jti, expires_at, tenant_id } => {
                    again.push((jti, expires_at, tenant_id));
                }
                CodeOutcome::Refused => panic!("another use is not noticed"),
            }
        }
        assert_eq!(granted.len(), 1);
        let (user_id, jti) = granted.remove(0);
        assert_eq!(user_id, "mei");
        assert_eq!(again, vec![(jti, 1_700_000_120, 7); 7]);
        let later = take(&store, right(&code), 60, NOW + REMEMBERED_FOR).await.unwrap();
        assert!(matches!(later, CodeOutcome::Refused), "{later:?}");
        store.close().await.unwrap();
    }

    #[tokio::test]
    async fn a_code_is_good_for_a_minute() {
        let (_directory, store) = open().await;
        let code = give(&store, granted(), NOW).await.unwrap();
        for now in [NOW + 60_000, NOW] {
            let outcome = take(&store, right(&code), 60, now).await.unwrap();
            assert!(matches!(outcome, CodeOutcome::Refused), "{outcome:?}");
        }
        store.close().await.unwrap();
    }

    #[tokio::test]
    async fn old_codes_are_removed() {
        let (_directory, store) = open().await;
        for now in [NOW, NOW + 1, NOW + REMEMBERED_FOR] {
            give(&store, granted(), now).await.unwrap();
        }
        let left = sql("SELECT issued_at FROM authorization_codes ORDER BY issued_at", []);
        let left: Vec<i64> = left.fetch_values(store.reader()).await.unwrap();
        assert_eq!(left, [NOW + 1, NOW + REMEMBERED_FOR]);
        store.close().await.unwrap();
    }
}
