//! Schemas in the forms that generators of clients read without loss.
//!
//! utoipa copies the argument of a generic type into it, and describes flattened fields by nested `allOf`. Generators
//! make a type of each copy, and lose fields of `allOf`. The same values stay valid.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};
use utoipa::ToSchema as _;

use crate::http::extract::QueryInBody;

type Schemas = Map<String, Value>;

pub(super) const REFERENCE: &str = "#/components/schemas/";
pub(super) const JSON_SCHEMA: &str = "/content/application~1json/schema";

/// Keys that say nothing about which values are valid.
const ANNOTATIONS: [&str; 5] = ["default", "deprecated", "description", "readOnly", "writeOnly"];

/// Keys of an object that can be merged with another.
const OF_OBJECTS: [&str; 4] = ["description", "properties", "required", "type"];

/// Simplifies the schemas of a document.
pub(super) fn simplify(document: &mut Value) {
    visit(document, &mut remove_null_of_parameter);
    visit(document, &mut remove_empty_default);
    visit(document, &mut describe_bytes);
    visit(document, &mut describe_query_in_body);
    let schemas = document.pointer("/components/schemas").and_then(Value::as_object);
    let names: HashMap<Value, String> =
        schemas.into_iter().flatten().map(|(name, schema)| (schema.clone(), name.clone())).collect();
    for (key, part) in document.as_object_mut().into_iter().flatten() {
        match key.as_str() {
            "components" => part["schemas"].as_object_mut().into_iter().flatten().for_each(|(_, schema)| {
                refer_inside(schema, &names);
            }),
            _ => refer_inside(part, &names),
        }
    }
    let schemas = document.pointer("/components/schemas").and_then(Value::as_object);
    let schemas = schemas.cloned().unwrap_or_default();
    visit(document, &mut |node| merge_all_of(node, &schemas));
    remove_unused(document);
}

/// Calls `change` with each object, inner ones first.
pub(super) fn visit(value: &mut Value, change: &mut impl FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Array(elements) => elements.iter_mut().for_each(|element| visit(element, change)),
        Value::Object(node) => {
            node.values_mut().for_each(|inner| visit(inner, change));
            change(node);
        }
        _ => {}
    }
}

/// An optional parameter is absent, never null.
fn remove_null_of_parameter(parameter: &mut Map<String, Value>) {
    if !parameter.contains_key("in") {
        return;
    }
    let Some(Value::Object(schema)) = parameter.get_mut("schema") else { return };
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [name] = types.as_slice() {
            let name = name.clone();
            schema.insert("type".to_owned(), name);
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("oneOf") {
        choices.retain(|choice| choice["type"] != "null");
        if let [Value::Object(only)] = choices.as_mut_slice() {
            let only = std::mem::take(only);
            schema.remove("oneOf");
            schema.extend(only);
        }
    }
}

/// Derived from Rust, it stands for an absent value; generators would require the field.
fn remove_empty_default(schema: &mut Map<String, Value>) {
    let empty = [Value::Null, "".into(), json!([]), json!({})];
    if schema.get("default").is_some_and(|default| empty.contains(default)) {
        schema.remove("default");
    }
}

/// Bytes are no array of numbers.
fn describe_bytes(node: &mut Map<String, Value>) {
    let bytes = json!({"type": "array", "items": {"type": "integer", "format": "int32", "minimum": 0}});
    for (_, content) in node.get_mut("content").and_then(Value::as_object_mut).into_iter().flatten() {
        if content["schema"] == bytes {
            content["schema"] = json!({"type": "string", "format": "binary"});
        }
    }
}

/// Removes named schemas without a reference, such as merged ones.
fn remove_unused(document: &mut Value) {
    loop {
        let mut used = HashSet::new();
        visit(document, &mut |node| {
            let reference = node.get("$ref").and_then(Value::as_str);
            used.extend(reference.and_then(|reference| reference.strip_prefix(REFERENCE)).map(str::to_owned));
        });
        let Some(Value::Object(schemas)) = document.pointer_mut("/components/schemas") else { return };
        let before = schemas.len();
        schemas.retain(|name, _| used.contains(name));
        if schemas.len() == before {
            return;
        }
    }
}

/// Describes a [`QueryInBody`] by the operation's parameters, of which the query needs none.
fn describe_query_in_body(operation: &mut Map<String, Value>) {
    let marker = reference(&QueryInBody::name());
    let has_marker = |body: &Value| body.pointer(JSON_SCHEMA) == Some(&marker);
    if !operation.get("requestBody").is_some_and(has_marker) {
        return;
    }
    let mut fields = Map::new();
    for parameter in operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten() {
        if let ("query", Some(name)) =
            (parameter["in"].as_str().unwrap_or_default(), parameter["name"].as_str())
        {
            let mut field = parameter["schema"].clone();
            field["description"] = parameter["description"].clone();
            fields.insert(name.to_owned(), field);
            parameter["required"] = false.into();
        }
    }
    if let Some(body) = operation.get_mut("requestBody") {
        body["required"] = false.into();
        if let Some(schema) = body.pointer_mut(JSON_SCHEMA) {
            *schema = json!({"type": "object", "properties": fields});
        }
    }
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("{REFERENCE}{name}")})
}

