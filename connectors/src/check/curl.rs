//! Calls as command lines. A source's cursor is harmless there.

use std::borrow::Cow;
use std::fmt::Write as _;

use url::form_urlencoded;

use super::call::{CallCredentials, Parameters};
use crate::credentials::WRONG_BEARER;
use crate::settings::{Authentication, ClientCredentials, Method, SourceSettings};
use crate::text::is_unfit;

/// curl expands brackets and braces.
const CURL: &str = "curl -sS --globoff";

pub(super) fn describe_token_request(credentials: &ClientCredentials) -> String {
    let mut parts = vec![
        format!("{CURL} -u \"$CLIENT_ID:$CLIENT_SECRET\""),
        quote_word(credentials.token_url.as_str()),
        "-d grant_type=client_credentials".to_owned(),
    ];
    let fields = [("scope", &credentials.scope), ("audience", &credentials.audience)];
    parts
        .extend(fields.into_iter().filter_map(|(name, value)| Some(describe_field(name, value.as_deref()?))));
    parts.join(" ")
}

/// Variables stand for secrets: `$TOKEN`, `$API_KEY`, `$USERNAME` and `$PASSWORD`.
pub(super) fn describe_search(
    settings: &SourceSettings,
    parameters: Parameters<'_>,
    credentials: &CallCredentials,
) -> String {
    let url = quote_word(settings.url.as_str());
    let authorization = describe_credentials(&settings.authentication, credentials);
    let mut parts = Vec::new();
    match settings.method {
        Method::Get => {
            parts.push(format!("{CURL} -i -G {url}"));
            parts.extend(authorization);
            let limit = parameters.limit.map(|limit| limit.to_string());
            let fields =
                [("keyword", parameters.keyword), ("limit", limit.as_deref()), ("cursor", parameters.cursor)];
            parts.extend(fields.into_iter().filter_map(|(name, value)| Some(describe_field(name, value?))));
        }
        Method::Post => {
            let json = serde_json::to_string(&parameters).unwrap_or_default();
            let content_type = quote_word("Content-Type: application/json;charset=UTF-8");
            parts.push(format!("{CURL} -i {url} -H {content_type}"));
            parts.extend(authorization);
            parts.push(format!("--data-raw {}", quote_word(&escape_unfit(&json))));
        }
    }
    parts.join(" ")
}

fn describe_credentials(authentication: &Authentication, credentials: &CallCredentials) -> Option<String> {
    let bearer = || "-H \"Authorization: Bearer $TOKEN\"".to_owned();
    match credentials {
        CallCredentials::None => None,
        CallCredentials::Token(_) => Some(bearer()),
        CallCredentials::Fixed => match authentication {
            Authentication::None | Authentication::OAuth2Client(_) => None,
            // The name has no character that a shell expands.
            Authentication::ApiKey(key) => Some(format!("-H \"{}: $API_KEY\"", key.header_name())),
            Authentication::Basic(_) => Some("-u \"$USERNAME:$PASSWORD\"".to_owned()),
            Authentication::Bearer(_) => Some(bearer()),
        },
        CallCredentials::Wrong => Some(match authentication.fixed() {
            Some(fixed) => {
                let value = fixed.wrong_value();
                format!("-H '{}: {}'", fixed.header().name, value.to_str().unwrap_or_default())
            }
            None => format!("-H 'Authorization: {WRONG_BEARER}'"),
        }),
    }
}

/// Encodes a value that a terminal would obey.
fn describe_field(name: &str, value: &str) -> String {
    if value.contains(is_unfit) {
        let encoded: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
        return format!("-d {}", quote_word(&format!("{name}={encoded}")));
    }
    format!("--data-urlencode {}", quote_word(&format!("{name}={value}")))
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
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn settings(method: Method) -> SourceSettings {
        SourceSettings {
            url: "https://search.example/find?fields[]={a,b}&x='$(id)'".parse().unwrap(),
            method,
            authentication: Authentication::None,
            timeout: Duration::from_secs(1),
            max_concurrency: 1,
            max_body_bytes: 1,
        }
    }

    fn words(method: Method, cursor: &str) -> Vec<String> {
        let parameters = Parameters { keyword: Some("a b"), limit: None, cursor: Some(cursor) };
        let line = describe_search(&settings(method), parameters, &CallCredentials::None);
        assert!(!line.contains(is_unfit), "{line:?}");
        shlex::split(&line).unwrap()
    }

    fn sent(method: Method, cursor: &str) -> String {
        let words = words(method, cursor);
        let [.., option, last] = words.as_slice() else { panic!("{words:?}") };
        if method == Method::Post {
            let json: serde_json::Value = serde_json::from_str(last).unwrap();
            return json["cursor"].as_str().unwrap().to_owned();
        }
        let value = last.strip_prefix("cursor=").unwrap();
        if option == "--data-urlencode" {
            return value.to_owned();
        }
        let decoded = form_urlencoded::parse(last.as_bytes()).next().unwrap().1;
        decoded.into_owned()
    }

    #[test]
    fn command_line_repeats_the_call() {
        let common = ["curl", "-sS", "--globoff", "-i"];
        let url = settings(Method::Get).url.to_string();
        let get = [&common[..], &["-G", &url, "--data-urlencode", "keyword=a b"]].concat();
        assert_eq!(words(Method::Get, "c")[..8], get);
        let json = r#"{"keyword":"a b","cursor":"c"}"#;
        let content_type = "Content-Type: application/json;charset=UTF-8";
        let post = [&common[..], &[&url, "-H", content_type, "--data-raw", json]].concat();
        assert_eq!(words(Method::Post, "c"), post);
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
