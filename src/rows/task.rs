//! Converts a row to a to-do.

use serde_json::value::to_raw_value;
use serde_json::{Map, Value};

use super::content::BRIEF_NAMES;
use super::row::{PreparedRow, Rejection, Row, RowFields, set, truncate, visible_id};

pub(crate) const MAX_TITLE_BYTES: usize = 512;

const ID_NAMES: [&str; 2] = ["appTaskId", "id"];

/// Fields that are sent as they are.
const TEXTS: [&str; 8] = [
    "source",
    "creatorId",
    "procInstId",
    "procInstTitle",
    "procInstStatus",
    "procCreatorId",
    "procCreatorName",
    "quickDealCallback",
];

pub(crate) fn prepare(row: Row, assignee: Option<&str>) -> Result<PreparedRow, Rejection> {
    let number = row.number;
    let id = visible_id(&row.fields, &ID_NAMES);
    map(number, RowFields(row.fields), assignee).map_err(|reason| Rejection::row(number, id, reason))
}

fn map(number: u64, mut fields: RowFields, assignee: Option<&str>) -> Result<PreparedRow, String> {
    let (title, truncated) = take_title(&mut fields)?;
    let id = fields.take_id(&ID_NAMES)?;
    let mut item = Map::new();
    set(&mut item, "appTaskId", Some(id.as_str()));
    set(&mut item, "title", Some(title));
    set(&mut item, "creatorName", fields.take_text(&["creatorName", "author"])?);
    for name in TEXTS {
        set(&mut item, name, fields.take_text(&[name])?);
    }
    for name in ["appData", "tags"] {
        set(&mut item, name, fields.take_json_text(name)?);
    }
    set(&mut item, "degree", fields.take_integer("degree")?);
    set(&mut item, "quickDeal", fields.take_boolean("quickDeal")?);
    set(&mut item, "assigneeLoginId", Some(take_assignee(&mut fields, assignee)?));
    set(&mut item, "action", fields.take_action()?);
    set(&mut item, "status", take_status(&mut fields)?);
    let json = to_raw_value(&item).map_err(|error| error.to_string())?;
    Ok(PreparedRow { number, line: None, id, json, truncated, undated: false })
}

/// Takes the title, else the text's first line; whether it was cut.
fn take_title(fields: &mut RowFields) -> Result<(String, bool), String> {
    if let Some(title) = fields.take_text(&["title"])? {
        return Ok((title, false));
    }
    let text = fields.take_text(&BRIEF_NAMES)?.unwrap_or_default();
    let Some(line) = text.lines().map(str::trim).find(|line| !line.is_empty()) else {
        return Err("title: is required, or a text to take it from".to_owned());
    };
    let mut title = line.to_owned();
    let truncated = truncate(&mut title, MAX_TITLE_BYTES);
    Ok((title, truncated))
}

fn take_assignee(fields: &mut RowFields, default: Option<&str>) -> Result<String, String> {
    if let Some(login) = fields.take_text(&["assigneeLoginId", "assignee"])? {
        return Ok(login);
    }
    let first = match fields.0.remove("assignees") {
        Some(Value::Array(logins)) => logins.into_iter().next(),
        _ => None,
    };
    match (first, default) {
        (Some(Value::String(login)), _) if !login.is_empty() => Ok(login),
        (_, Some(login)) => Ok(login.to_owned()),
        _ => Err("assigneeLoginId: is required, or assignee, assignees or --assignee".to_owned()),
    }
}

fn take_status(fields: &mut RowFields) -> Result<Option<i64>, String> {
    let status = fields.take_integer("status")?;
    match status {
        None | Some(0 | 2) => Ok(status),
        Some(1 | 4 | 5) => Err("status: done items are not imported by this version (1, 4 and 5)".to_owned()),
        Some(_) => Err("status: must be 0 (to-do) or 2 (to-read)".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn prepared(fields: Value, assignee: Option<&str>) -> Result<PreparedRow, Rejection> {
        let Value::Object(fields) = fields else { panic!("not an object") };
        prepare(Row { number: 7, line: None, fields, undated: false }, assignee)
    }

    fn task(fields: Value) -> Value {
        serde_json::from_str(prepared(fields, Some("bob")).unwrap().json.get()).unwrap()
    }

    fn reason(fields: Value) -> String {
        prepared(fields, None).unwrap_err().reason
    }

    #[test]
    fn task_is_sent_without_unknown_fields() {
        let proper = json!({
            "appTaskId": "t1", "title": "T", "source": "s", "creatorId": "c", "creatorName": "C", "degree": 2,
            "procInstId": "p", "procInstTitle": "P", "procInstStatus": "pending", "procCreatorId": "pc",
            "procCreatorName": "PC", "assigneeLoginId": "ann", "appData": "{\"k\":1}", "tags": "[\"x\"]",
            "action": "{}", "quickDeal": false, "quickDealCallback": "https://x/", "status": 2,
        });
        let mut with_more = proper.clone();
        with_more["id"] = json!("not the id");
        with_more["labels"] = json!(["x"]);
        assert_eq!(task(with_more), proper);
    }

    #[test]
    fn alternative_names_fill_absent_fields() {
        assert_eq!(
            task(
                json!({"id": 5, "title": "", "text": "\n First line \nsecond", "author": "Ann", "assignees": [],
                        "appData": {"k": 1}, "tags": ["x"], "link": "http://x/"})
            ),
            json!({"appTaskId": "5", "title": "First line", "creatorName": "Ann", "assigneeLoginId": "bob",
                   "appData": "{\"k\":1}", "tags": "[\"x\"]", "action": "{\"web\":\"[OpenUrl]\\nurl=http://x/\"}"})
        );
        let row = json!({"id": 5, "title": "t", "assignees": ["ann", "eve"]});
        assert_eq!(task(row)["assigneeLoginId"], json!("ann"));
        let row = json!({"id": 5, "title": "t", "assignee": "eve", "assignees": ["ann"]});
        assert_eq!(task(row)["assigneeLoginId"], json!("eve"));
    }

    #[test]
    fn derived_title_is_cut_and_counted() {
        let prepared =
            prepared(json!({"id": "a", "text": "中".repeat(1000), "assignee": "ann"}), None).unwrap();
        let sent: Value = serde_json::from_str(prepared.json.get()).unwrap();
        assert!(prepared.truncated);
        assert_eq!(sent["title"].as_str().unwrap().len(), 510);
    }

    #[test]
    fn invalid_task_is_rejected_with_its_reason() {
        assert!(reason(json!({"id": "a", "title": "t"})).starts_with("assigneeLoginId: is required"));
        assert_eq!(reason(json!({"title": "t", "assignee": "ann"})), "appTaskId or id: is required");
        assert!(reason(json!({"id": "a", "assignee": "ann"})).starts_with("title: is required"));
        let done = reason(json!({"id": "a", "title": "t", "assignee": "ann", "status": 1}));
        assert!(done.contains("done items are not imported by this version"));
        assert!(
            reason(json!({"id": "a", "title": "t", "assignee": "ann", "status": 9})).contains("0 (to-do)")
        );
        assert!(
            reason(json!({"id": "a", "title": "t", "assignee": "ann", "quickDeal": 1}))
                .contains("true or false")
        );
        let rejection = prepared(json!({"id": 3}), None).unwrap_err();
        assert_eq!((rejection.number, rejection.id.as_deref()), (Some(7), Some("3")));
    }
}
