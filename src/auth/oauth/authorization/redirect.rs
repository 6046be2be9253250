//! Redirect URIs: validation and matching (RFC 6749 §3.1.2, RFC 8252).

use url::{Host, Url};

const MAX_BYTES: usize = 2_048;

/// Checks a redirect URI for registration.
///
/// # Errors
/// The correct form, without the field's name.
pub fn check(text: &str) -> Result<(), String> {
    let right = "must be an https address, an http one of 127.0.0.1, [::1] or localhost, or one of the application's own scheme \
                 with a dot in its name (com.example.app:/login), without fragment, user name and password";
    let is_right = read(text).is_some_and(|url| match url.scheme() {
        "https" => true,
        "http" => is_loopback(&url) || url.host_str() == Some("localhost"),
        scheme => scheme.contains('.'),
    });
    if is_right { Ok(()) } else { Err(format!("{text:?} {right}")) }
}

/// Exact match, except for the port of loopback URIs (RFC 8252 §7.3).
pub fn matches(registered: &str, given: &str) -> bool {
    if registered == given {
        return read(given).is_some();
    }
    match (loopback_without_port(registered), loopback_without_port(given)) {
        (Some(registered), Some(given)) => registered == given,
        _ => false,
    }
}

/// Adds query parameters to the redirect URI.
pub fn with_parameters(redirect_uri: &str, parameters: &[(&str, &str)]) -> Option<Url> {
    let mut url = read(redirect_uri)?;
    url.query_pairs_mut().extend_pairs(parameters);
    Some(url)
}

/// The source for the `form-action` directive of the content security policy.
pub fn policy_source(redirect_uri: &str) -> Option<String> {
    let url = read(redirect_uri)?;
    let origin = url.origin();
    // Policies have no IPv6 addresses, and application schemes no origin.
    if origin.is_tuple() && !matches!(url.host(), Some(Host::Ipv6(_))) {
        Some(origin.ascii_serialization())
    } else {
        Some(format!("{}:", url.scheme()))
    }
}

/// The display name: the host, or the application's scheme.
pub fn shown(redirect_uri: &str) -> Option<String> {
    let url = read(redirect_uri)?;
    Some(url.host_str().filter(|host| !host.is_empty()).unwrap_or(url.scheme()).to_owned())
}

fn read(text: &str) -> Option<Url> {
    // URL parsers drop these silently.
    let is_plain =
        text.len() <= MAX_BYTES && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let url = Url::parse(text).ok().filter(|_| is_plain)?;
    let is_bare = url.fragment().is_none() && url.username().is_empty() && url.password().is_none();
    let is_host = match url.host() {
        Some(Host::Domain(name)) => {
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
        }
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
        None => !matches!(url.scheme(), "http" | "https"),
    };
    (is_bare && is_host).then_some(url)
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        _ => false,
    }
}

fn loopback_without_port(text: &str) -> Option<String> {
    let mut url = read(text).filter(|url| url.scheme() == "http" && is_loopback(url))?;
    url.set_port(None).ok()?;
    Some(url.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_redirect_uri_leads_to_its_application_alone() {
        for good in [
            "https://app.example/callback",
            "https://app.example/callback?from=trawl",
            "http://127.0.0.1/callback",
            "http://127.0.0.1:8000/callback",
            "http://[::1]/callback",
            "http://localhost:3000/callback",
            "com.example.app:/callback",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in [
            "http://app.example/callback",
            "http://localhost.example/callback",
            "https://app.example/callback#here",
            "https://mei:secret@app.example/",
            "https://app.example;script-src/callback",
            "javascript:alert(1)",
            "data:text/html,x",
            "app:/callback",
            "https://app.example/call back",
            "https://app.example/\ncallback",
            "/callback",
            "",
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
        assert!(check(&format!("https://app.example/{}", "x".repeat(2_048))).is_err());
    }

    #[test]
    fn only_the_registered_uri_or_any_loopback_port_matches() {
        let registered = "https://app.example/callback";
        assert!(matches(registered, registered));
        for other in [
            "https://app.example/callback/",
            "https://app.example/Callback",
            "https://app.example:443/callback",
            "https://app.example/callback?x=1",
            "https://app.example/x/../callback",
            "https://app.example.evil.example/callback",
            "https://app.example@evil.example/callback",
            "http://app.example/callback",
        ] {
            assert!(!matches(registered, other), "{other}");
        }
        let loopback = "http://127.0.0.1/callback";
        assert!(matches(loopback, "http://127.0.0.1:51004/callback"));
        assert!(matches("http://127.0.0.1:8000/callback", "http://127.0.0.1:9000/callback"));
        assert!(matches("http://[::1]/callback", "http://[::1]:51004/callback"));
        for other in [
            "http://127.0.0.1:51004/other",
            "http://[::1]:51004/callback",
            "http://localhost:51004/callback",
            "http://127.0.0.1:51004/callback?x=1",
            "https://127.0.0.1:51004/callback",
            "http://127.0.0.1@evil.example:51004/callback",
            "http://127.0.0.1.evil.example/callback",
            "http://127.0.0.1:51004/call\tback",
        ] {
            assert!(!matches(loopback, other), "{other}");
        }
    }

    #[test]
    fn parameters_are_added_to_what_is_there() {
        let url =
            with_parameters("https://app.example/callback?from=trawl", &[("code", "a&b"), ("state", "ö")]);
        assert_eq!(url.unwrap().as_str(), "https://app.example/callback?from=trawl&code=a%26b&state=%C3%B6");
        let url = with_parameters("com.example.app:/callback", &[("code", "x")]);
        assert_eq!(url.unwrap().as_str(), "com.example.app:/callback?code=x");
        assert_eq!(policy_source("https://app.example/callback").unwrap(), "https://app.example");
        assert_eq!(policy_source("http://127.0.0.1:8000/callback").unwrap(), "http://127.0.0.1:8000");
        assert_eq!(policy_source("http://[::1]:8000/callback").unwrap(), "http:");
        assert_eq!(policy_source("com.example.app:/callback").unwrap(), "com.example.app:");
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(500))]

        /// A match keeps the registered host and path.
        #[test]
        fn matching_uri_redirects_to_the_registered_one(given in "http://[a-z0-9.@:/\\[\\]]{0,20}127.0.0.1[a-z0-9.@:/?#]{0,12}/callback") {
            if matches("http://127.0.0.1/callback", &given) {
                let url = with_parameters(&given, &[]).unwrap();
                prop_assert_eq!(url.host_str(), Some("127.0.0.1"));
                prop_assert_eq!(url.path(), "/callback");
            }
        }
    }
}
