use serde_json::{Value, json};

pub(crate) const NEW_YEAR: i64 = 1_704_067_200_000;

pub(crate) fn item(id: &str, title: &str, display_time: i64) -> Value {
    json!({"id": id, "title": title, "displayTime": display_time})
}

/// Items `prefix0000…`, newest first, `ties` in each millisecond.
pub(crate) fn many(prefix: &str, title: &str, count: usize, ties: usize) -> Vec<Value> {
    (0..count)
        .map(|number| {
            let time = NEW_YEAR - i64::try_from(number / ties).unwrap();
            item(&format!("{prefix}{number:05}"), title, time)
        })
        .collect()
}

pub(crate) fn lines(items: &[Value]) -> String {
    items.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}

pub(crate) fn department(id: &str, parent: &str) -> Value {
    json!({"orgId": id, "parentId": parent, "name": format!("Department {id}")})
}

/// The login equals the id.
pub(crate) fn user(id: &str, department: &str) -> Value {
    json!({"userId": id, "loginId": id, "name": format!("User {id}"), "sex": 1, "orgId": department})
}

pub(crate) fn todo(id: &str, title: &str, assignee: &str) -> Value {
    json!({"appTaskId": id, "title": title, "assigneeLoginId": assignee})
}

/// A digit is three letters: spelling correction reaches words one edit away.
pub(crate) fn word_of_case(number: usize) -> String {
    let digits = format!("{number:03}").into_bytes();
    digits.into_iter().flat_map(|digit| [char::from(digit - b'0' + b'a'); 3]).collect()
}
