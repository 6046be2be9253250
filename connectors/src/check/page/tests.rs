use serde_json::json;

use super::*;

const NOW: i64 = 1_800_000_000_000;

fn good() -> Value {
    json!({
        "code": 200, "message": null, "count": 1, "total": 7, "cursor": "next",
        "data": [{
            "id": "a", "title": "Budget", "displayTime": NOW, "brief": null,
            "action": "{\"web\":\"[OpenUrl]\\nurl=https://example.com/a\"}",
        }],
    })
}

fn read(body: &[u8]) -> Assessment {
    let content_type = Some("application/json;charset=UTF-8".to_owned());
    let body = body.to_vec();
    assess(&Reply { status: 200, content_type, body, incomplete: None, faults: Vec::new() }, Some(1), NOW)
}

fn broken_by(change: impl FnOnce(&mut Value)) -> Vec<ContractClause> {
    let mut answer = good();
    change(&mut answer);
    read(answer.to_string().as_bytes()).broken.into_iter().map(|(clause, _)| clause).collect()
}

#[test]
fn good_answer_keeps_every_clause() {
    let assessment = read(good().to_string().as_bytes());
    assert_eq!(assessment.broken, []);
    let page = assessment.page.unwrap();
    assert_eq!((page.total, page.cursor.as_deref()), (Some(7), Some("next")));
    assert_eq!((page.rows[0].id.as_str(), page.rows[0].display_time), ("\"a\"", Some(NOW)));
}

#[test]
fn each_violation_breaks_its_own_clause() {
    type Change = fn(&mut Value);
    let cases: [(ContractClause, Change); 26] = [
        (ContractClause::Code, |answer| answer["code"] = json!("200")),
        (ContractClause::Code, |answer| answer["code"] = json!(500)),
        (ContractClause::Message, |answer| answer["message"] = json!("OK")),
        (ContractClause::Data, |answer| answer["data"] = json!(null)),
        (ContractClause::Count, |answer| answer["count"] = json!(2)),
        (ContractClause::Count, |answer| answer["count"] = json!(1.0)),
        (ContractClause::Total, |answer| answer["total"] = json!(0)),
        (ContractClause::Total, |answer| answer["total"] = json!("7")),
        (ContractClause::Cursor, |answer| answer["cursor"] = json!(2)),
        (ContractClause::Cursor, |answer| answer["cursor"] = json!("")),
        (ContractClause::Cursor, |answer| answer["cursor"] = json!("c".repeat(5000))),
        (ContractClause::ItemId, |answer| answer["data"][0]["id"] = json!("")),
        (ContractClause::ItemId, |answer| answer["data"][0]["id"] = json!(5)),
        (ContractClause::ItemId, |answer| answer["data"][0]["id"] = json!("a\u{7}")),
        (ContractClause::ItemTitle, |answer| answer["data"][0]["title"] = json!(5)),
        (ContractClause::ItemTitle, |answer| answer["data"][0]["title"] = json!("")),
        (ContractClause::ItemText, |answer| answer["data"][0]["subTitle"] = json!({})),
        (ContractClause::ItemBounds, |answer| answer["data"][0]["title"] = json!("x".repeat(100_000))),
        (ContractClause::ItemDisplayTime, |answer| answer["data"][0]["displayTime"] = json!("2026-01-01")),
        (ContractClause::ItemDisplayTime, |answer| answer["data"][0]["displayTime"] = json!(null)),
        (ContractClause::ItemDisplayTimePlausible, |answer| {
            answer["data"][0]["displayTime"] = json!(NOW / 1000);
        }),
        (ContractClause::ItemDisplayTimePlausible, |answer| {
            answer["data"][0]["displayTime"] = json!(NOW * 1000);
        }),
        (ContractClause::ItemDisplayTimePlausible, |answer| answer["data"][0]["displayTime"] = json!(0)),
        (ContractClause::ItemAction, |answer| answer["data"][0]["action"] = json!("https://example.com")),
        (ContractClause::ItemAction, |answer| answer["data"][0]["action"] = json!({"web": "x"})),
        (ContractClause::Envelope, |answer| *answer = json!([answer])),
    ];
    for (clause, change) in cases {
        assert_eq!(broken_by(change), [clause]);
    }
}

#[test]
fn old_dates_are_milliseconds_too() {
    let broken = |time: i64| broken_by(|answer| answer["data"][0]["displayTime"] = json!(time));
    for time in [157_766_400_000, -157_766_400_000, -19_565_000_000_000, NOW + FURTHEST_AHEAD] {
        assert_eq!(broken(time), [], "{time}");
    }
    for time in [0, -62_135_596_800_000, i64::MIN, 157_766_400, -1, NOW + FURTHEST_AHEAD + 1, i64::MAX] {
        assert_eq!(broken(time), [ContractClause::ItemDisplayTimePlausible], "{time}");
    }
}

#[test]
fn body_with_too_many_values_is_not_parsed() {
    let rows = |times: usize| vec!["{\"id\":1}"; times].join(",");
    let body = |times| format!("{{\"code\":200,\"data\":[{}]}}", rows(times)).into_bytes();
    assert_eq!(
        read(&body(200_000)).broken,
        [(ContractClause::Size, "the body holds more than 100000 values".into())]
    );
    assert_eq!(read(&body(40_000)).page.unwrap().rows.len(), MAX_ROWS);
}

#[test]
fn repeated_and_surplus_rows_are_reported() {
    let broken = broken_by(|answer| {
        let item = answer["data"][0].clone();
        answer["data"] = json!([item, item]);
        answer["count"] = json!(2);
    });
    assert_eq!(broken, [ContractClause::Limit, ContractClause::ItemIdUnique]);
}

#[test]
fn invalid_json_breaks_the_right_clause() {
    let first = |body: &[u8]| read(body).broken.remove(0).0;
    assert_eq!(first(b"{\"data\": [\"caf\xe9\"]}"), ContractClause::Utf8);
    assert_eq!(first(b"{\"code\": 200,"), ContractClause::Json);
    assert_eq!(first(b""), ContractClause::Json);
    let marked = [BYTE_ORDER_MARK, good().to_string().as_bytes()].concat();
    let assessment = read(&marked);
    assert_eq!(assessment.broken.len(), 1);
    assert_eq!(assessment.broken[0].0, ContractClause::Utf8);
    assert!(assessment.page.is_some());
}

#[test]
fn content_types_are_read_part_by_part() {
    let broken = |content_type: Option<&str>| {
        let body = good().to_string().into_bytes();
        let reply = Reply {
            status: 200,
            content_type: content_type.map(str::to_owned),
            body,
            incomplete: None,
            faults: Vec::new(),
        };
        assess(&reply, Some(1), NOW).broken.into_iter().map(|(clause, _)| clause).collect::<Vec<_>>()
    };
    assert_eq!(broken(Some("application/json; charset=\"utf-8\"")), []);
    assert_eq!(broken(Some("application/json")), [], "a note");
    assert_eq!(broken(Some("application/json;charset=GBK")), [ContractClause::Charset]);
    assert_eq!(broken(Some("text/html;charset=UTF-8")), [ContractClause::ContentType]);
    assert_eq!(broken(None), [ContractClause::ContentType]);
}
