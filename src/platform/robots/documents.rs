//! Index documents of messages, visible to members of their group.

use serde_json::{Value, json};
use trawl_connectors::ContentItem;
use trawl_engine::{Audience, Document, Scope};

use super::forms::{CardMessage, LinkMessage, Message, RichMessage, TextMessage, is_address};
use crate::{
    error::{Error, Result},
    identity::principals::group_principal,
    platform::shared::documents::{DocumentRows, Selection, document},
    store::{Connection, FromRow},
};

/// Module code.
pub const MESSAGE: &str = "message";

/// Rows of messages, in each tenant that finds their group.
pub const ROWS: DocumentRows = DocumentRows {
    table: "messages",
    columns: "messages.id, messages.group_id, messages.group_name, messages.robot_name, messages.msg_type, \
        messages.content, messages.created_at, group_tenants.tenant_id AS found_in",
    from: "messages JOIN groups ON groups.id = messages.group_id \
        JOIN group_tenants ON group_tenants.group_id = groups.id \
        JOIN tenants ON tenants.id = groups.tenant_id AND tenants.removed_at IS NULL WHERE groups.removed_at IS NULL AND",
    tenant: "+group_tenants.tenant_id",
    id: "messages.id",
    sequence: "messages.sequence",
};

#[derive(Clone, Debug, FromRow)]
struct FoundMessage {
    id: String,
    group_id: String,
    group_name: String,
    robot_name: String,
    msg_type: String,
    content: String,
    created_at: i64,
    found_in: i64,
}

/// Documents of the selected messages.
pub async fn read(reader: &Connection, selection: Selection<'_>) -> Result<Vec<Document>> {
    ROWS.read(reader, selection).await?.into_iter().map(into_document).collect()
}

const TITLE_CHARACTERS: usize = 100;

/// Shown in a hit; the whole text is searched.
const BRIEF_BYTES: usize = 2 << 10;

struct MessageTexts {
    title: String,
    brief: Option<String>,
    image: Option<String>,
    url: Option<String>,
}

impl MessageTexts {
    fn new(message: Message) -> Self {
        match message {
            Message::Text(TextMessage { text }) => Self::from_text(text),
            Message::Links(LinkMessage { text, url }) => Self { url: Some(url), ..Self::from_text(text) },
            Message::Rich(RichMessage { text, url, title, image }) => {
                Self { title, brief: Some(text), image: Some(image), url: Some(url) }
            }
            Message::CardTemplate(CardMessage { brief, data, .. }) => {
                let mut texts = Vec::new();
                data.values().for_each(|value| collect_texts(value, &mut texts));
                let values = texts.join("\n");
                if values.is_empty() {
                    return Self::from_text(brief);
                }
                let Self { title, brief: whole, .. } = Self::from_text(brief);
                let brief = whole.map_or_else(|| values.clone(), |whole| format!("{whole}\n{values}"));
                Self { title, brief: Some(brief), image: None, url: None }
            }
        }
    }

    fn from_text(text: String) -> Self {
        let line = text.trim().lines().next().unwrap_or_default().trim_end();
        let title = match line.char_indices().nth(TITLE_CHARACTERS) {
            Some((end, _)) => format!("{}…", line[..end].trim_end()),
            None => line.to_owned(),
        };
        let is_all = title == text.trim();
        Self { title, brief: (!is_all).then_some(text), image: None, url: None }
    }
}

/// Excludes addresses: every card would match `https`.
fn collect_texts<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) if !text.trim().is_empty() && !is_address(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| collect_texts(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| collect_texts(value, texts)),
        _ => {}
    }
}

fn shown_part(text: &str) -> String {
    if text.len() <= BRIEF_BYTES {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(BRIEF_BYTES - '…'.len_utf8());
    format!("{}…", text[..end].trim_end())
}

fn opening(url: &str) -> String {
    let lines = format!("[OpenUrl]\nurl={url}");
    json!({"android": lines, "ios": lines, "pc": lines, "web": lines}).to_string()
}

fn into_document(row: FoundMessage) -> Result<Document> {
    let message = format!("{{\"msgType\":\"{}\",\"content\":{}}}", row.msg_type, row.content);
    let MessageTexts { title, brief, image, url } =
        MessageTexts::new(serde_json::from_str(&message).map_err(Error::internal)?);
    let item = ContentItem {
        id: row.id,
        title,
        sub_title: Some(row.group_name),
        brief: brief.as_deref().map(shown_part),
        image,
        author: Some(row.robot_name),
        display_time: row.created_at,
        action: url.as_deref().map(opening),
        ..ContentItem::default()
    };
    let audience = Audience::Principals(vec![group_principal(&row.group_id)]);
    Ok(Document {
        // Otherwise the group's name would match each of its messages.
        sub_title: String::new(),
        brief: brief.unwrap_or_default(),
        ..document(Scope::new(row.found_in, MESSAGE), item, audience)?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(msg_type: &str, content: &Value) -> MessageTexts {
        MessageTexts::new(serde_json::from_value(json!({"msgType": msg_type, "content": content})).unwrap())
    }

    #[test]
    fn long_text_is_cut_for_title() {
        let short = shown("text", &json!({"text": " high tide \n"}));
        assert_eq!((short.title.as_str(), short.brief), ("high tide", None));
        let lines = shown("text", &json!({"text": "high tide\nat noon"}));
        assert_eq!((lines.title.as_str(), lines.brief.as_deref()), ("high tide", Some("high tide\nat noon")));
        let long = "潮".repeat(101);
        let cut = shown("links", &json!({"text": long, "url": "https://tide.example"}));
        assert_eq!(cut.title, format!("{}…", "潮".repeat(100)));
        assert_eq!((cut.brief, cut.url.as_deref()), (Some(long), Some("https://tide.example")));
    }

    #[test]
    fn long_text_is_searched_whole_and_shown_cut() {
        for (text, shown) in [
            ("a".repeat(2_048), "a".repeat(2_048)),
            ("a".repeat(2_049), format!("{}…", "a".repeat(2_045))),
            ("潮".repeat(700), format!("{}…", "潮".repeat(681))),
        ] {
            let content =
                json!({"text": text, "title": "t", "url": "https://a.example", "image": "https://a.example"});
            let row = FoundMessage {
                id: "1".to_owned(),
                group_id: "g".to_owned(),
                group_name: "Harbour".to_owned(),
                robot_name: "Gauge".to_owned(),
                msg_type: "rich".to_owned(),
                content: content.to_string(),
                created_at: 1,
                found_in: 1,
            };
            let document = into_document(row).unwrap();
            let item: Value = serde_json::from_str(&document.item).unwrap();
            assert_eq!(item["brief"], shown);
            assert!(shown.len() <= BRIEF_BYTES);
            assert_eq!(document.brief, text);
        }
    }
}
