use std::collections::BTreeMap;

use serde::Deserialize;

use super::*;
use crate::gallery::gallery;
use crate::mapping::{AnswerMapping, RequestMapping};

const KEYWORD: &str = r#"harbour "plan""#;

fn variables(cursor: Option<&str>) -> Variables {
    Variables {
        person: None,
        keyword: KEYWORD.to_owned(),
        limit: 2,
        cursor: cursor.map(str::to_owned),
        address: "https://wiki.example.org/w/".to_owned(),
        site: None,
    }
}

fn received() -> AnswerHead {
    let sent_to = "https://wiki.example.org/w/search?q=harbour".parse().unwrap();
    AnswerHead { sent_to, headers: BTreeMap::new(), next_link: None }
}

fn mapping(paging: Paging, change: impl FnOnce(&mut Mapping)) -> Mapping {
    let answer = AnswerMapping {
        rows: ".rows[]".to_owned(),
        id: ".id".to_owned(),
        title: Some(".title".to_owned()),
        display_time: ".time".to_owned(),
        ..AnswerMapping::default()
    };
    let mut mapping = Mapping { paging, answer, ..Mapping::default() };
    change(&mut mapping);
    mapping
}

fn read(mapping: &Mapping, cursor: Option<&str>, answer: &Value) -> Result<ReadAnswer, MappingError> {
    CompiledMapping::compile(mapping)?.read(&variables(cursor), received(), answer.to_string().as_bytes())
}

fn cursor_of(read: &Result<ReadAnswer, MappingError>) -> Option<String> {
    let envelope: Value = serde_json::from_str(&read.as_ref().unwrap().envelope).unwrap();
    envelope["cursor"].as_str().map(str::to_owned)
}

fn rows(count: usize) -> Vec<Value> {
    (0..count).map(|number| json!({"id": number, "title": "a", "time": 1_704_067_200})).collect()
}

/// An answer in the form of a system's documentation, and what becomes of it.
#[derive(Deserialize)]
struct Recorded {
    request: RecordedRequest,
    headers: BTreeMap<String, String>,
    answer: Value,
    rows: Value,
    total: Option<u64>,
    cursor: Option<String>,
}

#[derive(Default, Deserialize, PartialEq, Debug)]
#[serde(default)]
struct RecordedRequest {
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    body: Option<Value>,
}

#[test]
fn recorded_answer_of_every_system_becomes_rows() {
    for entry in gallery() {
        let path = format!("{}/tests/recorded/{}.json", env!("CARGO_MANIFEST_DIR"), entry.id);
        let recorded: Recorded = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let program =
            CompiledMapping::compile(&entry.mapping).unwrap_or_else(|error| panic!("{}: {error}", entry.id));
        let variables = Variables { address: entry.address.clone(), ..variables(None) };
        let BuiltRequest { query, headers, body } = program.build(&variables).unwrap();
        assert_eq!(RecordedRequest { query, headers, body }, recorded.request, "{}", entry.id);
        let received = AnswerHead {
            sent_to: entry.address.parse().unwrap(),
            headers: recorded.headers,
            next_link: None,
        };
        let read = program.read(&variables, received, recorded.answer.to_string().as_bytes()).unwrap();
        let envelope: Value = serde_json::from_str(&read.envelope).unwrap();
        assert_eq!(envelope["data"], recorded.rows, "{}", entry.id);
        assert_eq!(envelope["total"].as_u64(), recorded.total, "{}", entry.id);
        assert_eq!(envelope["cursor"].as_str(), recorded.cursor.as_deref(), "{}", entry.id);
        let answer = crate::parse_answer(read.envelope.as_bytes(), None, 100).unwrap();
        assert_eq!((answer.broken, answer.items.len()), (None, recorded.rows.as_array().unwrap().len()));
    }
}

