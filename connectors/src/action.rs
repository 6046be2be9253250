use std::{borrow::Cow, fmt};

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json_borrow::Value;
use url::Url;

use crate::text::holds_unfit;

/// The fault of an action whose address is a script.
pub const OPENS_SCRIPT: &str = "opens a script instead of an address";

const SCRIPTS: [&str; 3] = ["javascript", "data", "vbscript"];

/// Checks that `text` is an action in the documented form. It is a JSON object keyed by client kind. Each
/// value starts with `[OpenUrl]` or `[OpenApp]`, and its fields follow in any order.
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
    let address = match tag {
        Some("[OpenUrl]") => match find("url") {
            Some(address) if !address.is_empty() => address,
            _ => return Err("has no `url=` line after [OpenUrl]"),
        },
        // The app opens its start page if there is no address.
        Some("[OpenApp]") => match (find("appCode"), find("appUrl")) {
            (Some(code), Some(address)) if !code.is_empty() => address,
            _ => return Err("has no `appCode=` and `appUrl=` lines after [OpenApp]"),
        },
        _ => return Err("begins with neither [OpenApp] nor [OpenUrl]"),
    };
    if address.starts_with("https://") || address.starts_with("http://") {
        return Ok(());
    }
    // The parser ignores white space within a scheme, as browsers do.
    let is_script = Url::parse(address).is_ok_and(|address| SCRIPTS.contains(&address.scheme()));
    if is_script { Err(OPENS_SCRIPT) } else { Ok(()) }
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
