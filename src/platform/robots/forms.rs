//! Robot and message forms (book: reference/groups.md).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use crate::{
    json,
    platform::shared::patch::{TextRule, check_id_of},
};

/// Maximum robots per group.
pub const ROBOTS_PER_GROUP: i64 = 20;

const NAME_BYTES: usize = 128;
const TEXT_BYTES: usize = 16 << 10;
const TITLE_BYTES: usize = 1 << 10;
const BRIEF_BYTES: usize = 4 << 10;
const ADDRESS_BYTES: usize = 2 << 10;
const DATA_BYTES: usize = 32 << 10;

/// A text (`text`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct TextMessage {
    /// Message content.
    pub text: String,
}

/// A text with a link (`links`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct LinkMessage {
    /// Message content.
    pub text: String,
    /// http or https address.
    pub url: String,
}

/// A text with title, picture and link (`rich`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct RichMessage {
    /// Message content.
    pub text: String,
    /// http or https address.
    pub url: String,
    /// Title.
    pub title: String,
    /// Picture address, http or https.
    pub image: String,
}

/// A card from a template (`card_template`); stored with both template id and code.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CardMessage {
    /// Summary.
    pub brief: String,
    /// Template id; takes priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template_id: Option<String>,
    /// Template code, used without an id: selects the newest version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template_code: Option<String>,
    /// Values for the template's keys.
    #[schema(value_type = Object)]
    pub data: Map<String, Value>,
}

/// A message by type.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "msgType", content = "content", rename_all = "snake_case")]
pub enum Message {
    /// A text.
    Text(TextMessage),
    /// A text with a link.
    Links(LinkMessage),
    /// A text with a title, a picture and an address.
    Rich(RichMessage),
    /// A card from a template.
    CardTemplate(CardMessage),
}

const TYPES: [&str; 4] = ["text", "links", "rich", "card_template"];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawMessage {
    #[serde(default)]
    msg_type: Option<String>,
    #[serde(default, deserialize_with = "json::object")]
    content: Option<Map<String, Value>>,
}

impl Message {
    /// Drops unknown fields; the error names the field.
    pub fn read(body: &[u8]) -> Result<Self, String> {
        let RawMessage { msg_type, content } =
            json::read_object(body).map_err(|reason| format!("body: {reason}"))?;
        let msg_type = msg_type.ok_or("msgType: is required")?;
        if !TYPES.contains(&msg_type.as_str()) {
            return Err("msgType: must be text, links, rich or card_template".to_owned());
        }
        let mut content = ContentFields(content.ok_or("content: is required")?);
        Ok(match msg_type.as_str() {
            "text" => Self::Text(TextMessage { text: content.lines("text", TEXT_BYTES)? }),
            "links" => Self::Links(LinkMessage {
                text: content.lines("text", TEXT_BYTES)?,
                url: content.address("url")?,
            }),
            "rich" => Self::Rich(RichMessage {
                text: content.lines("text", TEXT_BYTES)?,
                url: content.address("url")?,
                title: content.text("title", TextRule::Line(TITLE_BYTES))?,
                image: content.address("image")?,
            }),
            _ => Self::CardTemplate(content.card()?),
        })
    }

    /// Type name (`msgType`).
    pub fn msg_type(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Links(_) => "links",
            Self::Rich(_) => "rich",
            Self::CardTemplate(_) => "card_template",
        }
    }

    /// Content as stored JSON.
    pub fn content(&self) -> Result<String, serde_json::Error> {
        match self {
            Self::Text(content) => serde_json::to_string(content),
            Self::Links(content) => serde_json::to_string(content),
            Self::Rich(content) => serde_json::to_string(content),
            Self::CardTemplate(content) => serde_json::to_string(content),
        }
    }
}

struct ContentFields(Map<String, Value>);

impl ContentFields {
    fn required(&mut self, name: &str) -> Result<Value, String> {
        let value = self.0.remove(name).filter(|value| !value.is_null());
        value.ok_or_else(|| format!("content.{name}: is required"))
    }

    fn text(&mut self, name: &str, rule: TextRule) -> Result<String, String> {
        let Value::String(text) = self.required(name)? else {
            return Err(format!("content.{name}: must be a text"));
        };
        if text.trim().is_empty() {
            return Err(format!("content.{name}: must not be empty"));
        }
        rule.check(&format!("content.{name}"), &text)?;
        Ok(text)
    }

    fn lines(&mut self, name: &str, most: usize) -> Result<String, String> {
        self.text(name, TextRule::Lines(most))
    }

    fn address(&mut self, name: &str) -> Result<String, String> {
        let text = self.text(name, TextRule::Line(ADDRESS_BYTES))?;
        if is_address(&text) {
            Ok(text)
        } else {
            Err(format!("content.{name}: must be an http:// or https:// address"))
        }
    }

