//! Credentials that are equal in every call. `Debug` hides their secrets.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::Request;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

/// Header of an API key whose source names none.
pub const DEFAULT_API_KEY_HEADER: &str = "X-API-Key";

const MAX_NAME_BYTES: usize = 64;

/// Headers that trawl or the connection sets, or that change which answer is sent.
///
/// `Cookie` is among them: a source changes a cookie by `Set-Cookie`, which trawl does not follow.
const RESERVED_HEADERS: &str = "accept accept-charset accept-encoding connection content-encoding \
    content-length content-type cookie expect forwarded host if-match if-modified-since if-none-match \
    if-range if-unmodified-since keep-alive proxy-authenticate proxy-authorization proxy-connection range \
    te traceparent tracestate trailer transfer-encoding upgrade user-agent";

/// Why credentials cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting} {reason}")]
pub struct InvalidCredentials {
    /// Setting's name.
    pub setting: &'static str,
    /// The problem and the correct form, without the value.
    pub reason: &'static str,
}

/// The place of credentials in a request, and their value.
#[derive(Clone, Debug)]
pub(crate) enum SourceCredential {
    Header {
        name: HeaderName,
        value: HeaderValue,
    },
    /// A query parameter.
    Parameter {
        name: String,
        value: SecretString,
    },
}

impl SourceCredential {
    /// Hides the value from `Debug` and from compression tables.
    pub(crate) fn header(name: HeaderName, mut value: HeaderValue) -> Self {
        value.set_sensitive(true);
        Self::Header { name, value }
    }

    /// The same place with another value.
    pub(crate) fn with_value(&self, value: &'static str) -> Self {
        match self {
            Self::Header { name, .. } => Self::header(name.clone(), HeaderValue::from_static(value)),
            Self::Parameter { name, .. } => Self::Parameter { name: name.clone(), value: value.into() },
        }
    }

    pub(crate) fn write(&self, request: &mut Request) {
        match self {
            Self::Header { name, value } => drop(request.headers_mut().insert(name, value.clone())),
            Self::Parameter { name, value } => {
                let url = request.url_mut();
                // The address of a next page may repeat it.
                if url.query_pairs().any(|(given, _)| given == *name) {
                    let pairs = url.query_pairs().into_owned();
                    let others: Vec<_> = pairs.filter(|(given, _)| given != name).collect();
                    url.query_pairs_mut().clear().extend_pairs(others);
                }
                url.query_pairs_mut().append_pair(name, value.expose_secret());
            }
        }
    }
}

/// Credentials that are equal in every call.
#[derive(Clone, Debug)]
pub(crate) struct FixedCredentials {
    pub(crate) credential: SourceCredential,
    /// Spellings to redact, besides the encodings that redaction knows.
    pub(crate) secrets: Vec<SecretString>,
    /// A value that no source accepts, for the same place.
    pub(crate) wrong_value: &'static str,
}

/// API key in a header, or a query parameter, of the source's choice.
#[derive(Clone, Debug)]
pub struct ApiKey(pub(crate) FixedCredentials);

/// Whether trawl or the connection sets this header.
pub(crate) fn is_reserved_header(name: &str) -> bool {
    RESERVED_HEADERS.split(' ').any(|reserved| name.eq_ignore_ascii_case(reserved))
}

/// # Errors
/// A reserved or malformed name.
pub(crate) fn check_header(name: &str) -> Result<HeaderName, InvalidCredentials> {
    let invalid = |reason| InvalidCredentials { setting: "header", reason };
    if !is_name(name) {
        return Err(invalid("must be 1 to 64 of A-Z, a-z, 0-9, - and _, such as X-API-Key"));
    }
    if is_reserved_header(name) {
        return Err(invalid(
            "must not be a header that trawl or the connection sets itself; name another, such as X-API-Key",
        ));
    }
    HeaderName::try_from(name).map_err(|_| invalid("must be the name of a header, such as X-API-Key"))
}

impl ApiKey {
    /// # Errors
    /// A reserved or malformed header name; a key that no header can hold.
    pub fn new(header: &str, key: SecretString) -> Result<Self, InvalidCredentials> {
        let name = check_header(header)?;
        let value = header_value("key", key.expose_secret(), "")?;
        Ok(Self::at(SourceCredential::header(name, value), key))
    }

    /// A key that proxies and servers may write into their logs.
    ///
    /// # Errors
    /// A malformed name, or one of the contract's parameters; a key that [`new`](Self::new) refuses.
    pub fn in_query(parameter: &str, key: SecretString) -> Result<Self, InvalidCredentials> {
        if !is_name(parameter) || matches!(parameter, "keyword" | "limit" | "cursor") {
            let reason = "must be 1 to 64 of A-Z, a-z, 0-9, - and _, and none of keyword, limit and cursor";
            return Err(InvalidCredentials { setting: "parameter", reason });
        }
        header_value("key", key.expose_secret(), "")?;
        Ok(Self::at(SourceCredential::Parameter { name: parameter.to_owned(), value: key.clone() }, key))
    }