#[test]
fn numbered_pages_end_with_the_total_or_an_empty_page() {
    let of = |paging, total: Value, cursor, count| {
        let mapping = mapping(paging, |mapping| mapping.answer.total = Some(".total".to_owned()));
        cursor_of(&read(&mapping, cursor, &json!({"rows": rows(count), "total": total})))
    };
    assert_eq!(of(Paging::Offset, json!(3), None, 2).as_deref(), Some("2"));
    assert_eq!(of(Paging::Offset, json!("3"), Some("2"), 1), None);
    assert_eq!(of(Paging::Offset, Value::Null, None, 2).as_deref(), Some("2"));
    assert_eq!(of(Paging::Offset, Value::Null, Some("2"), 1).as_deref(), Some("3"), "rights may hide a row");
    assert_eq!(of(Paging::Page, Value::Null, Some("2-2"), 1).as_deref(), Some("3-3"));
    assert_eq!(of(Paging::Offset, Value::Null, Some("3"), 0), None);
    // A system with a smaller page than `limit` goes on where it stopped.
    assert_eq!(of(Paging::Offset, json!(3), None, 1).as_deref(), Some("1"));
    assert_eq!(of(Paging::Offset, json!(3), None, 0), None);
    assert_eq!(of(Paging::Page, json!(3), None, 2).as_deref(), Some("2-2"));
    assert_eq!(of(Paging::Page, json!(3), Some("2-2"), 1), None);
    assert_eq!(of(Paging::Page, json!(3), Some("2-1"), 1).as_deref(), Some("3-2"));
    assert_eq!(of(Paging::None, json!(3), None, 2), None);
}

#[test]
fn total_of_a_page_or_below_the_rows_ends_no_pages() {
    for paging in [Paging::Offset, Paging::Page] {
        let mapping = mapping(paging, |mapping| mapping.answer.total = Some(".total".to_owned()));
        let goes_on = |total: u64, cursor, count| {
            let answer = json!({"rows": rows(count), "total": total});
            cursor_of(&read(&mapping, cursor, &answer)).is_some()
        };
        for (total, cursor, count) in [(0, None, 2), (0, Some("2"), 1), (2, None, 2), (2, Some("2"), 2)] {
            assert!(goes_on(total, cursor, count), "{total} {cursor:?} {count}");
        }
        for (total, cursor, count) in [(0, None, 0), (1, None, 1), (4, Some("2"), 2), (2, Some("4"), 0)] {
            assert!(!goes_on(total, cursor, count), "{total} {cursor:?} {count}");
        }
    }
}

#[test]
fn incomplete_is_told_as_the_system_says_it() {
    let mapping = mapping(Paging::None, |mapping| mapping.answer.incomplete = Some(".lost".to_owned()));
    let incomplete =
        |lost: Value| read(&mapping, None, &json!({"rows": rows(1), "lost": lost})).unwrap().incomplete;
    for nothing in [Value::Null, json!(false), json!(""), json!([]), json!(0)] {
        assert_eq!(incomplete(nothing.clone()), None, "{nothing}");
    }
    assert_eq!(incomplete(json!(true)).as_deref(), Some("the system says that rows are missing"));
    assert_eq!(incomplete(json!("2 shards failed")).as_deref(), Some("2 shards failed"));
    assert_eq!(incomplete(json!(3)).as_deref(), Some("3"));
    let broken =
        self::mapping(Paging::None, |mapping| mapping.answer.incomplete = Some(".rows.x".to_owned()));
    let read = read(&broken, None, &json!({"rows": rows(1)})).unwrap();
    assert!(read.envelope.contains("\"count\":1") && read.faults[0].field == "answer.incomplete");
}

