//! Sample data with pitfalls: equal times, several scripts, special characters of URLs and JSON.

use serde::Serialize;
use serde_json::json;

/// The newest item, 2024-01-01 in epoch milliseconds.
const NEWEST: i64 = 1_704_067_200_000;

const SUBJECTS: [&str; 8] = [
    "Budget & forecast",
    "港口年度报告",
    "Crane maintenance 🏗️",
    "Tariffs: 100% + \"surcharge\"",
    "Liegeplätze und Gebühren",
    "Pilots' rota",
    "安全检查 checklist",
    "Customs\\import / export",
];

/// Item of the contract.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Item {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) brief: String,
    pub(crate) author: String,
    pub(crate) display_time: i64,
    /// Text holding a JSON object by client kind.
    pub(crate) action: String,
    /// The only person who sees it; `None` for everyone.
    #[serde(skip)]
    pub(crate) reader: Option<String>,
}

/// Returns 57 items, newest first; three in a row share a time.
pub(crate) fn collection(prefix: &str) -> Vec<Item> {
    let item = |number: usize| {
        let subject = SUBJECTS[number % SUBJECTS.len()];
        let hours = i64::try_from(number / 3).unwrap_or_default();
        Item {
            id: format!("{prefix}-{number:02}"),
            title: format!("{subject} {number}"),
            brief: format!("Paper {number} of the harbour office: {subject}."),
            author: ["Mei Chen", "Omar Haddad", "Ana Lima"][number % 3].to_owned(),
            display_time: NEWEST - hours * 3_600_000,
            action: json!({"web": format!("[OpenUrl]\nurl=https://papers.example/{number}")}).to_string(),
            reader: None,
        }
    };
    (0..57).map(item).collect()
}

/// The collection behind one letter to each of these people.
pub(crate) fn collection_of(prefix: &str, people: &[String]) -> Vec<Item> {
    let common = collection(prefix);
    let own = people.iter().enumerate().map(|(number, person)| Item {
        id: format!("{prefix}-of-{person}"),
        title: format!("Letter to {person}"),
        brief: "A letter of the harbour office.".to_owned(),
        display_time: NEWEST + i64::try_from(people.len() - number).unwrap_or_default(),
        reader: Some(person.clone()),
        ..common[0].clone()
    });
    own.chain(common.clone()).collect()
}
