//! Addresses that an item opens or shows, and the documented form of its action.

use std::{borrow::Cow, fmt};

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json_borrow::Value;
use url::Url;

use crate::text::holds_unfit;

const OPENS_SCRIPT: &str = "opens a script instead of an address";

const SCRIPTS: [&str; 3] = ["javascript", "data", "vbscript"];

/// Pictures that browsers do not execute.
const EMBEDDED_PICTURES: [&str; 5] =
    ["data:image/png;", "data:image/jpeg;", "data:image/gif;", "data:image/webp;", "data:image/avif;"];

/// The parser ignores white space within a scheme, as browsers do.
fn is_script(address: &Url) -> bool {
    SCRIPTS.contains(&address.scheme())
}

/// Checks an address that clients may open: of any scheme but scripts, or a path.
///
/// # Errors
/// The fault, without quoting the text; continues a sentence after a field's name.
pub fn check_address(address: &str) -> Result<(), &'static str> {
    let address = address.trim();
    let is_of_web = address.starts_with("https://") || address.starts_with("http://");
    let may_be_odd = !is_of_web || address.contains('@');
    if let Some(url) = may_be_odd.then(|| Url::parse(address).ok()).flatten() {
        if is_script(&url) {
            return Err(OPENS_SCRIPT);
        }
        let has_credentials = !url.username().is_empty() || url.password().is_some();
        if has_credentials && matches!(url.scheme(), "http" | "https") {
            return Err("holds credentials");
        }
    }
    if address.starts_with("//") || address.contains('\\') {
        return Err("hides its host behind // or a backslash");
    }
    if holds_unfit(address) { Err("holds control characters") } else { Ok(()) }
}

/// Like [`check_address`], for the address of a picture, which may be embedded.
///
/// # Errors
/// Like [`check_address`].
pub fn check_picture(address: &str) -> Result<(), &'static str> {
    let begins =
        |start: &&str| address.get(..start.len()).is_some_and(|text| text.eq_ignore_ascii_case(start));
    if EMBEDDED_PICTURES.iter().any(begins) && !holds_unfit(address) {
        return Ok(());
    }
    check_address(address)
}

/// Checks the addresses of an action that need not have the documented form.
///
/// Each text counts: as the documented lines where it begins with a tag, else as an address. A text that is no JSON holds none.
///
/// # Errors
/// Like [`check_address`].
pub fn check_action_addresses(action: &str) -> Result<(), &'static str> {
    serde_json::from_str::<Value<'_>>(action).map_or(Ok(()), |value| check_value(&value))
}

