//! Cookies of browsers and sessions.
//!
//! Over https, `__Host-` binds them to this host. Over http, neighbours can plant a session, but only their own.

use std::time::Duration;

use aws_lc_rs::rand;
use axum::http::{HeaderMap, HeaderValue, header};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use cookie::{Cookie, SameSite, time};
use secrecy::{ExposeSecret, SecretString};

use crate::{
    auth::{AuthState, sessions::SessionId},
    error::{Error, Result},
};

const BROWSER_BYTES: usize = 16;

/// The value of the browser cookie, if well-formed.
pub fn browser_of(auth: &AuthState, headers: &HeaderMap) -> Option<String> {
    let is_ours =
        |value: &String| BASE64_URL_SAFE_NO_PAD.decode(value).is_ok_and(|bytes| bytes.len() == BROWSER_BYTES);
    values(headers, browser_name(auth)).find(is_ours)
}

/// A new random browser value.
pub fn new_browser() -> Result<String> {
    let mut bytes = [0; BROWSER_BYTES];
    rand::fill(&mut bytes).map_err(|_| Error::internal("the system returned no random bytes"))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// The header that sets the browser cookie.
pub fn keep_browser(auth: &AuthState, browser: String) -> Result<HeaderValue> {
    // Cross-site requests omit it, except for navigation here.
    header_of(auth, Cookie::build((browser_name(auth), browser)).same_site(SameSite::Lax).build())
}

/// The values of the cookie of a browser that an account is known to use.
pub fn known_browsers_of(auth: &AuthState, headers: &HeaderMap) -> impl Iterator<Item = String> {
    values(headers, known_browser_name(auth))
}

/// The header that sets that cookie for so long.
pub fn keep_known_browser(auth: &AuthState, sealed: String, life: Duration) -> Result<HeaderValue> {
    let life = time::Duration::try_from(life).unwrap_or(time::Duration::MAX);
    let cookie = Cookie::build((known_browser_name(auth), sealed));
    header_of(auth, cookie.same_site(SameSite::Strict).max_age(life).build())
}

/// The session of the cookie, if well-formed.
pub fn session_of(auth: &AuthState, headers: &HeaderMap) -> Option<SessionId> {
    values(headers, session_name(auth)).find_map(|value| SessionId::of(&value))
}

/// The header that sets the session cookie.
pub fn keep_session(auth: &AuthState, secret: &SecretString) -> Result<HeaderValue> {
    let life = auth.authenticator.sessions().life();
    let life = time::Duration::try_from(life).unwrap_or(time::Duration::MAX);
    let cookie = Cookie::build((session_name(auth), secret.expose_secret().to_owned()));
    header_of(auth, cookie.same_site(SameSite::Strict).max_age(life).build())
}

/// The header that deletes the session cookie.
pub fn drop_session(auth: &AuthState) -> Result<HeaderValue> {
    let cookie = Cookie::build((session_name(auth), "")).same_site(SameSite::Strict);
    header_of(auth, cookie.max_age(time::Duration::ZERO).build())
}

fn is_secure(auth: &AuthState) -> bool {
    auth.public_url.starts_with("https:")
}

fn browser_name(auth: &AuthState) -> &'static str {
    if is_secure(auth) { "__Host-trawl-login" } else { "trawl-login" }
}

fn known_browser_name(auth: &AuthState) -> &'static str {
    if is_secure(auth) { "__Host-trawl-known" } else { "trawl-known" }
}

fn session_name(auth: &AuthState) -> &'static str {
    if is_secure(auth) { "__Host-trawl-session" } else { "trawl-session" }
}

fn header_of(auth: &AuthState, mut cookie: Cookie<'static>) -> Result<HeaderValue> {
    cookie.set_path("/");
    cookie.set_http_only(true);
    cookie.set_secure(is_secure(auth));
    HeaderValue::try_from(cookie.to_string()).map_err(Error::internal)
}

fn values<'h>(headers: &'h HeaderMap, name: &'static str) -> impl Iterator<Item = String> + 'h {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let cookies = lines.flat_map(|line| Cookie::split_parse(line).filter_map(Result::ok));
    cookies.filter(move |cookie| cookie.name() == name).map(|cookie| cookie.value().to_owned())
}
