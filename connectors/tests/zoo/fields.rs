//! Faults of fields; envelope and pages are right.

use std::sync::atomic::Ordering;

use axum::response::Response;
use futures::FutureExt;
use serde_json::{Value, json};

use super::fault::Fault;
use super::layer::{Call, send_json};

pub(super) fn faults() -> Vec<Fault> {
    let mut faults = ids();
    faults.extend(texts());
    faults.extend(times());
    faults.extend(actions());
    faults
}

fn remove(item: &mut Value, field: &str) {
    item.as_object_mut().unwrap().remove(field);
}

fn number(item: &Value) -> u64 {
    item["id"].as_str().and_then(|id| id.rsplit('-').next()).unwrap().parse().unwrap()
}

fn ids() -> Vec<Fault> {
    vec![
        Fault::page("id-empty", "item-id", |_, page| {
            if let Some(first) = page["data"].get_mut(0) {
                first["id"] = json!("");
            }
        })
        .partly("`id` is empty"),
        Fault::page("id-missing", "item-id", |_, page| {
            page["data"].get_mut(0).into_iter().for_each(|first| remove(first, "id"));
        })
        .partly("`id` is missing"),
        Fault::item("id-a-number", "item-id", |item| item["id"] = number(item).into())
            .noted("`id` is a number"),
        Fault::item("id-of-600-bytes", "item-id", |item| {
            item["id"] = format!("{:0>600}", number(item)).into();
        })
        .unusable("`id` is longer"),
        Fault::page("ids-are-places-on-the-page", "item-id-stable", |_, page| {
            for (place, item) in page["data"].as_array_mut().unwrap().iter_mut().enumerate() {
                item["id"] = format!("faulty-{place:02}").into();
            }
        })
        .partly("repeat an id"),
        Fault::search("ids-new-at-each-call", "item-id-stable", |call| number_the_calls(call).boxed()),
    ]
}

/// Counts down to keep the order.
async fn number_the_calls(Call { request, reference, state, .. }: Call) -> Response {
    let mut page = match reference.page(&request).await {
        Ok(page) => page,
        Err(refusal) => return refusal,
    };
    let left = usize::MAX - state.calls.fetch_add(1, Ordering::SeqCst);
    for item in page["data"].as_array_mut().unwrap() {
        item["id"] = format!("{}/{left}", item["id"].as_str().unwrap()).into();
    }
    send_json(page.to_string())
}

fn texts() -> Vec<Fault> {
    vec![
        Fault::item("title-a-number", "item-title", |item| item["title"] = number(item).into())
            .noted("`title` is not text"),
        Fault::item("title-missing", "item-title", |item| remove(item, "title")).noted("`title` is missing"),
        Fault::item("title-and-brief-missing", "item-title", |item| {
            remove(item, "title");
            remove(item, "brief");
        })
        .noted("`title` is missing, and `brief` too"),
        Fault::item("subtitle-an-object", "item-text", |item| {
            item["subTitle"] = json!({"zh": "港口", "en": "harbour"});
        })
        .noted("`subTitle` is not text"),
        Fault::item("author-a-number", "item-text", |item| item["author"] = number(item).into())
            .noted("`author` is not text"),
        Fault::page("title-of-100-kb", "item-bounds", |_, page| {
            if let Some(first) = page["data"].get_mut(0) {
                first["title"] = "long ".repeat(20_000).into();
            }
        })
        .noted("`title` is too long"),
        Fault::item("image-of-20-kb", "item-bounds", |item| {
            item["image"] = format!("data:image/png;base64,{}", "A".repeat(20_000)).into();
        })
        .noted("`image` is too long"),
    ]
}

fn time(item: &Value) -> i64 {
    item["displayTime"].as_i64().unwrap()
}

fn times() -> Vec<Fault> {
    vec![
        Fault::item("time-a-date", "item-display-time", |item| {
            item["displayTime"] = json!("2024-01-01 12:00:00");
        })
        .unusable("`displayTime` is not an integer"),
        Fault::item("time-missing", "item-display-time", |item| remove(item, "displayTime"))
            .unusable("`displayTime` is missing"),
        Fault::item("time-with-a-fraction", "item-display-time", |item| {
            item["displayTime"] = serde_json::from_str(&format!("{}.5", time(item))).unwrap();
        })
        .unusable("`displayTime` is not an integer"),
        Fault::item("time-as-text", "item-display-time", |item| {
            item["displayTime"] = time(item).to_string().into();
        })
        .noted("`displayTime` is text"),
        Fault::item("time-in-seconds", "item-display-time-plausible", |item| {
            item["displayTime"] = (time(item) / 1_000).into();
        })
        .noted("`displayTime` is in seconds"),
        Fault::item("time-in-microseconds", "item-display-time-plausible", |item| {
            item["displayTime"] = (time(item) * 1_000).into();
        })
        .noted("`displayTime` is in microseconds"),
    ]
}

fn actions() -> Vec<Fault> {
    vec![
        Fault::item("action-an-address", "item-action", |item| {
            item["action"] = json!("https://papers.example/1");
        })
        .noted("`action`"),
        Fault::item("action-an-object", "item-action", |item| {
            item["action"] = json!({"web": "[OpenUrl]\nurl=https://papers.example/1"});
        })
        .noted("`action` is an object"),
        Fault::item("action-without-its-tag", "item-action", |item| {
            item["action"] = json!(r#"{"web": "https://papers.example/1"}"#);
        })
        .noted("`action`"),
    ]
}
