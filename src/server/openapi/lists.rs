//! The maximum lengths of lists in request bodies.

use serde_json::{Map, Value, json};

use super::simplification::{JSON_SCHEMA, REFERENCE, visit};
use crate::{
    config::Limits,
    json::{BATCH_SCHEMA, LIST_SCHEMA},
    server::routes::rules,
};

type Schemas = Map<String, Value>;

/// Describes lists where they stand, with the maxima that the settings tell.
pub(super) fn describe_lists(document: &mut Value, limits: &Limits) {
    for rule in rules() {
        let path = rule.path.replace('/', "~1");
        let place = format!("/paths/{path}/{}/requestBody{JSON_SCHEMA}", rule.method.to_lowercase());
        if let Some(schema) = document.pointer_mut(&place).filter(|schema| schema["type"] == "array") {
            schema["maxItems"] = rule.body.most_items(limits).into();
        }
    }
    let lists = take_lists(document, limits);
    // Items of lists hold lists, too.
    for _ in 0..2 {
        visit(document, &mut |node| insert_list(node, &lists));
    }
}

/// Takes the schemas of lists out of the named ones.
fn take_lists(document: &mut Value, limits: &Limits) -> Schemas {
    let Some(Value::Object(schemas)) = document.pointer_mut("/components/schemas") else {
        return Map::new();
    };
    let (lists, others) =
        std::mem::take(schemas).into_iter().partition(|(name, _)| name.starts_with(LIST_SCHEMA));
    *schemas = others;
    let mut lists: Schemas = lists;
    for (name, list) in &mut lists {
        if name.starts_with(BATCH_SCHEMA) {
            list["maxItems"] = limits.batch_items.into();
        }
    }
    lists
}

/// Replaces a reference to a list by the list.
///
/// A choice between a list and null becomes a list of both types.
fn insert_list(node: &mut Map<String, Value>, lists: &Schemas) {
    let name = node.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix(REFERENCE));
    if let Some(Value::Object(list)) = name.and_then(|name| lists.get(name)) {
        node.remove("$ref");
        node.extend(list.clone());
    }
    let Some(Value::Array(choices)) = node.get_mut("oneOf") else { return };
    if choices.iter().any(|choice| *choice == json!({"type": "null"}))
        && let Some(place) = choices.iter().position(|choice| choice.get("maxItems").is_some())
        && choices.len() == 2
        && let Value::Object(list) = choices.swap_remove(place)
    {
        node.remove("oneOf");
        node.extend(list);
        node.insert("type".to_owned(), json!(["array", "null"]));
    }
}
