//! Calls as command lines. A source's cursor is harmless there.

use std::borrow::Cow;
use std::fmt::Write as _;

use reqwest::Method as HttpMethod;
use reqwest::header::AUTHORIZATION;

use super::call::CallCredentials;
use crate::credentials::{SourceCredential, WRONG_BEARER};
use crate::request::SearchRequest;
use crate::settings::{Authentication, ClientCredentials, Grant};
use crate::text::is_unfit;

/// curl expands brackets and braces.
const CURL: &str = "curl -sS --globoff";

pub(super) fn describe_token_request(credentials: &ClientCredentials) -> String {
    let mut parts = vec![
        format!("{CURL} -u \"$CLIENT_ID:$CLIENT_SECRET\""),
        quote_word(credentials.token_url.as_str()),
        format!("-d grant_type={}", credentials.grant.grant_type()),
    ];
    match credentials.grant {
        Grant::ClientCredentials => {}
        Grant::JwtBearer => parts.push("-d \"assertion=$ASSERTION\"".to_owned()),
        Grant::TokenExchange => {
            parts.push("-d \"subject_token=$ASSERTION\"".to_owned());
            parts.push("-d subject_token_type=urn:ietf:params:oauth:token-type:jwt".to_owned());
        }
    }
    let fields = [("scope", &credentials.scope), ("audience", &credentials.audience)];
    let given = fields.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
    parts.extend(
        given.map(|(name, value)| format!("--data-urlencode {}", quote_word(&format!("{name}={value}")))),
    );
    parts.join(" ")
}

/// Variables stand for secrets: `$TOKEN`, `$API_KEY`, `$USERNAME`, `$PASSWORD` and `$ASSERTION`.
pub(crate) fn describe_search(
    request: &SearchRequest,
    authentication: &Authentication,
    credentials: &CallCredentials,
    assertion: Option<&SourceCredential>,
) -> String {
    let mut url = quote_word(request.url.as_str());
    let mut parts = Vec::new();
    match describe_credentials(authentication, credentials) {
        Some(ShownCredential::Option(option)) => parts.push(option),
        Some(ShownCredential::Parameter(parameter)) => {
            let separator = if request.url.query().is_some() { '&' } else { '?' };
            url = format!("{url}\"{separator}{parameter}\"");
        }
        None => {}
    }
    if let Some(SourceCredential::Header { name, .. }) = assertion {
        let scheme = if *name == AUTHORIZATION { "Bearer " } else { "" };
        parts.push(format!("-H \"{name}: {scheme}$ASSERTION\""));
    }
    for (name, value) in &request.headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        parts.push(format!("-H {}", quote_word(&format!("{name}: {value}"))));
    }
    if let Some(body) = &request.body {
        let json = String::from_utf8_lossy(body);
        parts.push("-H 'Content-Type: application/json;charset=UTF-8'".to_owned());
        parts.push(format!("--data-raw {}", quote_word(&escape_unfit(&json))));
    } else if request.method == HttpMethod::POST {
        parts.push("-X POST".to_owned());
    }
    [format!("{CURL} -i {url}")].into_iter().chain(parts).collect::<Vec<_>>().join(" ")
}

enum ShownCredential {
    Option(String),
    /// A parameter of the query, for double quotes.
    Parameter(String),
}

fn describe_credentials(
    authentication: &Authentication,
    credentials: &CallCredentials,
) -> Option<ShownCredential> {
    let (credential, value) = match credentials {
        CallCredentials::None => return None,
        CallCredentials::Token(token) => (token.credential.clone(), "Bearer $TOKEN"),
        CallCredentials::Fixed => {
            let value = match authentication {
                Authentication::None | Authentication::OAuth2Client(_) => return None,
                Authentication::ApiKey(_) => "$API_KEY",
                Authentication::Basic(_) => {
                    return Some(ShownCredential::Option("-u \"$USERNAME:$PASSWORD\"".to_owned()));
                }
                Authentication::Bearer(_) => "Bearer $TOKEN",
            };
            (authentication.fixed()?.credential.clone(), value)
        }
        CallCredentials::Wrong => match authentication.fixed() {
            Some(fixed) => (fixed.credential.clone(), fixed.wrong_value),
            None => return Some(ShownCredential::Option(format!("-H \"authorization: {WRONG_BEARER}\""))),
        },
    };
    // Names and values have no character that a shell expands, except the variables.
    Some(match credential {
        SourceCredential::Header { name, .. } => ShownCredential::Option(format!("-H \"{name}: {value}\"")),
        SourceCredential::Parameter { name, .. } => ShownCredential::Parameter(format!("{name}={value}")),
    })
}