#[test]
fn page_is_counted_from_its_first_number() {
    let mapping = mapping(Paging::Page, |mapping| {
        mapping.first_page = Some(0);
        mapping.request.query = Some("{ $page, $offset }".to_owned());
    });
    let program = CompiledMapping::compile(&mapping).unwrap();
    let query = |cursor| program.build(&variables(cursor)).unwrap().query;
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(query(None), [pair("page", "0"), pair("offset", "0")]);
    assert_eq!(query(Some("3-4")), [pair("page", "3"), pair("offset", "6")]);
    for cursor in ["x", "3-", "3-x", "-1"] {
        let error = program.build(&variables(Some(cursor))).unwrap_err();
        assert_eq!(error.field, "cursor", "{cursor}");
    }
}

#[test]
fn error_that_is_false_or_empty_is_none() {
    let mapping = mapping(Paging::None, |mapping| mapping.answer.error = Some(".error".to_owned()));
    let message = |error: Value| {
        let read = read(&mapping, None, &json!({"rows": rows(1), "error": error})).unwrap();
        serde_json::from_str::<Value>(&read.envelope).unwrap()["message"].clone()
    };
    for nothing in [Value::Null, json!(false), json!(""), json!([]), json!({})] {
        assert_eq!(message(nothing), Value::Null);
    }
    assert_eq!(message(json!("down")), "down");
    assert_eq!(message(json!({"code": "maxlag"})), r#"{"code":"maxlag"}"#);
}

#[test]
fn row_may_be_an_array_of_values() {
    let mapping = mapping(Paging::None, |mapping| {
        (mapping.answer.id, mapping.answer.display_time) = (".[0]".to_owned(), ".[1]".to_owned());
        mapping.answer.title = None;
    });
    let row = json!(["a", 1_704_067_200]);
    for count in 1..3 {
        let read = read(&mapping, None, &json!({"rows": vec![row.clone(); count]})).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&read.envelope).unwrap()["count"], count);
    }
    let error = read(&mapping, None, &json!({"rows": [[row]]})).unwrap_err();
    assert!(error.message.contains("end it with []"), "{error}");
}

#[test]
fn null_behind_the_first_page_is_an_empty_page() {
    let mapping = mapping(Paging::Offset, |_| {});
    let nothing = json!({"rows": null});
    let behind = read(&mapping, Some("2"), &nothing);
    assert_eq!(cursor_of(&behind), None);
    let note = behind.unwrap().faults[0].note(false);
    assert_eq!(note.as_deref(), Some("answer.rows finds null in place of rows (rows: 0)"));
    let first = read(&mapping, None, &nothing).unwrap_err();
    assert!(first.message.starts_with(NULL_ROWS), "{first}");
    assert!(read(&mapping, Some("2"), &json!({"rows": 7})).is_err());
}

#[test]
fn request_that_names_no_person_is_refused() {
    let build = |query: &str, departments: &[&str]| {
        let mapping = mapping(Paging::None, |mapping| {
            mapping.request.query = Some(format!("{{ q: $keyword, {query} }}"));
        });
        let person = KnownPerson {
            user_id: "u1".to_owned(),
            login_id: "mei".to_owned(),
            departments: departments.iter().copied().map(str::to_owned).collect(),
            standing: 0,
        };
        let variables = Variables { person: Some(person), ..variables(None) };
        CompiledMapping::compile(&mapping).unwrap().build(&variables)
    };
    for (query, departments) in [
        ("as: $person.loginId", &[][..]),
        ("group: $person.departments", &["hr"]),
        ("as: $person.loginId, group: $person.departments", &[]),
        ("as: (if $person.departments == [] then $person.userId else null end)", &[]),
    ] {
        build(query, departments).unwrap();
    }
    for query in [
        "as: $person.login",
        "as: ($person | .login)",
        "group: $person.departments",
        "group: ($person.departments | join(\",\"))",
    ] {
        let refused = build(query, &[]).unwrap_err();
        assert!(refused.is_of_person && refused.message.contains("names no person"), "{query}: {refused}");
    }
    assert!(build("as: error(\"unknown \" + $person.loginId)", &[]).unwrap_err().is_of_person);
}