    fn named(&mut self, name: &str) -> Result<Option<String>, String> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) => check_id_of(&format!("content.{name}"), &text).map(|()| Some(text)),
            Some(_) => Err(format!("content.{name}: must be a text")),
        }
    }

    fn card(&mut self) -> Result<CardMessage, String> {
        let brief = self.lines("brief", BRIEF_BYTES)?;
        let (template_id, template_code) = (self.named("templateId")?, self.named("templateCode")?);
        if template_id.is_none() && template_code.is_none() {
            return Err("content.templateId: is required without content.templateCode".to_owned());
        }
        let Value::Object(data) = self.required("data")? else {
            return Err("content.data: must be an object".to_owned());
        };
        let length = serde_json::to_string(&data).map_or(usize::MAX, |text| text.len());
        if length > DATA_BYTES {
            return Err(format!("content.data: must be at most {DATA_BYTES} bytes of JSON, not {length}"));
        }
        Ok(CardMessage { brief, template_id, template_code, data })
    }
}

/// Strict, since parsers differ on blanks and missing slashes.
pub(super) fn is_address(text: &str) -> bool {
    let begins = |scheme: &str| {
        text.get(..scheme.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(scheme))
    };
    (begins("http://") || begins("https://"))
        && !text.chars().any(|letter| letter.is_whitespace() || letter.is_control() || letter == '\\')
        && Url::parse(text).is_ok_and(|url| url.has_host())
}

/// A robot to create.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
pub struct RobotForm {
    /// Name shown on its messages.
    pub name: String,
}

impl RobotForm {
    /// Checks the form; the error names the field.
    pub fn checked(self) -> Result<String, String> {
        let name = self.name.trim();
        if name.is_empty() {
            return Err("name: must not be empty".to_owned());
        }
        TextRule::Line(NAME_BYTES).check("name", name)?;
        Ok(name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(message: &Value) -> Result<Message, String> {
        Message::read(message.to_string().as_bytes())
    }

    fn good(msg_type: &str) -> Value {
        let content = match msg_type {
            "text" => json!({"text": "tide"}),
            "links" => json!({"text": "tide", "url": "https://tide.example/now?a=b#c"}),
            "rich" => json!({
                "text": "tide", "url": "https://tide.example/", "title": "High", "image": "http://tide.example/潮.png",
            }),
            _ => {
                json!({"brief": "tide", "templateId": "t1", "data": {"height": "3 m", "at": [1, {"x": null}]}})
            }
        };
        json!({"msgType": msg_type, "content": content})
    }

    #[test]
    fn missing_field_is_named_for_each_type() {
        for msg_type in TYPES {
            let sent = good(msg_type);
            for field in sent["content"].as_object().unwrap().keys() {
                for wrong in [None, Some(json!(null)), Some(json!(5)), Some(json!([])), Some(json!(""))] {
                    let mut without = sent.clone();
                    match &wrong {
                        Some(wrong) => without["content"][field] = wrong.clone(),
                        None => drop(without["content"].as_object_mut().unwrap().remove(field)),
                    }
                    let reason = read(&without).unwrap_err();
                    assert!(reason.starts_with(&format!("content.{field}: ")), "{wrong:?}: {reason}");
                }
            }
        }
    }

    #[test]
    fn only_strict_http_addresses_are_accepted() {
        for address in [
            "javascript:alert(1)",
            " https://a.example",
            "java\nscript:alert(1)",
            "data:text/html,x",
            "ftp://a.example",
            "https:a.example",
            "https://",
            "https:\\\\a.example",
            "//a.example",
            "https://a.example/ b",
            "a",
        ] {
            assert!(!is_address(address), "{address:?}");
        }
        for address in ["https://a.example", "HTTP://a.example:8080/ä?q=%20", "http://[::1]/"] {
            assert!(is_address(address), "{address:?}");
        }
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(300))]

        #[test]
        fn stored_message_reads_back_unchanged(
            msg_type in prop::sample::select(TYPES.to_vec()),
            text in "\\PC{1,40}",
            extra in "[a-z]{1,8}",
        ) {
            let mut sent = good(msg_type);
            let field = if msg_type == "card_template" { "brief" } else { "text" };
            sent["content"][field] = json!(text);
            sent["content"][format!("x{extra}")] = json!(text);
            match read(&sent) {
                Ok(message) => {
                    let again = serde_json::to_vec(&message).unwrap();
                    prop_assert_eq!(Message::read(&again).unwrap(), message);
                }
                Err(reason) => prop_assert!(text.trim().is_empty(), "{reason}"),
            }
        }
    }
}
