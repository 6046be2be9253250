//! Faults of the envelope; the rows are right. `paging` has further faults of cursors.

use serde_json::{Value, json};

use super::fault::Fault;

pub(super) fn faults() -> Vec<Fault> {
    vec![
        Fault::page("code-500", "code", |_, page| {
            *page = json!({"code": 500, "message": "out of order", "data": null});
        })
        .failing("error", "out of order"),
        Fault::page("code-0", "code", |_, page| page["code"] = json!(0)).failing("error", "code 0"),
        Fault::page("code-missing", "code", |_, page| remove(page, "code")).noted("`code` is missing"),
        Fault::page("code-as-text", "code", |_, page| page["code"] = json!("200")).noted("`code` is text"),
        Fault::page("code-true", "code", |_, page| page["code"] = json!(true)).unusable("`code`"),
        Fault::page("message-ok", "message", |_, page| page["message"] = json!("OK")).noted("`message`"),
        Fault::page("data-null", "data", |_, page| page["data"] = json!(null)).unusable("`data` is null"),
        Fault::page("data-missing", "data", |_, page| remove(page, "data")).unusable("`data` is missing"),
        Fault::page("data-an-object", "data", |_, page| page["data"] = json!({"list": page["data"].take()}))
            .unusable("`data` is an object"),
        Fault::page("data-as-text", "data", |_, page| page["data"] = page["data"].to_string().into())
            .unusable("`data` is text"),
        Fault::page("count-off-by-one", "count", |_, page| page["count"] = json!(number(page, "count") + 1))
            .noted("`count` is"),
        Fault::page("count-missing", "count", |_, page| remove(page, "count")).noted("`count` is missing"),
        Fault::page("count-as-text", "count", |_, page| {
            page["count"] = number(page, "count").to_string().into();
        })
        .noted("`count` is text"),
        // An empty page cannot have fewer.
        Fault::page("total-below-count", "total", |_, page| {
            page["total"] = json!((number(page, "count") - 1).max(0));
        })
        .noted("`total` is"),
        Fault::page("total-of-the-page", "total", |_, page| page["total"] = page["count"].clone()),
        Fault::page("total-as-text", "total", |_, page| {
            page["total"] = number(page, "total").to_string().into();
        })
        .noted("`total` is text"),
        Fault::page("total-missing", "total", |_, page| remove(page, "total")).noted("`total` is missing"),
        Fault::page("total-unknown-as-minus-one", "total", |_, page| page["total"] = json!(-1))
            .noted("`total` is not a count"),
        Fault::page("cursor-empty-at-the-end", "cursor", |_, page| {
            if page["cursor"].is_null() {
                page["cursor"] = json!("");
            }
        }),
        Fault::page("cursor-an-object", "cursor", |_, page| {
            page["cursor"] = json!({"next": page["cursor"].take()});
        })
        .partly("`cursor` is an object"),
    ]
}

fn remove(page: &mut Value, field: &str) {
    page.as_object_mut().unwrap().remove(field);
}

fn number(page: &Value, field: &str) -> i64 {
    page[field].as_i64().unwrap()
}
