//! Arbitrary answers: no panic, linear work, bounded items, and no text of the body in messages.

use std::collections::HashSet;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use trawl_connectors::{
    Answer, ContentItem, DEFAULT_MAX_BODY_BYTES, MAX_CURSOR_BYTES, SourceError, bounds, parse_answer,
};

const LIMIT: usize = 3;
/// Part of every text of a body except its `message`.
const CANARY: &str = "kqzx";
const ENVELOPE: [&str; 6] = ["code", "message", "data", "total", "count", "cursor"];
const ITEM: [&str; 10] = [
    "id",
    "title",
    "subTitle",
    "brief",
    "image",
    "author",
    "displayTime",
    "action",
    "attachInfo",
    "attachDescription",
];

fn is_unfit(character: char) -> bool {
    character.is_control() || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn check_text(text: Option<&String>, bound: usize, lines: bool) {
    let unfit = |character| is_unfit(character) && !(lines && matches!(character, '\n' | '\t'));
    if let Some(text) = text {
        assert!(!text.is_empty() && text.len() <= bound && !text.contains(unfit), "{text:?}");
    }
}

fn check_item(item: &ContentItem) {
    assert!(item.id.len() <= bounds::ID && !item.id.is_empty() && !item.id.contains(char::is_control));
    check_text(Some(&item.title).filter(|title| !title.is_empty()), bounds::TITLE, false);
    check_text(item.sub_title.as_ref(), bounds::SUB_TITLE, true);
    check_text(item.brief.as_ref(), bounds::BRIEF, true);
    check_text(item.image.as_ref(), bounds::IMAGE, false);
    check_text(item.author.as_ref(), bounds::AUTHOR, false);
    check_text(item.action.as_ref(), bounds::ACTION, false);
    check_text(item.attach_info.as_ref(), bounds::ATTACH_INFO, true);
    check_text(item.attach_description.as_ref(), bounds::ATTACH_DESCRIPTION, false);
    if let Some(action) = &item.action {
        assert!(serde_json::from_str::<Map<String, Value>>(action).is_ok(), "{action:?}");
    }
}

fn check_remark(text: &str) {
    assert!(!text.contains(is_unfit) && !text.contains(CANARY), "{text:?}");
}

fn read(body: &[u8]) -> Result<Answer, SourceError> {
    let outcome = parse_answer(body, None, LIMIT);
    match &outcome {
        Ok(answer) => {
            // One object is the envelope.
            let objects = body.split(|byte| *byte == b'{').skip(2).count();
            assert!(answer.items.len() <= objects);
            let ids: HashSet<&str> = answer.items.iter().map(|item| item.id.as_str()).collect();
            assert_eq!(ids.len(), answer.items.len());
            answer.items.iter().for_each(check_item);
            let cursor = answer.cursor.as_deref();
            assert!(cursor.is_none_or(|cursor| !cursor.is_empty() && cursor.len() <= MAX_CURSOR_BYTES));
            answer.notes.iter().chain(&answer.broken).for_each(|text| check_remark(text));
            assert!(answer.notes.len() < 50);
        }
        Err(SourceError::Invalid(text)) => check_remark(text),
        Err(SourceError::Failed(text)) => {
            assert!(!text.contains(is_unfit), "{text:?}");
            let (_, said) = text.split_once(": ").unwrap_or_default();
            assert!(said.chars().count() <= 200);
        }
        Err(other) => panic!("{other:?}"),
    }
    outcome
}

fn is_a_known_remark(text: &str) -> bool {
    let text: String = text.chars().filter(|character| !character.is_ascii_digit()).collect();
    let kinds = ["null", "a boolean", "a number", "text", "an array", "an object"];
    let unreadable = [
        "empty",
        "an HTML page",
        "XML or HTML",
        "UTF-, not UTF-",
        "not UTF- text",
        "not JSON",
        "JSON that is cut off at line  column ",
        "JSON that is faulty at line  column ",
    ];
    text == "`data` is missing"
        || kinds.iter().any(|kind| {
            text == format!("the answer is {kind}, not the envelope object")
                || text == format!("`data` is {kind}, not an array")
                || text == format!("`code` is {kind}, not an integer")
        })
        || unreadable.iter().any(|kind| text == format!("the answer is {kind} (no content type)"))
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let json = prop::sample::select(&br#"{}[]":,\ud8dce0123+-.tfn <"#[..]);
    prop_oneof![vec(any::<u8>(), 0..200), vec(json, 0..60)]
}

/// Every field in its documented form.
fn good_answer() -> Value {
    let item = |number| {
        json!({
            "id": format!("{CANARY}-{number}"), "title": CANARY, "subTitle": CANARY, "brief": "kqzx\nkqzx",
            "image": "https://kqzx.example/i.png", "author": CANARY, "displayTime": 1_700_000_000_000_i64 - number,
            "action": r#"{"web":"[OpenUrl]\nurl=/kqzx"}"#, "attachInfo": CANARY, "attachDescription": CANARY
        })
    };
    let data: Vec<Value> = (0..3).map(item).collect();
    json!({"code": 200, "message": null, "data": data, "total": 9, "count": 3, "cursor": CANARY})
}

#[derive(Clone, Debug)]
struct Place {
    item: Option<usize>,
    name: &'static str,
}

impl Place {
    fn object<'a>(&self, body: &'a mut Value) -> Option<&'a mut Map<String, Value>> {
        match self.item {
            None => body.as_object_mut(),
            Some(item) => body.get_mut("data")?.get_mut(item)?.as_object_mut(),
        }
    }
}

