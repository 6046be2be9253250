use serde_json::{Value, json};

use super::*;
use crate::error::Kind;

fn task(quick_deal: Option<bool>, callback: Option<&str>) -> Task {
    Task {
        app_task_id: "a1".to_owned(),
        title: "批准".to_owned(),
        assignee_login_id: "mei".to_owned(),
        degree: Some(2),
        quick_deal,
        quick_deal_callback: callback.map(str::to_owned),
        status: Some(2),
        ..Task::default()
    }
}

const CALLBACK: Option<&str> = Some("https://app.example/handled");

#[test]
fn quick_deal_requires_open_task_with_support() {
    for status in TaskStatus::ALL {
        let handling = Handling::check(status, task(Some(false), CALLBACK));
        let target = match status {
            TaskStatus::ToDo => TaskStatus::Done,
            TaskStatus::ToRead => TaskStatus::Read,
            _ => {
                let refusal = handling.unwrap_err();
                assert_eq!(refusal.kind, Kind::Conflict);
                assert!(refusal.message.contains(status.name()), "{}", refusal.message);
                continue;
            }
        };
        let handling = handling.unwrap();
        assert_eq!((handling.target, handling.callback.as_str()), (target, CALLBACK.unwrap()));
        assert_eq!(handling.task.status, Some(status.number()));
    }
    for (quick_deal, callback, named) in [
        (Some(true), CALLBACK, "quickDeal:"),
        (None, CALLBACK, "quickDeal:"),
        (Some(false), None, "quickDealCallback:"),
        (Some(false), Some(""), "quickDealCallback:"),
    ] {
        let refusal = Handling::check(TaskStatus::ToRead, task(quick_deal, callback)).unwrap_err();
        assert_eq!(refusal.kind, Kind::Conflict);
        assert!(refusal.message.starts_with(named), "{}", refusal.message);
    }
}

#[test]
fn callback_body_has_task_fields_handler_and_time() {
    let task = task(Some(false), CALLBACK);
    let info =
        TaskInfo { task: &task, id: "t1", handler_login_id: "mei@acme", handled_at: 1_700_000_000_123 };
    let told: Value = serde_json::to_value(&info).unwrap();
    let expected = json!({
        "appTaskId": "a1", "title": "批准", "assigneeLoginId": "mei", "degree": 2, "quickDeal": false,
        "quickDealCallback": CALLBACK, "status": 2, "id": "t1", "handlerLoginId": "mei@acme",
        "handledAt": 1_700_000_000_123_i64,
    });
    assert_eq!(told, expected);
    assert_eq!(info.delivery(), "t1-1700000000123");
}

#[test]
fn signature_is_hmac_sha256_over_time_and_body() {
    let signed = sign(&"schlüssel".into(), 1_700_000_000, "{\"title\":\"批准\"}".as_bytes());
    let code = "eba0d80a80ab3515e66dba9413a78ea8b8922eff7c4ceb32a7c70599640ec184";
    assert_eq!(signed, format!("t=1700000000,v1={code}"));
    let code = "c5009ac9fb219943cae5947bf5ea45251fc6f7bb84976c7a02e94799d5d100a9";
    assert_eq!(sign(&"Jefe".into(), 1, b""), format!("t=1,v1={code}"));
}
