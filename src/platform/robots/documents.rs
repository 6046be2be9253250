//! Messages as documents of the full-text index: found by the members of their group alone (decisions 9.5).

use sea_orm::ConnectionTrait;
use serde_json::{Value, json};
use trawl_connectors::ContentItem;
use trawl_index::{Audience, Document, Scope};

use super::{
    model::{CardMessage, LinkMessage, Message, RichMessage, TextMessage, is_address},
    repo::documents::{self as repo, Row},
};
use crate::{
    auth::directory::group_principal,
    error::{Error, Result},
};

/// The module that messages are found in.
pub const MESSAGE: &str = "message";

/// The documents of the messages with these ids that are found in the tenant.
pub async fn find<C: ConnectionTrait>(reader: &C, tenant_id: i64, ids: &[String]) -> Result<Vec<Document>> {
    repo::find(reader, tenant_id, ids).await?.into_iter().map(into_document).collect()
}

/// The documents of up to `limit` messages after `sequence`, and the last one's number.
pub async fn scan<C: ConnectionTrait>(
    reader: &C,
    sequence: i64,
    limit: u64,
) -> Result<Option<(Vec<Document>, i64)>> {
    let Some((rows, last)) = repo::scan(reader, sequence, limit).await? else { return Ok(None) };
    let documents = rows.into_iter().map(into_document).collect::<Result<_>>()?;
    Ok(Some((documents, last)))
}

/// How many documents a scan from the beginning gives.
pub async fn count<C: ConnectionTrait>(reader: &C) -> Result<i64> {
    Ok(repo::count(reader).await?)
}

/// Characters of a title that is the beginning of a text.
const TITLE_CHARACTERS: usize = 100;

/// Bytes of a text that a hit shows: all of it is searched, and whoever wants to read it lists the messages.
const BRIEF_BYTES: usize = 2 << 10;

/// What of a message is searched and shown.
struct Shown {
    title: String,
    brief: Option<String>,
    image: Option<String>,
    /// What a click opens.
    url: Option<String>,
}

impl Shown {
    fn new(message: Message) -> Self {
        match message {
            Message::Text(TextMessage { text }) => Self::of_text(text),
            Message::Links(LinkMessage { text, url }) => Self { url: Some(url), ..Self::of_text(text) },
            Message::Rich(RichMessage { text, url, title, image }) => {
                Self { title, brief: Some(text), image: Some(image), url: Some(url) }
            }
            Message::CardTemplate(CardMessage { brief, data, .. }) => {
                let mut texts = Vec::new();
                data.values().for_each(|value| collect_texts(value, &mut texts));
                let values = texts.join("\n");
                if values.is_empty() {
                    return Self::of_text(brief);
                }
                let Self { title, brief: whole, .. } = Self::of_text(brief);
                let brief = whole.map_or_else(|| values.clone(), |whole| format!("{whole}\n{values}"));
                Self { title, brief: Some(brief), image: None, url: None }
            }
        }
    }

    /// A text has no title: its beginning is one, and where that is not all, the whole of it stands below.
    fn of_text(text: String) -> Self {
        let line = text.trim().lines().next().unwrap_or_default().trim_end();
        let title = match line.char_indices().nth(TITLE_CHARACTERS) {
            Some((end, _)) => format!("{}…", line[..end].trim_end()),
            None => line.to_owned(),
        };
        let is_all = title == text.trim();
        Self { title, brief: (!is_all).then_some(text), image: None, url: None }
    }
}

/// The texts that are put into a card, however deep. Addresses are none: nobody looks for their parts, and each would be found
/// by `https`.
fn collect_texts<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) if !text.trim().is_empty() && !is_address(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| collect_texts(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| collect_texts(value, texts)),
        _ => {}
    }
}

/// As much of the text as a hit shows.
fn shown_part(text: &str) -> String {
    if text.len() <= BRIEF_BYTES {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(BRIEF_BYTES - '…'.len_utf8());
    format!("{}…", text[..end].trim_end())
}

/// The action that opens an address, whichever client it is.
fn opening(url: &str) -> String {
    let lines = format!("[OpenUrl]\nurl={url}");
    json!({"android": lines, "ios": lines, "pc": lines, "web": lines}).to_string()
}

fn into_document(row: Row) -> Result<Document> {
    let message = format!("{{\"msgType\":\"{}\",\"content\":{}}}", row.msg_type, row.content);
    let Shown { title, brief, image, url } =
        Shown::new(serde_json::from_str(&message).map_err(Error::internal)?);
    let item = ContentItem {
        id: row.id.clone(),
        title,
        // Where it was said.
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
        // Else every message of a group would be found by the group's name.
        sub_title: String::new(),
        brief: brief.unwrap_or_default(),
        author: item.author.unwrap_or_default(),
        audience: Audience::Principals(vec![group_principal(&row.group_id)]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(msg_type: &str, content: &Value) -> Shown {
        Shown::new(serde_json::from_value(json!({"msgType": msg_type, "content": content})).unwrap())
    }

    #[test]
    fn a_short_text_is_its_title_and_a_long_one_begins_with_it() {
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
    fn a_card_is_found_by_its_texts_and_not_by_its_addresses() {
        let data = json!({"b": "noon", "a": [{"deep": "3 m"}, 7, " "], "link": "https://tide.example"});
        let card = shown("card_template", &json!({"brief": "tide", "templateId": "t", "data": data}));
        assert_eq!((card.title.as_str(), card.brief.as_deref()), ("tide", Some("3 m\nnoon")));
        let bare = shown("card_template", &json!({"brief": "tide", "templateId": "t", "data": {}}));
        assert_eq!((bare.title.as_str(), bare.brief), ("tide", None));
    }

    #[test]
    fn a_hit_shows_a_part_of_a_long_text_and_all_of_it_is_searched() {
        for (text, shown) in [
            ("a".repeat(2_048), "a".repeat(2_048)),
            ("a".repeat(2_049), format!("{}…", "a".repeat(2_045))),
            ("潮".repeat(700), format!("{}…", "潮".repeat(681))),
        ] {
            let content =
                json!({"text": text, "title": "t", "url": "https://a.example", "image": "https://a.example"});
            let row = Row {
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
