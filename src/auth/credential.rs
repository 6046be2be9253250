//! Credentials of a request: a bearer token or a session.
//!
//! Browsers attach cookies to cross-site requests. A session therefore needs a header that other sites cannot set
//! without CORS permission. A foreign `Origin` refuses it too.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, header};
use url::Url;

use super::sessions::cookies;
use crate::{
    auth::{
        AuthState,
        caller::{Authenticator, Caller, SessionRole},
        sessions::SessionId,
    },
    error::{Error, Result},
};

/// The credential of a caller.
#[derive(Clone)]
pub enum Credential {
    /// A bearer token.
    Token(String),
    /// A browser's session.
    Session(SessionId),
}

impl Credential {
    /// The credential of a request; a token takes precedence.
    ///
    /// # Errors
    /// 401 without one, 403 for a session in a cross-site request.
    pub fn of(auth: &AuthState, headers: &HeaderMap) -> Result<Self> {
        let value = headers.get(header::AUTHORIZATION);
        if !value.is_some_and(is_bearer)
            && let Some(session) = session_of(auth, headers)?
        {
            return Ok(Self::Session(session));
        }
        let value = value.ok_or_else(|| {
            Error::unauthorized("a token is needed: Authorization: Bearer <token from /oauth2/token>")
        })?;
        bearer_token(value).map(|token| Self::Token(token.to_owned()))
    }

    /// Reads the session of a page's request, which must have one.
    ///
    /// # Errors
    /// 401 without one, 403 in a cross-site request.
    pub fn page_session(auth: &AuthState, headers: &HeaderMap) -> Result<Self> {
        let session = session_of(auth, headers)?;
        session
            .map(Self::Session)
            .ok_or_else(|| Error::unauthorized("a session of a page with x-trawl-session: 1 is needed"))
    }

    /// Authenticates it; `role` applies to sessions.
    pub async fn authenticate(
        &self,
        authenticator: &Authenticator,
        role: SessionRole,
        indicated: Option<&str>,
    ) -> Result<Arc<Caller>> {
        match self {
            Self::Token(token) => authenticator.authenticate(token, indicated).await,
            Self::Session(id) => authenticator.authenticate_session(*id, role, indicated).await,
        }
    }
}

/// The session of a page's request; 403 if cross-site.
pub fn session_of(auth: &AuthState, headers: &HeaderMap) -> Result<Option<SessionId>> {
    let Some(session) = cookies::session_of(auth, headers) else { return Ok(None) };
    Ok(is_of_a_page(auth, headers)?.then_some(session))
}

/// Whether the request declares itself a page's.
///
/// # Errors
/// 403 for a cross-site request.
pub fn is_of_a_page(auth: &AuthState, headers: &HeaderMap) -> Result<bool> {
    if headers.get("x-trawl-session").is_none_or(|value| value != "1") {
        return Ok(false);
    }
    check_site(headers, &auth.public_url)?;
    Ok(true)
}

fn check_site(headers: &HeaderMap, public_url: &str) -> Result<()> {
    let is_said = |name: &str, is_right: &dyn Fn(&str) -> bool| {
        headers.get(name).is_none_or(|value| value.to_str().is_ok_and(is_right))
    };
    let refuse = |name: &str| {
        Err(Error::forbidden(format!("{name}: a session is valid only in pages of this server")))
    };
    if !is_said("sec-fetch-site", &|site| site == "same-origin") {
        return refuse("Sec-Fetch-Site");
    }
    // Over http, browsers send only `Origin`, and not always.
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    if is_said("origin", &|origin| is_own(origin, host, public_url)) { Ok(()) } else { refuse("Origin") }
}

fn is_own(origin: &str, host: Option<&str>, public_url: &str) -> bool {
    let Ok(origin) = Url::parse(origin) else { return false };
    let Ok(public) = Url::parse(public_url) else { return false };
    // An http origin could be forged on the network.
    if public.scheme() == "https" && origin.scheme() != "https" {
        return false;
    }
    let is_public = public.origin() == origin.origin();
    let is_called = host.is_some_and(|host| {
        let called = Url::parse(&format!("{}://{host}", origin.scheme()));
        called.is_ok_and(|called| called.origin() == origin.origin())
    });
    origin.origin().is_tuple() && (is_public || is_called)
}

fn is_bearer(value: &HeaderValue) -> bool {
    let scheme = value.to_str().ok().and_then(|value| value.split(' ').next());
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"))
}

fn bearer_token(value: &HeaderValue) -> Result<&str> {
    value
        .to_str()
        .ok()
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim())
        .ok_or_else(|| Error::unauthorized("Authorization: must be `Bearer <token>`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_good_in_our_own_pages() {
        let check_at = |public_url: &str, pairs: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(*name, HeaderValue::from_static(value));
            }
            check_site(&headers, public_url).map_err(|error| error.message)
        };
        let check = |pairs: &_| check_at("https://search.example/trawl", pairs);
        for good in [
            &[][..],
            &[("sec-fetch-site", "same-origin")],
            &[("origin", "https://search.example")],
            &[("origin", "https://search.example:443"), ("host", "10.0.0.1:8080")],
            &[("origin", "https://10.0.0.1:8080"), ("host", "10.0.0.1:8080")],
            &[("origin", "https://intranet"), ("host", "intranet:443")],
        ] {
            assert_eq!(check(good), Ok(()), "{good:?}");
        }
        let unsafely: [(&str, &[_]); 2] = [
            ("10.0.0.1:8080", &[("origin", "http://10.0.0.1:8080"), ("host", "10.0.0.1:8080")]),
            ("intranet:80", &[("origin", "http://intranet"), ("host", "intranet:80")]),
        ];
        for (host, pairs) in unsafely {
            assert_eq!(check_at("http://127.0.0.1:8080", pairs), Ok(()), "{host}");
            assert!(check_at(&format!("https://{host}"), pairs).is_err(), "{host}");
        }
        for (bad, named) in [
            (&[("sec-fetch-site", "same-site")][..], "Sec-Fetch-Site"),
            (&[("sec-fetch-site", "cross-site")], "Sec-Fetch-Site"),
            (&[("sec-fetch-site", "none")], "Sec-Fetch-Site"),
            (&[("origin", "null")], "Origin"),
            (&[("origin", "https://evil.example"), ("host", "search.example")], "Origin"),
            (&[("origin", "https://search.example.evil.example")], "Origin"),
            (&[("origin", "http://search.example")], "Origin"),
            (&[("origin", "http://10.0.0.1:8081"), ("host", "10.0.0.1:8080")], "Origin"),
            (&[("origin", "file://search.example"), ("host", "search.example")], "Origin"),
            (&[("sec-fetch-site", "same-origin"), ("origin", "https://evil.example")], "Origin"),
        ] {
            assert!(check(bad).is_err_and(|message| message.starts_with(named)), "{bad:?}");
        }
    }
}
