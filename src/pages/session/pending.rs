//! A sign-in in flight, sealed for this server and browser in `state`.

use std::time::Duration;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use oauth2::{PkceCodeChallenge, PkceCodeVerifier};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};

use crate::{
    auth::{AuthState, issuers::SignIn, secrets, tokens::epoch_seconds},
    error::{Error, Result},
};

const LIFE: Duration = Duration::from_hours(1);

#[derive(Serialize, Deserialize)]
pub(super) struct PendingSignIn {
    pub(super) tenant_id: i64,
    /// Issuer; `None` for the login page.
    pub(super) issuer: Option<String>,
    pub(super) to: String,
    /// Expected in the issuer's ID token.
    pub(super) nonce: String,
    pub(super) verifier: String,
    /// Epoch seconds.
    expires_at: u64,
}

impl PendingSignIn {
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

    pub(super) fn challenge(&self) -> PkceCodeChallenge {
        PkceCodeChallenge::from_code_verifier_sha256(&PkceCodeVerifier::new(self.verifier.clone()))
    }

    pub(super) fn is_over(&self) -> bool {
        self.expires_at <= epoch_seconds()
    }

    pub(super) fn seal(&self, auth: &AuthState, browser: &str) -> Result<String> {
        let plain = postcard::to_allocvec(self).map_err(Error::internal)?;
        let sealed = auth.keys.logins.seal(&context(browser), &plain).map_err(Error::internal)?;
        Ok(BASE64_URL_SAFE_NO_PAD.encode(sealed))
    }

    pub(super) fn open(auth: &AuthState, browser: &str, state: &str) -> Option<Self> {
        let sealed = BASE64_URL_SAFE_NO_PAD.decode(state).ok()?;
        let plain = auth.keys.logins.open(&context(browser), &sealed).ok()?;
        postcard::from_bytes(&plain).ok()
    }
}

/// Differs from the login form's context.
fn context(browser: &str) -> Vec<u8> {
    [b"session ", browser.as_bytes()].concat()
}