fn check_value(value: &Value<'_>) -> Result<(), &'static str> {
    match value {
        Value::Str(text) if text.trim_start().starts_with('[') => check_fields(text),
        // Browsers ignore line breaks within an address.
        Value::Str(text) if Url::parse(text).is_ok_and(|url| is_script(&url)) => Err(OPENS_SCRIPT),
        Value::Str(text) => text.lines().try_for_each(check_address).and_then(|()| check_fields(text)),
        Value::Array(values) => values.iter().try_for_each(check_value),
        Value::Object(fields) => fields.iter().try_for_each(|(_, value)| check_value(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// All lines that some client may take for the address.
fn check_fields(lines: &str) -> Result<(), &'static str> {
    let is_address = |name: &str| ["url", "appUrl"].iter().any(|field| name.eq_ignore_ascii_case(field));
    let fields = lines.lines().filter_map(|line| line.split_once('='));
    fields.filter(|(name, _)| is_address(name.trim())).try_for_each(|(_, address)| check_address(address))
}

/// Checks that `text` is an action in the documented form.
///
/// It is a JSON object keyed by client kind. Each value starts with `[OpenUrl]` or `[OpenApp]`, and its fields follow in any order.
///
/// # Errors
/// The fault, without quoting the text; continues a sentence after "`action`".
pub fn check_action(text: &str) -> Result<(), &'static str> {
    let mut json = serde_json::Deserializer::from_str(text);
    let checked = json.deserialize_map(ActionVisitor).and_then(|checked| json.end().map(|()| checked));
    checked.unwrap_or(Err("does not hold a JSON object"))
}

#[derive(Deserialize)]
struct ClientKind<'a>(#[serde(borrow)] Cow<'a, str>);

/// Checks the entries; of wrong ones the first counts, once the whole is an object.
struct ActionVisitor;

impl<'de> Visitor<'de> for ActionVisitor {
    type Value = Result<(), &'static str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut checked = Ok(());
        while let Some((ClientKind(client), lines)) = map.next_entry::<ClientKind<'de>, Value<'de>>()? {
            checked = checked.and_then(|()| check_entry(&client, &lines));
        }
        Ok(checked)
    }
}

fn check_entry(client: &str, lines: &Value<'_>) -> Result<(), &'static str> {
    if holds_unfit(client) {
        return Err("names a client kind with control characters");
    }
    match lines {
        Value::Str(lines) => check_lines(lines),
        _ => Err("holds a value that is not text"),
    }
}

fn check_lines(text: &str) -> Result<(), &'static str> {
    if text.split(['\n', '\r', '\t']).any(holds_unfit) {
        return Err("holds control characters");
    }
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let tag = lines.next();
    let find = |field: &str| {
        let mut fields = lines.clone().filter_map(|line| line.split_once('='));
        let found = fields.find(|(name, _)| name.trim_end() == field);
        found.map(|(_, value)| value.trim_start())
    };
    match tag {
        Some("[OpenUrl]") if find("url").is_none_or(str::is_empty) => {
            Err("has no `url=` line after [OpenUrl]")
        }
        // The app opens its start page if there is no address.
        Some("[OpenApp]") if find("appCode").is_none_or(str::is_empty) || find("appUrl").is_none() => {
            Err("has no `appCode=` and `appUrl=` lines after [OpenApp]")
        }
        Some("[OpenUrl]" | "[OpenApp]") => check_fields(text),
        _ => Err("begins with neither [OpenApp] nor [OpenUrl]"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::text::is_unfit;

    fn check(lines: &str) -> Result<(), &'static str> {
        check_action(&json!({ "web": lines }).to_string())
    }

    #[test]
    fn documented_forms_are_accepted_with_free_lines() {
        for lines in [
            "[OpenUrl]\nurl=https://wiki.example/1?a=b&c=d",
            "[OpenUrl]\r\nurl=https://wiki.example/1\r\n",
            "\n [OpenUrl] \n\n url = /pages/1\ntitle=A page\nanother line",
            "[OpenUrl]\nurl=wxwork://open?id=1",
            "[OpenApp]\nappCode=leave\nappUrl=/form/7",
            "[OpenApp]\nappUrl=\nmode=full\nappCode=leave",
        ] {
            assert_eq!(check(lines), Ok(()), "{lines:?}");
        }
        let open = "[OpenUrl]\nurl=https://wiki.example/1";
        let every = json!({"android": open, "ios": open, "pc": open, "web": open, "watch": open});
        assert_eq!(check_action(&every.to_string()), Ok(()));
        assert_eq!(check_action("{}"), Ok(()));
        assert_eq!(check_action(" {\n} "), Ok(()));
    }

    #[test]
    fn invalid_action_is_refused_with_its_fault() {
        for text in ["", "open", "[]", "7", "null", "{\"web\":", "\"[OpenUrl]\"", "[OpenUrl]\nurl=x"] {
            assert_eq!(check_action(text), Err("does not hold a JSON object"), "{text:?}");
        }
        assert_eq!(check_action(r#"{"web": {"url": "x"}}"#), Err("holds a value that is not text"));
        assert_eq!(check_action(r#"{"we\u0000b": "x"}"#), Err("names a client kind with control characters"));
        for lines in ["", "url=x", "[OpenFile]\nurl=x", "[openurl]\nurl=x", "[OpenUrl] url=x", "https://x/"] {
            assert_eq!(check(lines), Err("begins with neither [OpenApp] nor [OpenUrl]"), "{lines:?}");
        }
        for lines in
            ["[OpenUrl]", "[OpenUrl]\nurl=", "[OpenUrl]\nurl= ", "[OpenUrl]\nURL=x", "[OpenUrl]\nurl: x"]
        {
            assert_eq!(check(lines), Err("has no `url=` line after [OpenUrl]"), "{lines:?}");
        }
        for lines in
            ["[OpenApp]", "[OpenApp]\nappCode=a", "[OpenApp]\nappUrl=a", "[OpenApp]\nappCode=\nappUrl=a"]
        {
            let expected = Err("has no `appCode=` and `appUrl=` lines after [OpenApp]");
            assert_eq!(check(lines), expected, "{lines:?}");
        }
        for lines in ["[OpenUrl]\nurl=https://x/\u{0}", "[OpenUrl]\nurl=x\u{202e}y", "\u{1b}[OpenUrl]\nurl=x"]
        {
            assert_eq!(check(lines), Err("holds control characters"), "{lines:?}");
        }
    }

    #[test]
    fn address_is_refused_wherever_a_client_may_look_for_it() {
        const SCRIPT: Result<(), &str> = Err("opens a script instead of an address");
        for lines in [
            "[OpenUrl]\nurl=https://a.example\nurl=javascript:x",
            "[OpenUrl]\nurl=https://a.example\n URL = data:text/html,x",
            "[OpenApp]\nappCode=a\nappUrl=/7\nurl=vbscript:x",
        ] {
            assert_eq!(check(lines), SCRIPT, "{lines:?}");
        }
        for action in [
            json!({"a": "w", "web": "[OpenUrl]\nurl=javascript:x"}),
            json!({"web": "javascript:x"}),
            json!({"web": {"url": ["java\nscript:x"]}}),
            json!({"web": "url= data:text/html,x"}),
            json!({"web": "java\nscript:x"}),
        ] {
            assert!(check_action_addresses(&action.to_string()).is_err(), "{action}");
        }
        for action in
            [json!({"web": "w"}), json!({"web": "[Open]\ntitle=data: a\\b"}), json!({"ios": "wxwork://a\nb"})]
        {
            assert_eq!(check_action_addresses(&action.to_string()), Ok(()), "{action}");
        }
    }

    #[test]
    fn host_behind_signs_and_credentials_are_refused() {
        let hidden = Err("hides its host behind // or a backslash");
        for address in ["//evil.example", " //evil.example", "/\\evil.example", "https:\\\\evil.example"] {
            assert_eq!(check_address(address), hidden, "{address}");
        }
        for address in ["https://a@evil.example", "http://:b@evil.example/", "HTTPS://a:b@evil.example"] {
            assert_eq!(check_address(address), Err("holds credentials"), "{address}");
        }
        for address in
            ["https://a.example/@b?c=d@e", "mailto:mei@a.example", "sip:mei@a.example", "/a@b", "I", ""]
        {
            assert_eq!(check_address(address), Ok(()), "{address}");
        }
    }

    #[test]
    fn embedded_picture_is_of_a_kind_that_runs_nothing() {
        for good in
            ["data:image/png;base64,AAAA", "DATA:image/WebP;base64,AAAA", "https://a.example/i.svg", "icon"]
        {
            assert_eq!(check_picture(good), Ok(()), "{good}");
        }
        for bad in [
            "data:image/svg+xml,<svg/>",
            "data:text/html,x",
            "data:image/png,x",
            "javascript:x",
            "data:image/png;\u{202e}",
        ] {
            assert!(check_picture(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn script_address_is_refused_in_every_spelling() {
        for address in
            ["javascript:alert(1)", " JavaScript:x", "java\tscript:x", "data:text/html,x", "vbscript:x"]
        {
            for lines in
                [format!("[OpenUrl]\nurl={address}"), format!("[OpenApp]\nappCode=a\nappUrl={address}")]
            {
                assert_eq!(check(&lines), Err("opens a script instead of an address"), "{lines:?}");
            }
        }
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn accepted_action_has_a_tag_and_its_lines(
            tag in r"[ \n]?(\[OpenUrl\]|\[OpenApp\]|\PC{0,4})",
            lines in proptest::collection::vec(r"(url|appCode|appUrl|x) ?= ?\PC{0,3}", 0..4),
        ) {
            let text = format!("{tag}\n{}", lines.join("\n"));
            let has = |name: &str| text.lines().any(|line| line.trim_start().starts_with(name));
            if check(&text).is_ok() {
                let taken = has("[OpenUrl]") && has("url") || has("[OpenApp]") && has("appCode") && has("appUrl");
                prop_assert!(taken && !text.contains(|character| is_unfit(character) && character != '\n'));
            }
        }

        #[test]
        fn any_text_is_judged(text in any::<String>()) {
            let opens = text.trim_start().starts_with('{');
            prop_assert!(check_action(&text).is_err() || opens);
        }
    }
}