fn escape_unfit(json: &str) -> Cow<'_, str> {
    if !json.contains(is_unfit) {
        return json.into();
    }
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        if is_unfit(character) {
            // All are in the basic plane.
            let _ = write!(escaped, "\\u{:04x}", u32::from(character));
        } else {
            escaped.push(character);
        }
    }
    escaped.into()
}

fn quote_word(text: &str) -> String {
    // NUL alone cannot be quoted, and no text here holds it.
    shlex::try_quote(text).map_or_else(|_| String::new(), Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::request::ContractParameters;
    use crate::settings::Method;

    fn words(method: Method, cursor: &str) -> Vec<String> {
        let url = "https://search.example/find?fields[]={a,b}&x='$(id)'".parse().unwrap();
        let parameters = ContractParameters {
            keyword: Some("a b"),
            cursor: Some(cursor),
            ..ContractParameters::default()
        };
        let request = SearchRequest::for_contract(&url, method, parameters);
        let line = describe_search(&request, &Authentication::None, &CallCredentials::None, None);
        assert!(!line.contains(is_unfit), "{line:?}");
        shlex::split(&line).unwrap()
    }

    fn sent(method: Method, cursor: &str) -> String {
        let words = words(method, cursor);
        if method == Method::Post {
            let json: serde_json::Value = serde_json::from_str(words.last().unwrap()).unwrap();
            return json["cursor"].as_str().unwrap().to_owned();
        }
        let url: url::Url = words.last().unwrap().parse().unwrap();
        url.query_pairs().last().unwrap().1.into_owned()
    }

    #[test]
    fn command_line_repeats_the_call() {
        let common = ["curl", "-sS", "--globoff", "-i"];
        let url = "https://search.example/find?fields[]={a,b}&x=%27$(id)%27";
        let whole = format!("{url}&keyword=a%20b&cursor=c");
        assert_eq!(words(Method::Get, "c"), [&common[..], &[whole.as_str()]].concat());
        let json = r#"{"keyword":"a b","cursor":"c"}"#;
        let content_type = "Content-Type: application/json;charset=UTF-8";
        let post = [&common[..], &[url, "-H", content_type, "--data-raw", json]].concat();
        assert_eq!(words(Method::Post, "c"), post);
    }

    #[test]
    fn key_of_the_query_is_a_variable() {
        let url: url::Url = "https://search.example/find".parse().unwrap();
        let request = SearchRequest::for_contract(&url, Method::Get, ContractParameters::first_page("a", 10));
        let key = crate::ApiKey::in_query("api_key", "hush".into()).unwrap();
        let line = describe_search(&request, &Authentication::ApiKey(key), &CallCredentials::Fixed, None);
        let expected =
            r#"curl -sS --globoff -i 'https://search.example/find?keyword=a&limit=10'"&api_key=$API_KEY""#;
        assert_eq!(line, expected);
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn any_cursor_is_sent_and_nothing_else_is_run(
            cursor in r#"([a-z@&=+%'"`$\\!;|\n\x00\x1b\x7f\u{9b}\u{202e}\u{ffff}搜🎉-]|\$\(id\)){0,12}"#
        ) {
            for method in [Method::Get, Method::Post] {
                prop_assert_eq!(sent(method, &cursor), cursor.as_str());
            }
        }
    }
}