/// Replaces copies of named schemas inside a value by references.
fn refer_inside(value: &mut Value, names: &HashMap<Value, String>) {
    let inner: Vec<&mut Value> = match value {
        Value::Array(elements) => elements.iter_mut().collect(),
        Value::Object(node) => node.values_mut().collect(),
        _ => return,
    };
    for value in inner {
        match names.get(value).filter(|_| value.is_object()) {
            Some(name) => *value = reference(name),
            None => refer_inside(value, names),
        }
    }
}

/// Merges the parts of `allOf` where they are one schema with annotations, or objects.
fn merge_all_of(node: &mut Map<String, Value>, schemas: &Schemas) {
    let Some(Value::Array(parts)) = node.get("allOf") else { return };
    let merged = match parts.iter().filter(|part| !is_annotation(part)).collect::<Vec<_>>().as_slice() {
        [only] => only.as_object().cloned(),
        _ => merge_objects(parts, schemas),
    };
    let Some(merged) = merged else { return };
    let annotations = parts.iter().filter(|part| is_annotation(part)).filter_map(Value::as_object).cloned();
    let annotations: Vec<_> = annotations.flatten().filter(|(key, _)| key != "type").collect();
    node.remove("allOf");
    for (key, value) in annotations.into_iter().chain(merged) {
        node.entry(key).or_insert(value);
    }
}

/// utoipa gives annotations the type of an object, whatever they belong to.
fn is_annotation(part: &Value) -> bool {
    let annotates = |(key, value): (&String, &Value)| {
        ANNOTATIONS.contains(&key.as_str()) || key == "type" && value == "object"
    };
    part.as_object().is_some_and(|part| part.iter().all(annotates))
}

