//! By what a caller is let in: the bearer token that he sends, or the session that his browser does.
//!
//! A browser sends its cookie along whoever had it ask. So a session counts only where the request carries a header that other
//! sites' pages cannot set without leave, which nobody gets, and where nothing says that another site's page made it.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, header};
use url::Url;

use super::{access::Rule, cookies};
use crate::{
    app::App,
    auth::{
        caller::{Caller, Role},
        scopes::Scope,
        sessions::SessionId,
    },
    error::{Error, Result},
};

/// By what a caller is let in.
#[derive(Clone)]
pub(super) enum Credential {
    Token(String),
    Session(SessionId),
}

impl Credential {
    /// The credential of a request. A token wins; what else a browser sends of itself, for a proxy on the way, does not.
    ///
    /// # Errors
    /// 401 where there is none, 403 for a session in a request that another site's page made.
    pub(super) fn of(app: &App, headers: &HeaderMap) -> Result<Self> {
        let value = headers.get(header::AUTHORIZATION);
        if !value.is_some_and(is_bearer)
            && let Some(session) = session_of(app, headers)?
        {
            return Ok(Self::Session(session));
        }
        let value = value.ok_or_else(|| {
            Error::unauthorized("a token is needed: Authorization: Bearer <token from /oauth2/token>")
        })?;
        bearer_token(value).map(|token| Self::Token(token.to_owned()))
    }

    /// The caller that an operation of this rule has.
    ///
    /// # Errors
    /// 401 and 403, as of tokens and sessions.
    pub(super) async fn authenticate(
        &self,
        app: &App,
        rule: &Rule,
        indicated: Option<&str>,
    ) -> Result<Arc<Caller>> {
        match self {
            Self::Token(token) => app.authenticator.authenticate(token, indicated).await,
            Self::Session(id) => app.authenticator.authenticate_session(*id, role(rule), indicated).await,
        }
    }
}

/// As whom someone who is signed in does what a rule is of: what no user token may do, he does as an operator.
fn role(rule: &Rule) -> Role {
    match rule.scope {
        Some(Scope::Admin | Scope::Tenants) => Role::Operator,
        _ => Role::Person,
    }
}

/// The session that a request of a page of ours carries.
///
/// # Errors
/// 403 where another site's page made the request.
pub(super) fn session_of(app: &App, headers: &HeaderMap) -> Result<Option<SessionId>> {
    let Some(session) = cookies::session_of(app, headers) else { return Ok(None) };
    Ok(is_of_a_page(app, headers)?.then_some(session))
}

/// Whether a page of ours says that it makes the request.
///
/// # Errors
/// 403 where that is another site's page.
pub(super) fn is_of_a_page(app: &App, headers: &HeaderMap) -> Result<bool> {
    if headers.get("x-trawl-session").is_none_or(|value| value != "1") {
        return Ok(false);
    }
    check_site(headers, &app.config.public_url())?;
    Ok(true)
}

fn check_site(headers: &HeaderMap, public_url: &str) -> Result<()> {
    let is_said = |name: &str, is_right: &dyn Fn(&str) -> bool| {
        headers.get(name).is_none_or(|value| value.to_str().is_ok_and(is_right))
    };
    let refuse = |name: &str| {
        Err(Error::forbidden(format!("{name}: a session is good in pages of this server, and in no others")))
    };
    if !is_said("sec-fetch-site", &|site| site == "same-origin") {
        return refuse("Sec-Fetch-Site");
    }
    // By http, browsers say only this, and not of everything.
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    if is_said("origin", &|origin| is_own(origin, host, public_url)) { Ok(()) } else { refuse("Origin") }
}

/// Whether this origin is this server's: as clients know it, or as this one called it.
fn is_own(origin: &str, host: Option<&str>, public_url: &str) -> bool {
    let Ok(origin) = Url::parse(origin) else { return false };
    let Ok(public) = Url::parse(public_url) else { return false };
    // What came by http anyone on the way may have written.
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