fn any_place() -> impl Strategy<Value = Place> {
    prop_oneof![
        prop::sample::select(&ENVELOPE[..]).prop_map(|name| Place { item: None, name }),
        (0usize..3, prop::sample::select(&ITEM[..]))
            .prop_map(|(item, name)| Place { item: Some(item), name }),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(|value| json!(value)),
        any::<i64>().prop_map(|value| json!(value)),
        any::<f64>().prop_map(|value| json!(value)),
        Just(json!(u64::MAX)),
        ".{0,40}".prop_map(|text| json!(format!("{CANARY}{text}"))),
        (1usize..3_000, "[a搜\u{0}\u{1b}\u{202e}\u{2028}\n😀]{1,4}")
            .prop_map(|(times, text)| json!(format!("{CANARY}{}", text.repeat(times)))),
        Just(json!([CANARY, [CANARY]])),
        Just(json!({CANARY: {CANARY: CANARY}})),
        Just(json!("")),
    ]
}

fn any_raw() -> impl Strategy<Value = String> {
    let fixed = [
        r#""kqzx\ud83d""#,
        r#""\ude00\ud83dkqzx""#,
        r#""\ud83d\ud83d\ude00""#,
        r#""\u0000\u001b\u202e""#,
        "1e999",
        "-0",
        "-1e-999",
        "5.0",
        "1.7e12",
        "0x10",
        "NaN",
        "nul",
        "",
        "'kqzx'",
        "\"kqzx",
        "\"\n\"",
        r#""\x""#,
        "{}}",
    ];
    prop_oneof![
        prop::sample::select(fixed.to_vec()).prop_map(str::to_owned),
        (1usize..400).prop_map(|digits| "9".repeat(digits)),
        (1usize..300).prop_map(|depth| "[".repeat(depth) + &"]".repeat(depth)),
        (1usize..300).prop_map(|depth| r#"{"kqzx":"#.repeat(depth) + "1" + &"}".repeat(depth)),
    ]
}

#[derive(Clone, Debug)]
enum Damage {
    Drop(Place),
    Retype(Place, Value),
    Raw(Place, String),
    /// A second field of the name, before the first.
    Duplicate(Place, Value),
    RepeatItem(usize, usize),
}

fn any_damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        any_place().prop_map(Damage::Drop),
        (any_place(), any_value()).prop_map(|(place, value)| Damage::Retype(place, value)),
        (any_place(), any_raw()).prop_map(|(place, raw)| Damage::Raw(place, raw)),
        (any_place(), any_value()).prop_map(|(place, value)| Damage::Duplicate(place, value)),
        (0usize..3, 1usize..40).prop_map(|(item, times)| Damage::RepeatItem(item, times)),
    ]
}

#[derive(Clone, Debug)]
enum Cut {
    Flip(usize, u8),
    Insert(usize, Vec<u8>),
    Truncate(usize),
}

fn any_cut() -> impl Strategy<Value = Cut> {
    prop_oneof![
        (any::<usize>(), 1u8..).prop_map(|(place, bits)| Cut::Flip(place, bits)),
        (any::<usize>(), any_bytes()).prop_map(|(place, bytes)| Cut::Insert(place, bytes)),
        any::<usize>().prop_map(Cut::Truncate),
    ]
}