#[test]
fn link_to_another_origin_is_followed_at_the_registered_one() {
    let mapping = mapping(Paging::Link, |mapping| mapping.answer.next = Some(".next".to_owned()));
    let next = |next: &str| read(&mapping, None, &json!({"rows": rows(1), "next": next}));
    assert_eq!(cursor_of(&next("?page=2")).as_deref(), Some("/w/search?page=2"));
    assert_eq!(cursor_of(&next("https://wiki.example.org/x#y")).as_deref(), Some("/x"));
    for elsewhere in
        ["https://evil.example/x?page=2", "//evil.example/x?page=2", "http://10.0.0.7:8080/x?page=2"]
    {
        assert_eq!(cursor_of(&next(elsewhere)).as_deref(), Some("/x?page=2"), "{elsewhere}");
    }
    for unusable in ["file:///etc/passwd", "javascript:1", "http://[broken/"] {
        let read = next(unusable);
        assert_eq!(cursor_of(&read), None, "{unusable}");
        let note = read.unwrap().faults.iter().find_map(|fault| fault.note(false));
        assert!(note.is_some_and(|note| note.contains("the pages end here")), "{unusable}");
    }
}

#[test]
fn items_open_at_the_public_address() {
    let open = |address: &str, site: Option<&str>, action: &str| {
        let mapping = mapping(Paging::None, |mapping| {
            mapping.answer.action = Some(action.to_owned());
            mapping.answer.image = Some(action.to_owned());
        });
        let (address, site) = (address.to_owned(), site.map(str::to_owned));
        let variables = Variables { address, site, ..variables(None) };
        let answer = json!({"rows": rows(1)}).to_string();
        let program = CompiledMapping::compile(&mapping).unwrap();
        let read = program.read(&variables, received(), answer.as_bytes()).unwrap();
        let envelope: Value = serde_json::from_str(&read.envelope).unwrap();
        let action: Value = serde_json::from_str(envelope["data"][0]["action"].as_str().unwrap()).unwrap();
        let opened = action["web"].as_str().unwrap().strip_prefix("[OpenUrl]\nurl=").unwrap().to_owned();
        assert_eq!(envelope["data"][0]["image"], opened);
        opened
    };
    let (api, site) = ("https://api.example.com/ex/jira/7", Some("https://port.example.net/"));
    for (address, site, action, opened) in [
        (api, site, r#""/browse/\(.id)""#, "https://port.example.net/browse/0"),
        (api, site, r#""\($address)/browse/\(.id)""#, "https://port.example.net/browse/0"),
        (
            api,
            Some("https://port.example.net/jira"),
            r#""browse/7""#,
            "https://port.example.net/jira/browse/7",
        ),
        (
            api,
            Some("https://port.example.net/jira/"),
            r#""browse/7""#,
            "https://port.example.net/jira/browse/7",
        ),
        (api, Some("https://port.example.net/jira"), r#""?id=7""#, "https://port.example.net/jira/?id=7"),
        (api, site, r#""\($site)/browse/\(.id)""#, "https://port.example.net/browse/0"),
        (api, None, r#""\($site)/browse/\(.id)""#, "https://api.example.com/ex/jira/7/browse/0"),
        (api, site, r#""https://api.example.com/ex/jira/77""#, "https://api.example.com/ex/jira/77"),
        (api, site, r#""https://elsewhere.example/a""#, "https://elsewhere.example/a"),
        (
            "http://10.0.0.7:8080",
            Some("https://wiki.example.net/w"),
            r#""\($address)/a?b#c""#,
            "https://wiki.example.net/w/a?b#c",
        ),
        (
            "http://10.0.0.7:8080/",
            Some("https://wiki.example.net"),
            r#""http://10.0.0.7:8080/a""#,
            "https://wiki.example.net/a",
        ),
    ] {
        assert_eq!(open(address, site, action), opened, "{address} {action}");
    }
}

#[test]
fn empty_address_is_none() {
    let mapping = mapping(Paging::None, |mapping| {
        (mapping.answer.action, mapping.answer.image) = (Some(".open".to_owned()), Some(".icon".to_owned()));
    });
    let answer = json!({"rows": [{"id": 1, "title": "a", "time": 1_704_067_200, "open": "", "icon": ""}]});
    let envelope = read(&mapping, None, &answer).unwrap().envelope;
    let row = &serde_json::from_str::<Value>(&envelope).unwrap()["data"][0];
    assert_eq!((&row["action"], &row["image"]), (&Value::Null, &Value::Null), "{envelope}");
}

#[test]
fn field_that_rows_lack_is_counted_with_its_first_reason() {
    let mapping = mapping(Paging::None, |mapping| {
        mapping.answer.author = Some(".user.name".to_owned());
        mapping.answer.brief = Some(".parts".to_owned());
    });
    let answer = json!({"rows": [
        {"id": 1, "title": null, "time": "soon", "parts": []},
        {"id": "2", "title": "b", "time": 1_704_067_200, "user": "mei"},
        {"id": true, "title": "c", "time": "2024-01-01"},
    ]});
    let faults = read(&mapping, None, &answer).unwrap().faults;
    let of = |field: &str| {
        let fault = faults.iter().find(|fault| fault.field == field);
        fault.map(|fault| (fault.rows, fault.message.clone().unwrap_or_default()))
    };
    assert_eq!(of("answer.id"), None);
    assert_eq!(of("answer.title"), Some((1, String::new())));
    assert_eq!(of("answer.displayTime"), Some((1, "yields \"soon\", which is no time".to_owned())));
    let (rows, message) = of("answer.author").unwrap();
    assert!(rows == 3 && message.contains("cannot index"), "{message}");
    assert_eq!(of("answer.brief").unwrap().1, "yields an array, not text");
}

#[test]
fn keyword_is_data_in_every_part_of_a_request() {
    let mapping = mapping(Paging::None, |mapping| {
        mapping.request = RequestMapping {
            path: None,
            query: Some(
                r#"{ q: $keyword, exact: "\"\($keyword)\"", $limit, cursor: $cursor, tag: ["a", $keyword] }"#
                    .to_owned(),
            ),
            headers: Some("{ \"X-Query\": ($keyword | @uri) }".to_owned()),
            body: Some("{ query: { text: $keyword } }".to_owned()),
        };
    });
    let built = CompiledMapping::compile(&mapping).unwrap();
    let keyword = "a\"},{\"b\": 1} \\(env) & x=1 \r\nHost: evil";
    let variables = Variables { keyword: keyword.to_owned(), ..variables(None) };
    let BuiltRequest { query, headers, body } = built.build(&variables).unwrap();
    assert_eq!(query[0].1, keyword);
    assert_eq!(query[1].1, format!("\"{keyword}\""));
    assert_eq!(
        query.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
        ["q", "exact", "limit", "tag", "tag"]
    );
    assert!(!headers[0].1.contains(['\r', '\n', ' ']));
    assert_eq!(body.unwrap(), json!({"query": {"text": keyword}}));
}

#[test]
fn wrong_filter_is_refused_with_its_place_or_name() {
    let refuse = |filter: &str| {
        CompiledMapping::compile(&mapping(Paging::None, |mapping| mapping.answer.rows = filter.to_owned()))
            .err()
            .unwrap()
    };
    for (filter, part) in [
        (".a |", "is expected at its end"),
        ("[.a", "is no jq filter"),
        ("\"a", "is no jq filter"),
        (".a ]", "`]`"),
        ("unknown", "unknown filter `unknown`"),
        ("$secret", "unknown variable `$secret`; the variables are $keyword,"),
        ("import \"a\" as a; .", "must not import modules"),
        ("input", "unknown filter"),
        ("", "is required"),
    ] {
        let error = refuse(filter);
        assert!(error.field == "answer.rows" && error.message.contains(part), "{filter}: {error}");
    }
}
