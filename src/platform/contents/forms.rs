//! Rules of content items.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use trawl_connectors::{check_action_addresses, check_picture, clean_line, clean_lines, grouped, times};

use crate::{
    identity::principals::{department_principal, group_principal, user_principal},
    json::{self, BoundedList},
    platform::shared::patch::check_id,
    rows::content::MAX_TITLE_BYTES,
};

const BRIEF_BYTES: usize = 64 << 10;
const OTHER_BYTES: usize = 8 << 10;
const VISIBILITY_IDS: usize = 10_000;

/// Modules and the endpoints they have of their own.
const OWNED_MODULES: [(&str, &str); 8] = [
    ("todo", "POST /api/todo/create and /api/todo/batch_create"),
    ("done", "POST /api/done/create and /api/done/batch_create"),
    ("people", "PUT /v1/users/sync"),
    ("department", "PUT /v1/organizations/sync"),
    ("group", "POST /v1/groups"),
    ("file", "POST /v1/stream/upload"),
    ("favorite", "POST /v1/favorites"),
    ("message", "the group robots' webhook"),
];

/// Endpoint of a module outside `PUT /v1/contents/{moduleCode}`.
pub fn owning_endpoint(module: &str) -> Option<&'static str> {
    OWNED_MODULES.iter().find(|(code, _)| *code == module).map(|(_, endpoint)| *endpoint)
}

/// Viewers: any listed user, department with descendants or group; nobody if empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(default)]
pub struct Visibility {
    /// User ids on the synchronising side.
    #[serde(deserialize_with = "json::or_default")]
    pub users: BoundedList<String, { VISIBILITY_IDS }>,
    /// Department ids on the synchronising side.
    #[serde(deserialize_with = "json::or_default")]
    pub departments: BoundedList<String, { VISIBILITY_IDS }>,
    /// Group ids.
    #[serde(deserialize_with = "json::or_default")]
    pub groups: BoundedList<String, { VISIBILITY_IDS }>,
}

impl Visibility {
    /// Refuses more ids than an item may name.
    pub fn check(&self) -> Result<(), String> {
        let named = self.users.len() + self.departments.len() + self.groups.len();
        if named > VISIBILITY_IDS {
            let (most, named) = (grouped(VISIBILITY_IDS), grouped(named));
            return Err(format!("visibility: must name at most {most} ids, not {named}"));
        }
        Ok(())
    }

    /// Listed principals.
    pub fn principals(&self) -> Vec<String> {
        let users = self.users.iter().map(|id| user_principal(id));
        let departments = self.departments.iter().map(|id| department_principal(id));
        let groups = self.groups.iter().map(|id| group_principal(id));
        users.chain(departments).chain(groups).collect()
    }
}

/// Content item to store. JSON omits id, time and visibility, which have columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Content {
    /// Content id, unique in the module.
    #[serde(skip_serializing_if = "json::is_in_a_column")]
    #[schema(required)]
    pub id: String,
    /// Epoch milliseconds; the creation time if absent.
    #[serde(skip_serializing_if = "json::is_in_a_column")]
    pub display_time: Option<i64>,
    /// Viewers; the whole tenant if absent.
    #[serde(skip_serializing_if = "json::is_in_a_column", deserialize_with = "json::object")]
    pub visibility: Option<Visibility>,
    /// Title; may be empty beside a `brief`.
    pub title: Option<String>,
    /// Subtitle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_title: Option<String>,
    /// Summary, or the whole text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brief: Option<String>,
    /// Icon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Author.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Click-handling action: a JSON object in a string, keyed by client kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Additional information.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attach_info: Option<String>,
    /// Description of the additional information.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attach_description: Option<String>,
}

/// Failure of one batch item, shaped like a sync failure entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct ItemFailure {
    /// Item id; empty if missing.
    pub id: String,
    /// Wrong field and the expected value.
    pub message: String,
}

