//! Makes a search content item of a row (open-interface "Search content item", decisions 4.3).

use serde::Serialize;
use serde_json::Value;

use super::row::{Fields, Prepared, Rejection, Row, truncate, visible_id, wrong_type};
use super::time;

/// A longer `brief` is cut to this, at a character's border.
pub(super) const LONGEST_BRIEF: usize = 64 * 1024;

/// The names that hold a row's text, the proper one first.
pub(super) const BRIEF_NAMES: [&str; 5] = ["brief", "text", "content", "summary", "description"];

/// The names that hold a row's time where `displayTime` is absent.
const TIME_NAMES: [&str; 5] = ["date", "published", "updated", "createdAt", "timestamp"];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ContentItem {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sub_title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    brief: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    display_time: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attach_info: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attach_description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    visibility: Option<Value>,
}

/// The item of a row, or why there is none.
pub(super) fn prepare(row: Row) -> Result<Prepared, Rejection> {
    let number = row.number;
    let id = visible_id(&row.fields, &["id"]);
    map(Fields(row.fields)).map_err(|reason| Rejection::of_row(number, id, reason))
}

fn map(mut fields: Fields) -> Result<Prepared, String> {
    let mut item = ContentItem {
        id: fields.take_id(&["id"])?,
        title: fields.take_text(&["title"])?,
        sub_title: fields.take_text(&["subTitle"])?,
        brief: fields.take_text(&BRIEF_NAMES)?,
        image: fields.take_text(&["image"])?,
        author: fields.take_text(&["author"])?,
        display_time: take_time(&mut fields)?,
        action: fields.take_action()?,
        attach_info: fields.take_text(&["attachInfo"])?,
        attach_description: fields.take_text(&["attachDescription"])?,
        visibility: take_visibility(&mut fields)?,
    };
    if item.title.is_none() && item.brief.is_none() {
        return Err("neither `title` nor `brief` holds a text".to_owned());
    }
    let truncated = item.brief.as_mut().is_some_and(|brief| truncate(brief, LONGEST_BRIEF));
    let json = serde_json::to_vec(&item).map_err(|error| error.to_string())?;
    Ok(Prepared { id: item.id, json, truncated })
}

fn take_time(fields: &mut Fields) -> Result<Option<i64>, String> {
    let unreadable = |name: &str, value: &Value| {
        format!("`{name}` is no time: {value}; give epoch milliseconds, RFC 3339 or an ISO date")
    };
    match fields.0.remove("displayTime") {
        None | Some(Value::Null) => {}
        Some(value) => {
            return time::display_time(&value).map(Some).ok_or_else(|| unreadable("displayTime", &value));
        }
    }
    for name in TIME_NAMES {
        match fields.0.remove(name) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) if text.is_empty() => {}
            Some(value) => return time::any_time(&value).map(Some).ok_or_else(|| unreadable(name, &value)),
        }
    }
    Ok(None)
}

fn take_visibility(fields: &mut Fields) -> Result<Option<Value>, String> {
    match fields.0.remove("visibility") {
        None | Some(Value::Null) => Ok(None),
        Some(value @ Value::Object(_)) => Ok(Some(value)),
        // Sent without it, what was meant for a few would be seen by everyone.
        Some(other) => {
            Err(wrong_type("visibility", "an object of `users`, `departments` and `groups`", &other))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn prepared(fields: Value) -> Result<Prepared, Rejection> {
        let Value::Object(fields) = fields else { panic!("not an object") };
        prepare(Row { number: 7, fields })
    }

    fn item(fields: Value) -> Value {
        serde_json::from_slice(&prepared(fields).unwrap().json).unwrap()
    }

    fn reason(fields: Value) -> String {
        prepared(fields).unwrap_err().reason
    }

    #[test]
    fn a_content_item_is_sent_as_it_is_without_unknown_fields() {
        let proper = json!({
            "id": "a", "title": "T", "subTitle": "S", "brief": "B", "image": "I", "author": "A", "displayTime": 5,
            "action": "{\"web\":\"[OpenUrl]\\nurl=x\"}", "attachInfo": "i", "attachDescription": "d",
            "visibility": {"users": ["u1"]},
        });
        let mut with_more = proper.clone();
        with_more["days"] = json!(2);
        with_more["text"] = json!("not the brief");
        with_more["url"] = json!("not the action");
        assert_eq!(item(with_more), proper);
    }

    #[test]
    fn other_names_are_understood_where_the_proper_ones_are_absent() {
        assert_eq!(
            item(
                json!({"id": 12, "title": "", "text": "body", "author": null, "date": "1970-01-02", "url": "http://x/"})
            ),
            json!({"id": "12", "brief": "body", "displayTime": 86_400_000,
                   "action": "{\"web\":\"[OpenUrl]\\nurl=http://x/\"}"})
        );
        for name in ["content", "summary", "description"] {
            assert_eq!(item(json!({"id": "a", name: "body"}))["brief"], json!("body"), "{name}");
        }
        for name in ["published", "updated", "createdAt", "timestamp"] {
            assert_eq!(
                item(json!({"id": "a", "title": "t", name: 86_400}))["displayTime"],
                json!(86_400_000),
                "{name}"
            );
        }
        assert_eq!(
            item(json!({"id": "a", "title": "t", "action": {"web": "w"}}))["action"],
            json!("{\"web\":\"w\"}")
        );
    }

    #[test]
    fn what_cannot_be_an_item_is_rejected_with_its_reason() {
        assert_eq!(reason(json!({"title": "t"})), "no `id`");
        assert_eq!(
            reason(json!({"id": 1.5, "title": "t"})),
            "`id` must be text or a whole number, is another number"
        );
        assert_eq!(
            reason(json!({"id": "a", "title": " ".repeat(0)})),
            "neither `title` nor `brief` holds a text"
        );
        assert_eq!(reason(json!({"id": "a", "title": ["t"]})), "`title` must be text, is an array");
        assert!(reason(json!({"id": "a", "title": "t", "date": "soon"})).starts_with("`date` is no time"));
        assert!(reason(json!({"id": "a", "title": "t", "url": "x\nappUrl=y"})).contains("line break"));
        assert!(
            reason(json!({"id": "a", "title": "t", "visibility": ["u1"]}))
                .starts_with("`visibility` must be")
        );
        let rejection = prepared(json!({"id": "a"})).unwrap_err();
        assert_eq!((rejection.number, rejection.id.as_deref()), (Some(7), Some("a")));
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn a_long_brief_is_cut_at_a_character(length in 0_usize..30_000, wide in any::<bool>()) {
            let text = if wide { "中" } else { "a" }.repeat(length);
            let prepared = prepared(json!({"id": "a", "title": "t", "text": text})).unwrap();
            let sent: Value = serde_json::from_slice(&prepared.json).unwrap();
            let sent = sent["brief"].as_str().unwrap_or_default();
            prop_assert!(text.starts_with(sent) && sent.len() <= LONGEST_BRIEF);
            prop_assert_eq!(prepared.truncated, text.len() > LONGEST_BRIEF);
            prop_assert!(prepared.truncated || sent == text);
            prop_assert!(!prepared.truncated || sent.len() > LONGEST_BRIEF - 4);
        }
    }
}