fn write_damaged(damages: &[Damage], cuts: &[Cut]) -> Vec<u8> {
    let mut body = good_answer();
    let mut raws = Vec::new();
    for damage in damages {
        let mut put = |place: &Place, name: String, value: Value| {
            if let Some(object) = place.object(&mut body) {
                object.insert(name, value);
            }
        };
        match damage {
            Damage::Drop(place) => {
                place.object(&mut body).map(|object| object.remove(place.name));
            }
            Damage::Retype(place, value) => put(place, place.name.to_owned(), value.clone()),
            Damage::Raw(place, raw) => {
                let mark = format!("@{}@", raws.len());
                put(place, place.name.to_owned(), json!(mark));
                raws.push((json!(mark).to_string(), raw.clone()));
            }
            Damage::Duplicate(place, value) => {
                let mark = format!("@{}@", raws.len());
                put(place, mark.clone(), value.clone());
                raws.push((json!(mark).to_string(), json!(place.name).to_string()));
            }
            Damage::RepeatItem(item, times) => {
                if let Some(data) = body.get_mut("data").and_then(Value::as_array_mut)
                    && let Some(item) = data.get(*item).cloned()
                {
                    data.extend(std::iter::repeat_n(item, *times));
                }
            }
        }
    }
    let text = raws.iter().fold(body.to_string(), |text, (mark, raw)| text.replace(mark, raw));
    let mut bytes = text.into_bytes();
    for cut in cuts {
        match cut {
            Cut::Flip(place, bits) => {
                let place = place % bytes.len().max(1);
                bytes.iter_mut().skip(place).take(1).for_each(|byte| *byte ^= bits);
            }
            Cut::Insert(place, inserted) => {
                let place = place % (bytes.len() + 1);
                bytes.splice(place..place, inserted.iter().copied());
            }
            Cut::Truncate(place) => bytes.truncate(place % (bytes.len() + 1)),
        }
    }
    bytes
}

proptest! {
    #![proptest_config(trawl_seeds::cases(20_000))]

    #[test]
    fn arbitrary_bytes_are_refused_in_fixed_words(body in any_bytes()) {
        if let Err(SourceError::Invalid(text)) = read(&body) {
            prop_assert!(is_a_known_remark(&text), "{text}");
        }
    }
}

proptest! {
    #![proptest_config(trawl_seeds::cases(5_000))]

    #[test]
    fn damaged_answer_stays_within_bounds(damages in vec(any_damage(), 0..4), cuts in vec(any_cut(), 0..2)) {
        let _ = read(&write_damaged(&damages, &cuts));
    }
}

#[test]
fn good_answer_has_no_breaks() {
    let answer = read(&write_damaged(&[], &[])).unwrap();
    assert_eq!((answer.items.len(), answer.broken), (3, None));
    assert_eq!(answer.notes, ["the answer has no content type"]);
}

#[test]
fn error_quotes_only_the_sources_message() {
    let mut body = good_answer();
    body["code"] = json!(500);
    body["message"] = json!("no index\u{202e} see https://host/?key=1");
    let error = read(body.to_string().as_bytes()).unwrap_err();
    assert_eq!(error, SourceError::Failed("the source answered with code 500: no index see …".to_owned()));
}

/// Superlinear work would not end in time.
#[test]
fn largest_bodies_are_parsed_in_linear_time() {
    let fill = |unit: &str| unit.repeat(DEFAULT_MAX_BODY_BYTES / unit.len());
    let page = |unit: &str| format!(r#"{{"code":200,"data":[{}1]}}"#, fill(&format!("{unit},")));
    let texts = |unit: &str| {
        format!(r#"{{"code":200,"data":[{{"id":"a","displayTime":1,"title":"{}"}}]}}"#, fill(unit))
    };
    for (unit, body) in
        ["\\", "\"", "[", "{", r#"{"a":"#, " ", "9", r#""\ud83d"#].map(|unit| (unit, fill(unit)))
    {
        assert!(read(body.as_bytes()).is_err(), "{unit}");
    }
    for unit in ["1", "[]", "{}", r#"{"id":"a","displayTime":1}"#, r#"{"id":1,"displayTime":"1","action":7}"#]
    {
        let refused = read(page(unit).as_bytes()).unwrap_err();
        assert_eq!(refused.to_string(), "the answer holds more than 100000 values", "{unit}");
        let most = vec![unit; 100_000 / 4 - 1].join(",");
        let answer = read(format!(r#"{{"code":200,"data":[{most}]}}"#).as_bytes()).unwrap();
        assert!(answer.items.len() <= 1 && answer.broken.is_some(), "{unit}");
    }
    for unit in [r"\ud83d", r"\u0000", "\u{202e}", "a", "搜"] {
        let answer = read(texts(unit).as_bytes()).unwrap();
        assert!(answer.items[0].title.len() <= bounds::TITLE, "{unit}");
    }
}