/// Valid items and failures; the last duplicate wins.
pub fn read_batch<'a>(items: impl IntoIterator<Item = &'a RawValue>) -> (Vec<Content>, Vec<ItemFailure>) {
    let mut contents: Vec<Content> = Vec::new();
    let mut places = HashMap::new();
    let mut failures = Vec::new();
    for raw in items {
        match read_item(raw) {
            Ok(item) => {
                if let Some(&place) = places.get(&item.id) {
                    contents[place] = item;
                } else {
                    places.insert(item.id.clone(), contents.len());
                    contents.push(item);
                }
            }
            Err(message) => failures.push(ItemFailure { id: json::field_as_text(raw, "id"), message }),
        }
    }
    (contents, failures)
}

fn read_item(raw: &RawValue) -> Result<Content, String> {
    checked(json::read_object(raw.get().as_bytes())?)
}

/// Cleans the texts, and refuses what no item may hold.
pub(in crate::platform) fn checked(item: Content) -> Result<Content, String> {
    let item = Content {
        title: item.title.map(clean_line),
        sub_title: item.sub_title.map(clean_lines),
        brief: item.brief.map(clean_lines),
        author: item.author.map(clean_line),
        attach_info: item.attach_info.map(clean_lines),
        attach_description: item.attach_description.map(clean_line),
        ..item
    };
    check(&item).map(|()| item)
}

fn check(item: &Content) -> Result<(), String> {
    check_id(&item.id)?;
    if item.display_time.is_some_and(|time| !times::BOUNDS.contains(&time)) {
        let (first, last) = times::BOUNDS.into_inner();
        return Err(format!("displayTime: must be epoch milliseconds, {first} to {last}"));
    }
    item.visibility.as_ref().map_or(Ok(()), Visibility::check)?;
    let bounded = [
        ("title", &item.title, MAX_TITLE_BYTES),
        ("subTitle", &item.sub_title, OTHER_BYTES),
        ("brief", &item.brief, BRIEF_BYTES),
        ("image", &item.image, OTHER_BYTES),
        ("author", &item.author, OTHER_BYTES),
        ("action", &item.action, OTHER_BYTES),
        ("attachInfo", &item.attach_info, OTHER_BYTES),
        ("attachDescription", &item.attach_description, OTHER_BYTES),
    ];
    for (name, text, most) in bounded {
        if text.as_ref().is_some_and(|text| text.len() > most) {
            return Err(format!("{name}: must be at most {} bytes of UTF-8", grouped(most)));
        }
    }
    let blank = |text: &Option<String>| text.as_deref().is_none_or(|text| text.trim().is_empty());
    if blank(&item.title) && blank(&item.brief) {
        return Err("title: must not be empty where brief is empty too".to_owned());
    }
    if let Some(action) = item.action.as_deref().filter(|action| !action.is_empty())
        && serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(action).is_err()
    {
        return Err("action: must be a JSON object in a string, keyed by client kind".to_owned());
    }
    let addresses = [
        ("action", item.action.as_deref().map(check_action_addresses)),
        ("image", item.image.as_deref().map(check_picture)),
    ];
    for (name, checked) in addresses {
        if let Some(Err(fault)) = checked {
            return Err(format!(
                "{name}: must lead to http, https, an app's own scheme or a path of this server; this one {fault}"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Content, String> {
        read_item(&RawValue::from_string(json.to_owned()).unwrap())
    }

    #[test]
    fn an_item_needs_an_id_and_a_text() {
        assert_eq!(read(r#"{"id":"1","title":"","brief":"b"}"#).unwrap().brief.as_deref(), Some("b"));
        assert!(read(r#"{"id":"1","title":" ","brief":null}"#).unwrap_err().starts_with("title:"));
        assert!(read(r#"{"title":"t"}"#).unwrap_err().starts_with("id:"));
        assert!(read(r#"{"id":"","title":"t"}"#).unwrap_err().starts_with("id:"));
        assert!(read("{\"id\":\"a\\u0000b\",\"title\":\"t\"}").unwrap_err().starts_with("id:"));
    }
}
