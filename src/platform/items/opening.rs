//! Address of an item's `action` that a browser may follow.

use serde::Serialize;
use serde_json::{Map, Value};
use url::Url;

/// Client kinds whose lines a browser may follow, in order of preference.
const CLIENTS: [&str; 2] = ["web", "pc"];

/// An address that a browser may follow.
#[derive(Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(super) struct Opening {
    /// `http`, `https`, or a path of this server.
    address: String,
    /// Host of the address, with a port other than the scheme's; null for this server.
    #[schema(required)]
    host: Option<String>,
}

impl Opening {
    /// Reads an `action`; `None` for an app's own address and for one that is refused.
    pub(super) fn read(action: &str) -> Option<Self> {
        let clients: Map<String, Value> = serde_json::from_str(action).ok()?;
        CLIENTS.iter().find_map(|client| Self::of_address(address_of(clients.get(*client)?.as_str()?)?))
    }

    /// Refused: other schemes, `//host`, backslashes, control characters and credentials.
    fn of_address(address: &str) -> Option<Self> {
        let is_unclear = |character: char| character == '\\' || character.is_control();
        if address.starts_with("//") || address.chars().any(is_unclear) {
            return None;
        }
        if address.starts_with('/') {
            return Some(Self { address: address.to_owned(), host: None });
        }
        let url = Url::parse(address).ok().filter(|url| ["http", "https"].contains(&url.scheme()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return None;
        }
        let host = match (url.host_str()?, url.port()) {
            (host, Some(port)) => format!("{host}:{port}"),
            (host, None) => host.to_owned(),
        };
        Some(Self { address: url.into(), host: Some(host) })
    }
}

/// `[OpenUrl]` with a line `url=…`, or `[OpenApp]` with a line `appUrl=…`.
fn address_of(text: &str) -> Option<&str> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let field = match lines.next()? {
        "[OpenUrl]" => "url",
        "[OpenApp]" => "appUrl",
        _ => return None,
    };
    let mut fields = lines.filter_map(|line| line.split_once('='));
    fields.find(|(name, _)| name.trim() == field).map(|(_, address)| address.trim())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Opening;

    fn opening(address: &str) -> Option<(String, Option<String>)> {
        let action = json!({"web": format!("[OpenUrl]\nurl={address}")}).to_string();
        Opening::read(&action).map(|opening| (opening.address, opening.host))
    }

    #[test]
    fn addresses_of_browsers_and_paths_are_read() {
        let host = |host: &str| Some(host.to_owned());
        assert_eq!(
            opening("https://wiki.example/1?a=b#c"),
            Some(("https://wiki.example/1?a=b#c".into(), host("wiki.example")))
        );
        assert_eq!(
            opening("http://wiki.example:8080"),
            Some(("http://wiki.example:8080/".into(), host("wiki.example:8080")))
        );
        assert_eq!(opening("/console?view=overview"), Some(("/console?view=overview".into(), None)));
        let app = json!({"web": "[OpenApp]\nappCode=leave\nappUrl=wxwork://7", "pc": "[OpenApp]\nappCode=leave\nappUrl=/form/7"});
        assert_eq!(Opening::read(&app.to_string()), Some(Opening { address: "/form/7".into(), host: None }));
    }

    #[test]
    fn unclear_and_foreign_addresses_are_refused() {
        for address in [
            "//evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "https:\\\\evil.example",
            "https://user@wiki.example",
            "https://user:secret@wiki.example",
            "https://:secret@wiki.example",
            "javascript:alert(1)",
            "data:text/html,x",
            "ftp://wiki.example",
            "wxwork://open",
            "wiki.example/1",
            "",
            "/a\u{7}b",
            "https://",
        ] {
            assert_eq!(opening(address), None, "{address}");
        }
        for action in [
            "",
            "7",
            "[]",
            "{}",
            "{\"web\":7}",
            "{\"web\":\"url=https://wiki.example\"}",
            "{\"ios\":\"[OpenUrl]\\nurl=https://a.example\"}",
        ] {
            assert_eq!(Opening::read(action), None, "{action}");
        }
    }
}
