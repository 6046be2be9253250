//! The two cookies of this server: one tells browsers apart while their people sign in, the other is their session.
//!
//! By https their names make browsers take them from this very host alone. By http, cookies of a host are those of all its
//! ports, and a host next to it can set one: a session that was planted so is its planter's own.

use aws_lc_rs::rand;
use axum::http::{HeaderMap, HeaderValue, header};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use cookie::{Cookie, SameSite, time};
use secrecy::{ExposeSecret, SecretString};

use crate::{
    app::App,
    auth::sessions::SessionId,
    error::{Error, Result},
};

/// The bytes of the cookie that tells browsers apart.
const BROWSER_BYTES: usize = 16;

/// What the cookie that tells browsers apart holds, if it is one of ours.
pub(super) fn browser_of(app: &App, headers: &HeaderMap) -> Option<String> {
    let is_ours =
        |value: &String| BASE64_URL_SAFE_NO_PAD.decode(value).is_ok_and(|bytes| bytes.len() == BROWSER_BYTES);
    values(headers, browser_name(app)).find(is_ours)
}

/// What tells a new browser from all others.
pub(super) fn new_browser() -> Result<String> {
    let mut bytes = [0; BROWSER_BYTES];
    rand::fill(&mut bytes).map_err(|_| Error::internal("no random bytes could be had"))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// The header that has a browser keep it.
pub(super) fn keep_browser(app: &App, browser: String) -> Result<HeaderValue> {
    // Not with what other sites have the browser send, except when they lead here.
    header_of(app, Cookie::build((browser_name(app), browser)).same_site(SameSite::Lax).build())
}

/// The session that the browser's cookie speaks of, if it can be one.
pub(super) fn session_of(app: &App, headers: &HeaderMap) -> Option<SessionId> {
    values(headers, session_name(app)).find_map(|value| SessionId::of(&value))
}

/// The header that has a browser keep a session.
pub(super) fn keep_session(app: &App, secret: &SecretString) -> Result<HeaderValue> {
    let life = app.authenticator.sessions().life();
    let life = time::Duration::try_from(life).unwrap_or(time::Duration::MAX);
    let cookie = Cookie::build((session_name(app), secret.expose_secret().to_owned()));
    header_of(app, cookie.same_site(SameSite::Strict).max_age(life).build())
}

/// The header that has it forget the session.
pub(super) fn drop_session(app: &App) -> Result<HeaderValue> {
    let cookie = Cookie::build((session_name(app), "")).same_site(SameSite::Strict);
    header_of(app, cookie.max_age(time::Duration::ZERO).build())
}

fn is_secure(app: &App) -> bool {
    app.config.public_url().starts_with("https:")
}

fn browser_name(app: &App) -> &'static str {
    if is_secure(app) { "__Host-trawl-login" } else { "trawl-login" }
}

fn session_name(app: &App) -> &'static str {
    if is_secure(app) { "__Host-trawl-session" } else { "trawl-session" }
}

fn header_of(app: &App, mut cookie: Cookie<'static>) -> Result<HeaderValue> {
    cookie.set_path("/");
    cookie.set_http_only(true);
    cookie.set_secure(is_secure(app));
    HeaderValue::try_from(cookie.to_string()).map_err(Error::internal)
}

fn values<'h>(headers: &'h HeaderMap, name: &'static str) -> impl Iterator<Item = String> + 'h {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let cookies = lines.flat_map(|line| Cookie::split_parse(line).filter_map(Result::ok));
    cookies.filter(move |cookie| cookie.name() == name).map(|cookie| cookie.value().to_owned())
}
