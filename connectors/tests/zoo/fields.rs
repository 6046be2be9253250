//! Faults of fields; envelope and pages are right.

use std::sync::atomic::Ordering;

use axum::response::Response;
use futures::FutureExt;
use serde_json::{Value, json};

use super::fault::{Act, Fault};
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
        Fault::partly(
            "id-empty",
            "item-id",
            "`id` is empty",
            Act::Page(|_, page| {
                if let Some(first) = page["data"].get_mut(0) {
                    first["id"] = json!("");
                }
            }),
        ),
        Fault::partly(
            "id-missing",
            "item-id",
            "`id` is missing",
            Act::Page(|_, page| page["data"].get_mut(0).into_iter().for_each(|first| remove(first, "id"))),
        ),
        Fault::slip(
            "id-a-number",
            "item-id",
            "`id` is a number",
            Act::Item(|item| item["id"] = number(item).into()),
        ),
        Fault::unusable(
            "id-of-600-bytes",
            "item-id",
            "`id` is longer",
            Act::Item(|item| item["id"] = format!("{:0>600}", number(item)).into()),
        ),
        Fault::partly(
            "ids-are-places-on-the-page",
            "item-id-stable",
            "repeat an id",
            Act::Page(|_, page| {
                for (place, item) in page["data"].as_array_mut().unwrap().iter_mut().enumerate() {
                    item["id"] = format!("faulty-{place:02}").into();
                }
            }),
        ),
        Fault::unseen(
            "ids-new-at-each-call",
            "item-id-stable",
            Act::Search(|call| number_the_calls(call).boxed()),
        ),
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
        Fault::slip(
            "title-a-number",
            "item-title",
            "`title` is not text",
            Act::Item(|item| item["title"] = number(item).into()),
        ),
        Fault::unseen("title-missing", "item-title", Act::Item(|item| remove(item, "title"))),
        Fault::slip(
            "title-and-brief-missing",
            "item-title",
            "`title` is missing, and `brief` too",
            Act::Item(|item| {
                remove(item, "title");
                remove(item, "brief");
            }),
        ),
        Fault::slip(
            "subtitle-an-object",
            "item-text",
            "`subTitle` is not text",
            Act::Item(|item| item["subTitle"] = json!({"zh": "港口", "en": "harbour"})),
        ),
        Fault::slip(
            "author-a-number",
            "item-text",
            "`author` is not text",
            Act::Item(|item| item["author"] = number(item).into()),
        ),
        Fault::slip(
            "title-of-100-kb",
            "item-bounds",
            "`title` is too long",
            Act::Page(|_, page| {
                if let Some(first) = page["data"].get_mut(0) {
                    first["title"] = "long ".repeat(20_000).into();
                }
            }),
        ),
        Fault::slip(
            "image-of-20-kb",
            "item-bounds",
            "`image` is too long",
            Act::Item(|item| item["image"] = format!("data:image/png;base64,{}", "A".repeat(20_000)).into()),
        ),
    ]
}

fn time(item: &Value) -> i64 {
    item["displayTime"].as_i64().unwrap()
}

fn times() -> Vec<Fault> {
    vec![
        Fault::unusable(
            "time-a-date",
            "item-display-time",
            "`displayTime` is not an integer",
            Act::Item(|item| item["displayTime"] = json!("2024-01-01 12:00:00")),
        ),
        Fault::unusable(
            "time-missing",
            "item-display-time",
            "`displayTime` is missing",
            Act::Item(|item| remove(item, "displayTime")),
        ),
        Fault::unusable(
            "time-with-a-fraction",
            "item-display-time",
            "`displayTime` is not an integer",
            Act::Item(|item| {
                item["displayTime"] = serde_json::from_str(&format!("{}.5", time(item))).unwrap();
            }),
        ),
        Fault::slip(
            "time-as-text",
            "item-display-time",
            "`displayTime` is text",
            Act::Item(|item| item["displayTime"] = time(item).to_string().into()),
        ),
        Fault::unseen(
            "time-in-seconds",
            "item-display-time-plausible",
            Act::Item(|item| item["displayTime"] = (time(item) / 1_000).into()),
        ),
        Fault::unseen(
            "time-in-microseconds",
            "item-display-time-plausible",
            Act::Item(|item| item["displayTime"] = (time(item) * 1_000).into()),
        ),
    ]
}

fn actions() -> Vec<Fault> {
    vec![
        Fault::slip(
            "action-an-address",
            "item-action",
            "`action`",
            Act::Item(|item| item["action"] = json!("https://papers.example/1")),
        ),
        Fault::slip(
            "action-an-object",
            "item-action",
            "`action` is an object",
            Act::Item(|item| item["action"] = json!({"web": "[OpenUrl]\nurl=https://papers.example/1"})),
        ),
        Fault::slip(
            "action-without-its-tag",
            "item-action",
            "`action`",
            Act::Item(|item| item["action"] = json!(r#"{"web": "https://papers.example/1"}"#)),
        ),
    ]
}
