//! Index documents of messages, visible to members of their group.

use serde_json::{Value, json};
use trawl_connectors::ContentItem;
use trawl_engine::{Audience, Document, Scope};

use super::{
    forms::{CardMessage, LinkMessage, Message, RichMessage, TextMessage, is_address},
    repo::documents::{self as repo, FoundMessage},
};
use crate::{
    error::{Error, Result},
    identity::principals::group_principal,
    store::Connection,
};

/// Module code.
pub const MESSAGE: &str = "message";

/// Documents with these ids.
pub async fn find(reader: &Connection, tenant_id: i64, ids: &[String]) -> Result<Vec<Document>> {
    repo::find(reader, tenant_id, ids).await?.into_iter().map(into_document).collect()
}

/// Up to `limit` documents after `sequence`, and the last sequence.
pub async fn scan(reader: &Connection, sequence: i64, limit: u64) -> Result<Option<(Vec<Document>, i64)>> {
    let Some((rows, last)) = repo::scan(reader, sequence, limit).await? else { return Ok(None) };
    let documents = rows.into_iter().map(into_document).collect::<Result<_>>()?;
    Ok(Some((documents, last)))
}

/// Documents in a full scan.
pub async fn count(reader: &Connection) -> Result<i64> {
    Ok(repo::count(reader).await?)
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
        id: row.id.clone(),
        title,
        sub_title: Some(row.group_name),
        brief: brief.as_deref().map(shown_part),
        image,
        author: Some(row.robot_name),
        display_time: row.created_at,
        action: url.as_deref().map(opening),
        attach_info: None,
        attach_description: None,
    };
    Ok(Document {
        scope: Scope::new(row.found_in, MESSAGE),
        id: row.id,
        display_time: row.created_at,
        item: serde_json::to_string(&item).map_err(Error::internal)?,
        title: item.title,
        title_is_name: false,
        other_names: Vec::new(),
        text: None,
        // Otherwise the group's name would match each of its messages.
        sub_title: String::new(),
        brief: brief.unwrap_or_default(),
        author: item.author.unwrap_or_default(),
        audience: Audience::Principals(vec![group_principal(&row.group_id)]),
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
    fn card_search_covers_texts_without_addresses() {
        let data = json!({"b": "noon", "a": [{"deep": "3 m"}, 7, " "], "link": "https://tide.example"});
        let card = shown("card_template", &json!({"brief": "tide", "templateId": "t", "data": data}));
        assert_eq!((card.title.as_str(), card.brief.as_deref()), ("tide", Some("3 m\nnoon")));
        let bare = shown("card_template", &json!({"brief": "tide", "templateId": "t", "data": {}}));
        assert_eq!((bare.title.as_str(), bare.brief), ("tide", None));
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
