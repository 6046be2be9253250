//! What a sign-in was begun for, while it is under way: held by nobody but the parameter `state` that comes back with it, sealed
//! for this server and for the browser that began it.

use std::time::Duration;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use oauth2::{PkceCodeChallenge, PkceCodeVerifier};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};

use crate::{
    app::App,
    auth::{issuers::SignIn, secrets, tokens::epoch_seconds},
    error::{Error, Result},
};

/// How long a sign-in may take.
const LIFE: Duration = Duration::from_hours(1);

/// A sign-in under way.
#[derive(Serialize, Deserialize)]
pub(super) struct Pending {
    /// The tenant's number.
    pub(super) tenant_id: i64,
    /// The issuer at which he signs in; none where it is the login page.
    pub(super) issuer: Option<String>,
    /// The page to go to.
    pub(super) to: String,
    /// What has to stand in the issuer's ID token.
    pub(super) nonce: String,
    /// What the challenge was made of (RFC 7636).
    pub(super) verifier: String,
    /// Epoch seconds.
    expires_at: u64,
}

impl Pending {
    pub(super) fn new(tenant_id: i64, issuer: Option<&SignIn>, to: String) -> Result<Self> {
        Ok(Self {
            tenant_id,
            issuer: issuer.map(|issuer| issuer.id().to_owned()),
            to,
            nonce: secrets::generate()?.expose_secret().to_owned(),
            verifier: secrets::generate()?.expose_secret().to_owned(),
            expires_at: epoch_seconds() + LIFE.as_secs(),
        })
    }

    /// What of the verifier may be shown (RFC 7636 §4.2).
    pub(super) fn challenge(&self) -> PkceCodeChallenge {
        PkceCodeChallenge::from_code_verifier_sha256(&PkceCodeVerifier::new(self.verifier.clone()))
    }

    pub(super) fn is_over(&self) -> bool {
        self.expires_at <= epoch_seconds()
    }

    /// As the parameter `state` has it.
    pub(super) fn seal(&self, app: &App, browser: &str) -> Result<String> {
        let plain = postcard::to_allocvec(self).map_err(Error::internal)?;
        let sealed = app.keys.logins.seal(&context(browser), &plain).map_err(Error::internal)?;
        Ok(BASE64_URL_SAFE_NO_PAD.encode(sealed))
    }

    /// What was sealed in this browser.
    pub(super) fn open(app: &App, browser: &str, state: &str) -> Option<Self> {
        let sealed = BASE64_URL_SAFE_NO_PAD.decode(state).ok()?;
        let plain = app.keys.logins.open(&context(browser), &sealed).ok()?;
        postcard::from_bytes(&plain).ok()
    }
}

/// Another one than the form of the login page has.
fn context(browser: &str) -> Vec<u8> {
    [b"session ", browser.as_bytes()].concat()
}