/// Later fields win, as in structs that flatten others. `None` if a part is no object with fields alone.
fn merge_objects(parts: &[Value], schemas: &Schemas) -> Option<Map<String, Value>> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for part in parts {
        let referred = part["$ref"].as_str().map(|reference| schemas.get(reference.strip_prefix(REFERENCE)?));
        let mut part = referred.unwrap_or(Some(part))?.clone();
        visit(&mut part, &mut |node| merge_all_of(node, schemas));
        let Value::Object(mut part) = part else { return None };
        let has_fields_alone = part.keys().all(|key| OF_OBJECTS.contains(&key.as_str()));
        if !has_fields_alone || part.get("type")? != "object" {
            return None;
        }
        if let Some(Value::Object(fields)) = part.remove("properties") {
            properties.extend(fields);
        }
        if let Some(Value::Array(names)) = part.remove("required") {
            required.extend(names);
        }
    }
    required.sort_unstable_by(|one: &Value, other| one.as_str().cmp(&other.as_str()));
    required.dedup();
    let mut merged =
        Map::from_iter([("type".to_owned(), "object".into()), ("properties".to_owned(), properties.into())]);
    if !required.is_empty() {
        merged.insert("required".to_owned(), required.into());
    }
    Some(merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simplified(schemas: &Value, paths: &Value) -> Value {
        let used: Vec<Value> =
            schemas.as_object().into_iter().flatten().map(|(name, _)| reference(name)).collect();
        let mut document = json!({"components": {"schemas": schemas}, "paths": paths, "used": used});
        simplify(&mut document);
        document
    }

    fn text(description: &str) -> Value {
        json!({"type": "string", "description": description})
    }

    #[test]
    fn flattened_fields_become_one_object() {
        let base = json!({"type": "object", "required": ["id"], "properties": {"id": text("Base"), "name": text("Base")}});
        let own = json!({"type": "object", "required": ["name"], "properties": {"name": text("Own")}});
        let inner = json!({"allOf": [{"$ref": "#/components/schemas/Base"}, own], "description": "Inner"});
        let outer = json!({"allOf": [inner, {"type": "object", "properties": {"more": text("More")}}]});
        let document = simplified(&json!({"Base": base, "Inner": inner, "Outer": outer}), &json!({}));
        let expected = json!({
            "type": "object", "required": ["id", "name"],
            "properties": {"id": text("Base"), "name": text("Own"), "more": text("More")},
        });
        assert_eq!(document["components"]["schemas"]["Outer"], expected);
        assert_eq!(document["components"]["schemas"]["Inner"]["description"], "Inner");
    }

    #[test]
    fn annotations_of_a_part_stand_beside_it() {
        let order = json!({"type": "string", "enum": ["time"], "description": "Inner"});
        let schema = json!({"allOf": [order, {"type": "object", "default": "time"}], "description": "Outer"});
        let document = simplified(&json!({}), &json!({"/": {"schema": schema}}));
        let expected = json!({"type": "string", "enum": ["time"], "default": "time", "description": "Outer"});
        assert_eq!(document["paths"]["/"]["schema"], expected);
    }

    #[test]
    fn parts_that_are_no_objects_stay() {
        let choice = json!({"oneOf": [text("One"), {"type": "object"}]});
        let kept = json!({"allOf": [choice, {"type": "object", "properties": {"id": text("Id")}}]});
        let document = simplified(&json!({"Kept": kept}), &json!({}));
        assert_eq!(document["components"]["schemas"]["Kept"], kept);
    }

    #[test]
    fn copies_refer_to_the_named_schema() {
        let item = json!({"type": "object", "properties": {"id": text("Id")}});
        let data = json!({"allOf": [item, {"description": "Result."}]});
        let list =
            json!({"type": "object", "properties": {"data": data, "all": {"type": "array", "items": item}}});
        let document = simplified(&json!({"Item": item, "List": list}), &json!({"/": {"schema": item}}));
        let reference = json!({"$ref": "#/components/schemas/Item"});
        let fields = &document["components"]["schemas"]["List"]["properties"];
        assert_eq!(document["components"]["schemas"]["Item"], item);
        assert_eq!((&fields["all"]["items"], &document["paths"]["/"]["schema"]), (&reference, &reference));
        assert_eq!(fields["data"], json!({"$ref": reference["$ref"], "description": "Result."}));
    }

    #[test]
    fn optional_parameter_is_never_null() {
        let of = |schema: Value| json!({"name": "limit", "in": "query", "schema": schema});
        let parameters = [
            (json!({"type": ["integer", "null"], "minimum": 1}), json!({"type": "integer", "minimum": 1})),
            (
                json!({"oneOf": [{"type": "null"}, {"type": "string", "enum": ["a"]}]}),
                json!({"type": "string", "enum": ["a"]}),
            ),
            (json!({"type": ["integer", "string", "null"]}), json!({"type": ["integer", "string"]})),
        ];
        for (given, expected) in parameters {
            let document = simplified(&json!({}), &json!({"/": {"get": {"parameters": [of(given)]}}}));
            assert_eq!(document["paths"]["/"]["get"]["parameters"][0], of(expected));
        }
    }
}
