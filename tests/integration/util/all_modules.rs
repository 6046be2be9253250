//! `/contents/search/all`.

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    answer::Answer,
    app::{Application, TestApp},
    caller::{Caller, send},
};

pub(crate) const PATH: &str = "/contents/search/all";
pub(crate) const HARBOUR: [(&str, &str); 1] = [("keyword", "harbour")];

pub(crate) async fn search_all(caller: &Caller, parameters: &[(&str, &str)]) -> Answer {
    send(caller.request(Method::POST, PATH).query(parameters)).await
}

#[track_caller]
pub(crate) fn module_entry<'a>(entries: &'a [Value], code: &str) -> &'a Value {
    entries
        .iter()
        .find(|entry| entry["module"]["code"] == code)
        .unwrap_or_else(|| panic!("no {code}: {entries:?}"))
}

pub(crate) fn codes(entries: &[Value]) -> Vec<&str> {
    entries.iter().map(|entry| entry["module"]["code"].as_str().unwrap()).collect()
}

/// Drops durations and the text of sealed cursors.
pub(crate) fn comparable(mut answer: Value) -> Value {
    answer["cursor"] = answer["cursor"].is_string().into();
    for source in answer["sources"].as_array_mut().unwrap() {
        source["tookMs"] = 0.into();
    }
    answer
}

pub(crate) async fn show(operator: &Caller, code: &str, order_no: i64, sources: &[&str]) {
    let module = json!({"code": code, "name": code, "type": 101, "orderNo": order_no, "sources": sources});
    operator.post("/admin/v1/modules", &module).await.ok();
}

pub(crate) async fn without_modules(app: &TestApp) -> (Application, Caller) {
    let acme = app.tenant("acme").await;
    let operator = app.operator().await.caller.on("acme");
    for module in operator.get("/admin/v1/modules").await.ok().items() {
        operator.delete(&format!("/admin/v1/modules/{}", module["id"].as_str().unwrap())).await.ok();
    }
    (acme, operator)
}
