//! Faults of the envelope; the rows are right.

use serde_json::{Value, json};

use super::fault::{Act, Fault};

pub(super) fn faults() -> Vec<Fault> {
    let mut faults = codes();
    faults.extend(data());
    faults.extend(counts());
    faults.extend(cursors());
    faults
}

fn remove(page: &mut Value, field: &str) {
    page.as_object_mut().unwrap().remove(field);
}

fn codes() -> Vec<Fault> {
    vec![
        Fault::failing(
            "code-500",
            "code",
            ("error", "out of order"),
            Act::Page(|_, page| *page = json!({"code": 500, "message": "out of order", "data": null})),
        ),
        Fault::failing("code-0", "code", ("error", "code 0"), Act::Page(|_, page| page["code"] = json!(0))),
        Fault::slip("code-missing", "code", "`code` is missing", Act::Page(|_, page| remove(page, "code"))),
        Fault::slip(
            "code-as-text",
            "code",
            "`code` is text",
            Act::Page(|_, page| page["code"] = json!("200")),
        ),
        Fault::unusable("code-true", "code", "`code`", Act::Page(|_, page| page["code"] = json!(true))),
        Fault::slip("message-ok", "message", "`message`", Act::Page(|_, page| page["message"] = json!("OK"))),
    ]
}

fn data() -> Vec<Fault> {
    vec![
        Fault::unusable(
            "data-null",
            "data",
            "`data` is null",
            Act::Page(|_, page| page["data"] = json!(null)),
        ),
        Fault::unusable(
            "data-missing",
            "data",
            "`data` is missing",
            Act::Page(|_, page| remove(page, "data")),
        ),
        Fault::unusable(
            "data-an-object",
            "data",
            "`data` is an object",
            Act::Page(|_, page| page["data"] = json!({"list": page["data"].take()})),
        ),
        Fault::unusable(
            "data-as-text",
            "data",
            "`data` is text",
            Act::Page(|_, page| page["data"] = page["data"].to_string().into()),
        ),
    ]
}

fn number(page: &Value, field: &str) -> i64 {
    page[field].as_i64().unwrap()
}

fn counts() -> Vec<Fault> {
    vec![
        Fault::slip(
            "count-off-by-one",
            "count",
            "`count` is",
            Act::Page(|_, page| page["count"] = json!(number(page, "count") + 1)),
        ),
        Fault::slip(
            "count-missing",
            "count",
            "`count` is missing",
            Act::Page(|_, page| remove(page, "count")),
        ),
        Fault::slip(
            "count-as-text",
            "count",
            "`count` is text",
            Act::Page(|_, page| page["count"] = number(page, "count").to_string().into()),
        ),
        // An empty page cannot have fewer.
        Fault::slip(
            "total-below-count",
            "total",
            "`total` is",
            Act::Page(|_, page| page["total"] = json!((number(page, "count") - 1).max(0))),
        ),
        Fault::unseen(
            "total-of-the-page",
            "total",
            Act::Page(|_, page| page["total"] = page["count"].clone()),
        ),
        Fault::slip(
            "total-as-text",
            "total",
            "`total` is text",
            Act::Page(|_, page| page["total"] = number(page, "total").to_string().into()),
        ),
        Fault::slip(
            "total-missing",
            "total",
            "`total` is missing",
            Act::Page(|_, page| remove(page, "total")),
        ),
        Fault::slip(
            "total-unknown-as-minus-one",
            "total",
            "`total` is not a count",
            Act::Page(|_, page| page["total"] = json!(-1)),
        ),
    ]
}

/// `paging` has the others.
fn cursors() -> Vec<Fault> {
    vec![
        Fault::unseen(
            "cursor-empty-at-the-end",
            "cursor",
            Act::Page(|_, page| {
                if page["cursor"].is_null() {
                    page["cursor"] = json!("");
                }
            }),
        ),
        Fault::partly(
            "cursor-an-object",
            "cursor",
            "`cursor` is an object",
            Act::Page(|_, page| page["cursor"] = json!({"next": page["cursor"].take()})),
        ),
    ]
}