    fn at(credential: SourceCredential, key: SecretString) -> Self {
        Self(FixedCredentials { credential, secrets: vec![key], wrong_value: "trawl-check-wrong-key" })
    }
}

fn is_name(text: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// User name and password (RFC 7617), in UTF-8.
#[derive(Clone, Debug)]
pub struct BasicCredentials(pub(crate) FixedCredentials);

impl BasicCredentials {
    /// # Errors
    /// A name with a colon; control characters.
    pub fn new(username: &str, password: SecretString) -> Result<Self, InvalidCredentials> {
        if username.is_empty()
            || username.contains(|character: char| character == ':' || character.is_control())
        {
            let reason = "must not be empty, and hold neither a colon nor control characters";
            return Err(InvalidCredentials { setting: "username", reason });
        }
        let secret = password.expose_secret();
        if secret.is_empty() || secret.contains(char::is_control) {
            let reason = "must not be empty, and hold no control characters";
            return Err(InvalidCredentials { setting: "password", reason });
        }
        let pair = format!("{username}:{secret}");
        let value = header_value("password", &BASE64_STANDARD.encode(&pair), "Basic ")?;
        Ok(Self(FixedCredentials {
            credential: SourceCredential::header(AUTHORIZATION, value),
            secrets: vec![password, pair.into()],
            // trawl-check:wrong
            wrong_value: "Basic dHJhd2wtY2hlY2s6d3Jvbmc=",
        }))
    }
}

/// Bearer token without a token endpoint (RFC 6750).
#[derive(Clone, Debug)]
pub struct BearerToken(pub(crate) FixedCredentials);

impl BearerToken {
    /// # Errors
    /// A token that no header can hold.
    pub fn new(token: SecretString) -> Result<Self, InvalidCredentials> {
        let value = header_value("token", token.expose_secret(), "Bearer ")?;
        let credential = SourceCredential::header(AUTHORIZATION, value);
        Ok(Self(FixedCredentials { credential, secrets: vec![token], wrong_value: WRONG_BEARER }))
    }
}

/// A token that no source accepts.
pub(crate) const WRONG_BEARER: &str = "Bearer trawl-check-wrong-token";

/// Spaces at an end would be lost on the way.
fn header_value(
    setting: &'static str,
    secret: &str,
    scheme: &str,
) -> Result<HeaderValue, InvalidCredentials> {
    let reason = "must be printable ASCII that neither begins nor ends with a space";
    let invalid = InvalidCredentials { setting, reason };
    let is_printable = secret.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    if secret.is_empty() || !is_printable || secret.trim() != secret {
        return Err(invalid);
    }
    HeaderValue::try_from(format!("{scheme}{secret}")).map_err(|_| invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_or_malformed_header_of_a_key_is_refused() {
        for header in ["X-API-Key", "authorization", "Ocp-Apim-Subscription-Key", "api_key"] {
            assert!(ApiKey::new(header, "hush".into()).is_ok(), "{header}");
        }
        let long = "x".repeat(65);
        for header in
            ["", "Host", "cookie", "CONTENT-LENGTH", "Transfer-Encoding", "a b", "a:b", "é", "$(id)", &long]
        {
            assert_eq!(ApiKey::new(header, "hush".into()).unwrap_err().setting, "header", "{header}");
        }
    }

    #[test]
    fn secret_that_cannot_be_sent_is_refused_without_its_text() {
        for wrong in ["", " hush", "hush ", "hu\nsh", "hu\0sh", "hüsh"] {
            for error in [
                ApiKey::new("X-API-Key", wrong.into()).unwrap_err(),
                BearerToken::new(wrong.into()).unwrap_err(),
            ] {
                assert!(["key", "token"].contains(&error.setting), "{error}");
                assert!(wrong.is_empty() || !error.to_string().contains(wrong), "{error}");
            }
        }
        for (username, password, setting) in [
            ("", "hush", "username"),
            ("a:b", "hush", "username"),
            ("a", "", "password"),
            ("a", "hu\r\nsh", "password"),
        ] {
            assert_eq!(BasicCredentials::new(username, password.into()).unwrap_err().setting, setting);
        }
    }

    #[test]
    fn debug_output_hides_every_secret() {
        let shown = format!(
            "{:?} {:?} {:?}",
            ApiKey::new("X-API-Key", "hush".into()).unwrap(),
            BasicCredentials::new("mei", "hush".into()).unwrap(),
            BearerToken::new("hush".into()).unwrap(),
        );
        for secret in ["hush", "mei", &BASE64_STANDARD.encode("mei:hush")] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
}
