//! Converts a row to a content item.

use serde_json::value::to_raw_value;
use serde_json::{Map, Value};

use super::row::{PreparedRow, Rejection, Row, RowFields, set, truncate, visible_id, wrong_type};
use super::time;

pub(crate) const MAX_BRIEF_BYTES: usize = 64 * 1024;
/// Longer titles are refused; those of feeds are cut.
pub(crate) const MAX_TITLE_BYTES: usize = 4 * 1024;

pub(crate) const BRIEF_NAMES: [&str; 5] = ["brief", "text", "content", "summary", "description"];

const TIME_NAMES: [&str; 5] = ["date", "published", "updated", "createdAt", "timestamp"];

pub(crate) fn prepare(row: Row) -> Result<PreparedRow, Rejection> {
    let Row { number, line, fields, undated } = row;
    let id = visible_id(&fields, &["id"]);
    let prepared = map(number, RowFields(fields)).map_err(|reason| Rejection::row(number, id, reason))?;
    Ok(PreparedRow { line, undated, ..prepared })
}

fn map(number: u64, mut fields: RowFields) -> Result<PreparedRow, String> {
    let id = fields.take_id(&["id"])?;
    let title = fields.take_text(&["title"])?;
    let mut brief = fields.take_text(&BRIEF_NAMES)?;
    if title.is_none() && brief.is_none() {
        return Err("title or brief: is required".to_owned());
    }
    let truncated = brief.as_mut().is_some_and(|brief| truncate(brief, MAX_BRIEF_BYTES));
    let mut item = Map::new();
    set(&mut item, "id", Some(id.as_str()));
    set(&mut item, "title", title);
    set(&mut item, "brief", brief);
    for name in ["subTitle", "image", "author", "attachInfo", "attachDescription"] {
        set(&mut item, name, fields.take_text(&[name])?);
    }
    set(&mut item, "displayTime", take_time(&mut fields)?);
    set(&mut item, "action", fields.take_action()?);
    set(&mut item, "visibility", take_visibility(&mut fields)?);
    let json = to_raw_value(&item).map_err(|error| error.to_string())?;
    Ok(PreparedRow { number, line: None, id, json, truncated, undated: false })
}

fn take_time(fields: &mut RowFields) -> Result<Option<i64>, String> {
    let unreadable = |name: &str, value: &Value| {
        format!("{name}: must be an epoch number or a date such as 2024-05-01T09:30:00Z, not {value}")
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

fn take_visibility(fields: &mut RowFields) -> Result<Option<Value>, String> {
    match fields.0.remove("visibility") {
        None | Some(Value::Null) => Ok(None),
        Some(value @ Value::Object(_)) => Ok(Some(value)),
        // Dropping it would show restricted content to everyone.
        Some(other) => Err(wrong_type("visibility", "an object of users, departments and groups", &other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn prepared(fields: Value) -> Result<PreparedRow, Rejection> {
        let Value::Object(fields) = fields else { panic!("not an object") };
        prepare(Row { number: 7, line: None, fields, undated: false })
    }

    fn item(fields: Value) -> Value {
        serde_json::from_str(prepared(fields).unwrap().json.get()).unwrap()
    }

    fn reason(fields: Value) -> String {
        prepared(fields).unwrap_err().reason
    }

    #[test]
    fn content_item_is_sent_without_unknown_fields() {
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
    fn alternative_names_fill_absent_fields() {
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
    fn invalid_item_is_rejected_with_its_reason() {
        assert_eq!(reason(json!({"title": "t"})), "id: is required");
        assert_eq!(
            reason(json!({"id": 1.5, "title": "t"})),
            "id: must be text or an integer, not another number"
        );
        assert_eq!(reason(json!({"id": "a", "title": " ".repeat(0)})), "title or brief: is required");
        assert_eq!(reason(json!({"id": "a", "title": ["t"]})), "title: must be text, not an array");
        assert!(reason(json!({"id": "a", "title": "t", "date": "soon"})).starts_with("date: must be"));
        assert!(
            reason(json!({"id": "a", "title": "t", "url": "x\nappUrl=y"})).contains("control characters")
        );
        assert!(
            reason(json!({"id": "a", "title": "t", "visibility": ["u1"]})).starts_with("visibility: must be")
        );
        let rejection = prepared(json!({"id": "a"})).unwrap_err();
        assert_eq!((rejection.number, rejection.id.as_deref()), (Some(7), Some("a")));
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn long_brief_is_cut_at_a_character_boundary(length in 0_usize..30_000, wide in any::<bool>()) {
            let text = if wide { "中" } else { "a" }.repeat(length);
            let prepared = prepared(json!({"id": "a", "title": "t", "text": text})).unwrap();
            let sent: Value = serde_json::from_str(prepared.json.get()).unwrap();
            let sent = sent["brief"].as_str().unwrap_or_default();
            prop_assert!(text.starts_with(sent) && sent.len() <= MAX_BRIEF_BYTES);
            prop_assert_eq!(prepared.truncated, text.len() > MAX_BRIEF_BYTES);
            prop_assert!(prepared.truncated || sent == text);
            prop_assert!(!prepared.truncated || sent.len() > MAX_BRIEF_BYTES - 4);
        }
    }
}
