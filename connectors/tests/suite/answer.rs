use proptest::collection::btree_map;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};
use trawl_connectors::{Answer, ContentItem, MAX_CURSOR_BYTES, SourceError, bounds, parse_answer};

use crate::support::page;

const CONTENT_TYPE: Option<&str> = Some("application/json;charset=UTF-8");

fn parse(body: &Value) -> Result<Answer, SourceError> {
    parse_answer(body.to_string().as_bytes(), CONTENT_TYPE, 10)
}

fn parse_item(changes: &Value) -> Answer {
    let mut body = page(1);
    for (name, value) in changes.as_object().unwrap() {
        body["data"][0][name] = value.clone();
    }
    parse(&body).unwrap()
}

fn invalid(body: &[u8], content_type: Option<&str>) -> String {
    match parse_answer(body, content_type, 10) {
        Err(SourceError::Invalid(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn good_answer_has_no_notes() {
    let mut body = page(2);
    body["cursor"] = json!("page-2");
    body["total"] = json!(57);
    body["data"][0] = json!({
        "id": "a", "title": "T", "subTitle": "S", "brief": "B\n\tb", "image": "I", "author": "A", "displayTime": 5,
        "action": "{\"pc\":\"[OpenUrl]\\nurl=u\"}", "attachInfo": "F", "attachDescription": "D", "unknown": {"x": 1}
    });
    let answer = parse(&body).unwrap();
    assert_eq!((answer.total, answer.cursor.as_deref()), (Some(57), Some("page-2")));
    assert_eq!((answer.notes.len(), &answer.broken), (0, &None));
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        answer.items[0],
        ContentItem {
            id: "a".into(),
            title: "T".into(),
            sub_title: text("S"),
            brief: text("B\n\tb"),
            image: text("I"),
            author: text("A"),
            display_time: 5,
            action: text("{\"pc\":\"[OpenUrl]\\nurl=u\"}"),
            attach_info: text("F"),
            attach_description: text("D"),
        }
    );
}

#[test]
fn item_is_camel_case_without_absent_fields() {
    let item = &parse_item(&json!({"subTitle": "S", "attachInfo": "F"})).items[0];
    assert_eq!(
        serde_json::to_value(item).unwrap(),
        json!({"id": "i0", "title": "Budget", "subTitle": "S", "displayTime": 1_700_000_000_000_i64, "attachInfo": "F"})
    );
}

#[test]
fn last_cursor_is_null_empty_or_absent() {
    for cursor in [Value::Null, json!("")] {
        let mut body = page(1);
        body["cursor"] = cursor;
        assert_eq!(parse(&body).unwrap().cursor, None);
    }
    let mut body = page(1);
    body.as_object_mut().unwrap().remove("cursor");
    assert_eq!(parse(&body), parse(&page(1)));
}

#[test]
fn other_code_fails_with_the_sources_message() {
    let failed =
        |code: Value, message: Value| parse(&json!({"code": code, "message": message, "data": null}));
    let error = |text: &str| Err(SourceError::Failed(text.to_owned()));
    assert_eq!(
        failed(json!(500), json!("no\u{7}\nindex")),
        error("the source answered with code 500: no index")
    );
    assert_eq!(failed(json!("403"), Value::Null), error("the source answered with code 403"));
    let Err(SourceError::Failed(long)) = failed(json!(0), json!("长".repeat(1_000))) else { panic!() };
    assert_eq!(long.matches('长').count(), 200);
    assert!(matches!(failed(json!("ok"), Value::Null), Err(SourceError::Invalid(_))));
}

#[test]
fn invalid_envelope_is_reported() {
    assert_eq!(invalid(b"[]", CONTENT_TYPE), "the answer is an array, not the envelope object");
    assert_eq!(invalid(br#"{"code":200}"#, CONTENT_TYPE), "`data` is missing");
    assert_eq!(invalid(br#"{"code":200,"data":null}"#, CONTENT_TYPE), "`data` is null, not an array");
    assert_eq!(invalid(br#"{"code":200,"data":{}}"#, CONTENT_TYPE), "`data` is an object, not an array");
}

#[test]
fn invalid_json_is_reported_with_its_content_type() {
    let html = Some("text/html");
    assert_eq!(
        invalid(b" \n<!DOCTYPE html><p>", html),
        "the answer is an HTML page (content type text/html)"
    );
    assert_eq!(invalid(b"<?xml version='1.0'?>", None), "the answer is XML or HTML (no content type)");
    assert!(invalid(b"", CONTENT_TYPE).starts_with("the answer is empty"));
    assert!(invalid(b"busy", CONTENT_TYPE).starts_with("the answer is not JSON"));
    assert!(invalid(br#"{"data":["#, CONTENT_TYPE).starts_with("the answer is JSON that is cut off"));
    assert!(
        invalid(br#"{"data":]}"#, CONTENT_TYPE).starts_with("the answer is JSON that is faulty at line 1")
    );
    let nested = format!(r#"{{"data":{}{}}}"#, "[".repeat(64), "]".repeat(64));
    assert_eq!(
        invalid(nested.as_bytes(), CONTENT_TYPE),
        "the answer must be nested at most 64 levels deep (line 1 is deeper)"
    );
    assert!(invalid(b"{\"data\":\"\xff\"}", CONTENT_TYPE).starts_with("the answer is not UTF-8 text"));
    assert!(invalid(b"\xff\xfe{\0}\0", CONTENT_TYPE).starts_with("the answer is UTF-16"));
}

#[test]
fn slips_that_harm_no_row_are_notes() {
    let noted = |change: fn(&mut Value)| {
        let mut body = page(2);
        change(&mut body);
        let answer = parse(&body).unwrap();
        assert_eq!((answer.items.len(), answer.broken), (2, None));
        let [note] = &answer.notes[..] else { panic!("{:?}", answer.notes) };
        note.clone()
    };
    assert_eq!(noted(|body| body["count"] = json!(10)), "`count` is 10 where 2 items were sent");
    assert_eq!(noted(|body| body["total"] = json!(1)), "`total` is 1 where 2 items were sent");
    assert_eq!(noted(|body| body["total"] = json!("2")), "`total` is text, not an integer");
    assert_eq!(noted(|body| body["total"] = json!(-1)), "`total` is not a count");
    assert_eq!(noted(|body| body["total"] = Value::Null), "`total` is missing");
    assert_eq!(noted(|body| body["code"] = Value::Null), "`code` is missing");
    assert_eq!(noted(|body| body["code"] = json!("200")), "`code` is text, not an integer");
    assert_eq!(noted(|body| body["message"] = json!("ok")), "`message` is not null although `code` is 200");
    assert_eq!(noted(|body| body["cursor"] = json!(2)), "`cursor` is a number, not text");
}

#[test]
fn content_types_and_byte_order_marks_are_notes() {
    let notes = |prefix: &[u8], content_type| {
        let body = [prefix, page(1).to_string().as_bytes()].concat();
        parse_answer(&body, content_type, 10).unwrap().notes
    };
    for good in ["application/json", "Application/JSON; charset=utf-8", "application/json;charset=\"UTF8\""] {
        assert_eq!(notes(b"", Some(good)), [""; 0], "{good}");
    }
    assert_eq!(notes(b"", None), ["the answer has no content type"]);
    let expected = "the content type is text/plain, not application/json;charset=UTF-8";
    assert_eq!(notes(b"", Some("text/plain")), [expected]);
    assert_eq!(notes(b"", Some("application/json;charset=GBK")).len(), 1);
    assert_eq!(notes(b"\xef\xbb\xbf", CONTENT_TYPE), ["the answer begins with a byte order mark"]);
}

#[test]
fn unreadable_items_are_dropped_and_counted() {
    let mut body = page(6);
    body["data"][1]["id"] = json!("");
    body["data"][2]["displayTime"] = json!("2024-01-01");
    body["data"][3]["displayTime"] = json!(1.5);
    body["data"][4] = json!("text");
    let answer = parse(&body).unwrap();
    let ids: Vec<&str> = answer.items.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, ["i0", "i5"]);
    assert_eq!(
        answer.broken.unwrap(),
        "4 of 6 items are unreadable: `id` is empty (1 ×, first in data[1]), \
         `displayTime` is not an integer (2 ×, first in data[2]), \
         `data` holds something that is not an object (1 ×, first in data[4])"
    );
}

#[test]
fn item_with_an_unusable_id_is_dropped() {
    for id in [Value::Null, json!("a\nb"), json!("x".repeat(bounds::ID + 1)), json!(["a"])] {
        let answer = parse_item(&json!({ "id": id }));
        assert!(answer.items.is_empty() && answer.broken.is_some(), "{id}");
    }
    let numbered = parse_item(&json!({"id": 12_345_678_901_u64}));
    assert_eq!((numbered.items[0].id.as_str(), numbered.notes.len()), ("12345678901", 1));
}

#[test]
fn surplus_items_are_kept_and_reported() {
    let answer = parse(&page(12)).unwrap();
    assert_eq!(answer.items.len(), 12);
    assert_eq!(answer.broken.unwrap(), "12 items were sent where 10 were asked for");
}

#[test]
fn first_item_of_a_repeated_id_stays() {
    let mut body = page(4);
    body["data"][2]["id"] = json!("i0");
    body["data"][2]["title"] = json!("later");
    let answer = parse(&body).unwrap();
    let ids: Vec<&str> = answer.items.iter().map(|item| item.id.as_str()).collect();
    assert_eq!((ids, answer.items[0].title.as_str()), (vec!["i0", "i1", "i3"], "Budget"));
    assert_eq!(answer.broken.unwrap(), "1 of 4 items repeat an id of the page");
}

#[test]
fn unusable_cursor_ends_the_paging() {
    for cursor in [json!({"page": 2}), json!(true), json!("x".repeat(MAX_CURSOR_BYTES + 1))] {
        let mut body = page(1);
        body["cursor"] = cursor;
        let answer = parse(&body).unwrap();
        assert_eq!((answer.items.len(), answer.cursor), (1, None));
        assert!(answer.broken.unwrap().starts_with("`cursor` is "));
    }
}

#[test]
fn invalid_action_is_left_out() {
    let action = |value: Value| {
        let mut answer = parse_item(&json!({ "action": value }));
        (answer.items[0].action.take(), answer.notes.pop())
    };
    let good = json!({"pc": "[OpenUrl]\nurl=https://x.example/1"});
    assert_eq!(action(json!(good.to_string())), (Some(good.to_string()), None));
    // Pretty-printed JSON holds line breaks.
    assert_eq!(action(json!(format!("{good:#}"))), (Some(good.to_string()), None));
    let as_object = "`action` is an object, not text holding one (1 ×, first in data[0])";
    assert_eq!(action(good.clone()), (Some(good.to_string()), Some(as_object.to_owned())));
    assert_eq!(action(json!("")), (None, None));
    let other = json!({"pc": "[OpenApp]"});
    for (bad, what) in [
        (json!("javascript:alert(1)"), "does not hold a JSON object and was left out"),
        (json!("[1]"), "does not hold a JSON object and was left out"),
        (json!("{\"a\":"), "does not hold a JSON object and was left out"),
        (json!(7), "does not hold a JSON object and was left out"),
        (json!("x".repeat(9_000)), "is too long and was left out"),
        (json!(r#"{"a": 1}"#), "holds a value that is not text and was left out"),
        (json!(other.to_string()), "has no `appCode=` and `appUrl=` lines after [OpenApp] and was left out"),
    ] {
        let note = format!("`action` {what} (1 ×, first in data[0])");
        assert_eq!(action(bad.clone()), (None, Some(note)), "{bad}");
    }
}

#[test]
fn texts_are_bounded_and_cleaned() {
    let answer = parse_item(&json!({
        "title": "搜".repeat(1_000), "brief": "a\r\nb\u{0}\tc", "author": "A\nB\u{202e}", "image": "x".repeat(9_000),
        "subTitle": 7, "attachInfo": ["x"], "attachDescription": null
    }));
    let item = &answer.items[0];
    assert_eq!(item.title.chars().count(), bounds::TITLE / 3);
    assert_eq!(item.brief.as_deref(), Some("a\nb\tc"));
    assert_eq!((item.author.as_deref(), item.sub_title.as_deref()), (Some("A B"), Some("7")));
    assert_eq!((&item.image, &item.attach_info, &item.attach_description), (&None, &None, &None));
    assert_eq!(answer.notes.len(), 4, "{:?}", answer.notes);
    assert_eq!(answer.broken, None);
}

#[test]
fn lone_surrogate_costs_no_row() {
    let body = page(2).to_string().replacen("Budget", r"Budget \ud83d", 1);
    let answer = parse_answer(body.as_bytes(), CONTENT_TYPE, 10).unwrap();
    assert_eq!((answer.items[0].title.as_str(), answer.items.len()), ("Budget \u{fffd}", 2));
    assert_eq!(answer.notes, ["texts hold half characters (a surrogate without its pair)"]);
}

fn any_text(bound: usize) -> impl Strategy<Value = String> {
    proptest::string::string_regex(&format!(
        "[^\\p{{Cc}}\u{2028}-\u{202e}\u{2066}-\u{2069}]{{1,{}}}",
        (bound / 4).min(12)
    ))
    .unwrap()
}

prop_compose! {
    fn any_item()(
        title in any_text(bounds::TITLE),
        sub_title in option::of(any_text(bounds::SUB_TITLE)),
        brief in option::of(any_text(bounds::BRIEF)),
        author in option::of(any_text(bounds::AUTHOR)),
        // Fifty days of 1970 are read as seconds.
        display_time in any::<i32>().prop_filter("no seconds", |time| !(100_000..4_294_968).contains(time)),
        action in option::of(any_text(20).prop_map(|text| text.replace(['\\', '/'], "-"))),
    ) -> ContentItem {
        ContentItem {
            id: String::new(), title, sub_title, brief, image: None, author,
            display_time: i64::from(display_time) * 1_000,
            action: action.map(|text| json!({ "pc": format!("[OpenUrl]\nurl=/{text}") }).to_string()),
            attach_info: None, attach_description: None,
        }
    }
}

fn any_items() -> impl Strategy<Value = Vec<ContentItem>> {
    let id = prop_oneof![any::<u32>().prop_map(|id| id.to_string()), any_text(bounds::ID)];
    btree_map(id, any_item(), 0..8)
        .prop_map(|items| items.into_iter().map(|(id, item)| ContentItem { id, ..item }).collect())
}

fn loosen(body: &mut Value, ways: [bool; 6]) {
    let [text_numbers, number_ids, objects, nulls, extras, floats] = ways;
    if text_numbers {
        for name in ["code", "total", "count"] {
            body[name] = json!(body[name].to_string());
        }
    }
    for item in body["data"].as_array_mut().unwrap() {
        let id: Option<u32> = item["id"].as_str().unwrap().parse().ok();
        if let (true, Some(id)) = (number_ids, id.filter(|id| item["id"] == json!(id.to_string()))) {
            item["id"] = json!(id);
        }
        if let (true, Some(action)) = (objects, item["action"].as_str()) {
            item["action"] = serde_json::from_str(action).unwrap();
        }
        if nulls {
            for name in ["image", "attachInfo", "attachDescription"] {
                item[name] = Value::Null;
            }
        }
        if extras {
            item["score"] = json!({"deep": [1, 2, {}]});
        }
        if floats {
            #[expect(clippy::cast_precision_loss, reason = "within 2^53")]
            let time = item["displayTime"].as_i64().unwrap() as f64;
            item["displayTime"] = json!(time);
        } else if text_numbers {
            item["displayTime"] = json!(item["displayTime"].to_string());
        }
    }
}

proptest! {
    #![proptest_config(trawl_seeds::cases(256))]

    #[test]
    fn lenient_spellings_give_the_same_items(
        items in any_items(), total in 10u64..1_000, cursor in option::of("[a-z0-9]{1,8}"), ways in any::<[bool; 6]>(),
    ) {
        let mut body = json!({
            "code": 200, "message": null, "data": items, "total": total, "count": items.len(), "cursor": cursor
        });
        let exact = parse(&body).unwrap();
        prop_assert_eq!(&exact, &Answer { items, total: Some(total), cursor, ..Answer::default() });
        loosen(&mut body, ways);
        let loose = parse(&body).unwrap();
        prop_assert_eq!(Answer { notes: vec![], ..loose }, exact);
    }
}
