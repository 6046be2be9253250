//! Browsers in which an account signed in before. Failures of strangers elsewhere do not keep them out.
//!
//! A cookie holds the last account, sealed. Attempts with it count apart from others of the account, together for all such browsers
//! (<https://owasp.org/www-community/Slow_Down_Online_Guessing_Attacks_with_Device_Cookies>).

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};

use crate::{
    auth::{
        AuthState,
        sessions::cookies::{keep_known_browser, known_browsers_of},
        throttle::ThrottledAccount,
        tokens::epoch_seconds,
    },
    error::{Error, Result},
};

const LIFE: Duration = Duration::from_hours(90 * 24);
/// Differs from the contexts of forms, which begin with a browser's cookie.
const CONTEXT: &[u8] = b"known browser";

/// A cookie that a browser sent, if any.
pub(super) struct KnownBrowser(Option<String>);

impl KnownBrowser {
    pub(super) fn of(auth: &AuthState, headers: &HeaderMap) -> Self {
        Self(known_browsers_of(auth, headers).next())
    }

    /// The account for which attempts of this browser count.
    pub(super) fn counted(&self, auth: &AuthState, account: ThrottledAccount) -> ThrottledAccount {
        let is_known = |cookie: &str| {
            open(auth, cookie)
                .is_some_and(|(known, expires_at)| known == account.bytes() && expires_at > epoch_seconds())
        };
        if self.0.as_deref().is_some_and(is_known) { account.in_known_browsers() } else { account }
    }
}

/// The header that makes a browser known to an account.
pub(super) fn remember(auth: &AuthState, account: ThrottledAccount) -> Result<HeaderValue> {
    let plain = (account.bytes(), epoch_seconds() + LIFE.as_secs());
    let plain = postcard::to_allocvec(&plain).map_err(Error::internal)?;
    let sealed = auth.keys.logins.seal(CONTEXT, &plain).map_err(Error::internal)?;
    keep_known_browser(auth, BASE64_URL_SAFE_NO_PAD.encode(sealed), LIFE)
}

/// The account's digest and the end of a cookie, in epoch seconds.
fn open(auth: &AuthState, cookie: &str) -> Option<([u8; 32], u64)> {
    let sealed = BASE64_URL_SAFE_NO_PAD.decode(cookie).ok()?;
    let plain = auth.keys.logins.open(CONTEXT, &sealed).ok()?;
    postcard::from_bytes(&plain).ok()
}
