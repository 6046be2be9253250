//! Mapped sources: systems that answer in a form of their own.
//!
//! A [`Mapping`] holds jq filters. They build the system's request from a question, and the contract's envelope from its answer. From
//! there on a mapped source is like any other. `program` runs the filters in a process of their own (`interpreter`), which may be killed;
//! `pool` keeps these processes. `source` puts both between the client, or the check, and the transport.

#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod interpreter;
mod message;
mod pool;
mod program;
mod source;

use serde::{Deserialize, Serialize};

use crate::numbers::grouped;

pub use self::interpreter::serve as serve_interpreter;
pub(crate) use self::message::ReadAnswer;
pub use self::message::{FieldFault, MappingError};
pub use self::pool::{InterpreterPool, confined_command};
pub use self::source::MappedCalls;
pub(crate) use self::source::MappedQuestion;

/// Longest filter, in bytes.
const MAX_FILTER_BYTES: usize = 8 * 1024;
const MAX_PATH_BYTES: usize = 2 * 1024;
/// Most rows of one answer.
const MAX_ROWS: usize = 1_000;

/// How a system's search becomes the contract.
///
/// Texts are jq filters, except `path`. Every filter may use `$keyword`, `$limit`, `$cursor` (null on the first page), `$offset`, `$page`,
/// `$address`, the source's address without a slash at its end, and `$site`, its public address or else `$address`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Mapping {
    /// The request.
    pub request: RequestMapping,
    /// How pages follow each other.
    pub paging: Paging,
    /// The number of the first page, for paging by `page`; 1 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_page: Option<u32>,
    /// The answer.
    pub answer: AnswerMapping,
}

/// Parts of the system's request. Their filters have the input null.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RequestMapping {
    /// Appended to the source's address, such as `/w/api.php`. No filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// An object of query parameters: texts, numbers, booleans, or arrays of them; null leaves one out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// An object of headers: texts; null leaves one out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<String>,
    /// The JSON body of a POST.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// How pages follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Paging {
    /// One page only.
    #[default]
    None,
    /// `next` yields the next page's `$cursor`.
    Cursor,
    /// `$page` counts pages.
    ///
    /// The last one reaches `total` or, without one, is empty: rights may make any page short. A `total` below
    /// the rows is not believed.
    ///
    /// If there is a `next`, it yields the next page's number.
    Page,
    /// `$offset` counts rows, in the same way.
    Offset,
    /// The next page's address is in `next`, or in the header `Link` with `rel="next"`.
    ///
    /// It is on the source's own origin.
    Link,
}

/// Parts of the answer. `error`, `incomplete`, `rows`, `total` and `next` have the whole answer as input, the others a row.
///
/// The first of several results counts, except of `rows`. `$answer` is the whole answer, and `$headers` has its headers
/// by names in lower case. The filter `text` makes plain text of HTML.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AnswerMapping {
    /// The message of a failure; null, false, empty or nothing if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why rows are missing from an answer that is no failure; null, false, zero, empty or nothing if none are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// The rows, one result each. Required.
    pub rows: String,
    /// The id, unique in the source. Required.
    pub id: String,
    /// The title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The subtitle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_title: Option<String>,
    /// The summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brief: Option<String>,
    /// The address of an icon, relative as that of `action`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The author's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// The time. Required.
    ///
    /// Seconds or milliseconds since 1970, or a date in ISO 8601 or RFC 2822. UTC if it names no zone.
    pub display_time: String,
    /// The address that a click opens, or an object of the contract's `action`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Additional information.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attach_info: Option<String>,
    /// The description of the additional information.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attach_description: Option<String>,
    /// The number of all matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<String>,
    /// The next page, by the kind of paging; null at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl Mapping {
    /// Every filter with the name of its field, in their order here.
    fn filters(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let Self { request, answer, .. } = self;
        [
            ("request.query", request.query.as_deref()),
            ("request.headers", request.headers.as_deref()),
            ("request.body", request.body.as_deref()),
            ("answer.error", answer.error.as_deref()),
            ("answer.incomplete", answer.incomplete.as_deref()),
            ("answer.rows", Some(answer.rows.as_str())),
            ("answer.id", Some(answer.id.as_str())),
            ("answer.title", answer.title.as_deref()),
            ("answer.subTitle", answer.sub_title.as_deref()),
            ("answer.brief", answer.brief.as_deref()),
            ("answer.image", answer.image.as_deref()),
            ("answer.author", answer.author.as_deref()),
            ("answer.displayTime", Some(answer.display_time.as_str())),
            ("answer.action", answer.action.as_deref()),
            ("answer.attachInfo", answer.attach_info.as_deref()),
            ("answer.attachDescription", answer.attach_description.as_deref()),
            ("answer.total", answer.total.as_deref()),
            ("answer.next", answer.next.as_deref()),
        ]
        .into_iter()
        .filter_map(|(field, text)| Some((field, text?)))
    }

    /// Whether a filter names `$person`, in a text too.
    pub fn uses_person(&self) -> bool {
        self.filters().any(|(_, text)| names_person(text))
    }

    /// Checks what needs no interpreter.
    ///
    /// # Errors
    /// The first wrong field.
    pub fn check_form(&self) -> Result<(), MappingError> {
        let wrong = |field: &str, message: String| Err(MappingError::new(field, message));
        for (field, filter) in self.filters() {
            if filter.trim().is_empty() {
                return wrong(field, "is required: a jq filter".to_owned());
            }
            if filter.len() > MAX_FILTER_BYTES {
                return wrong(field, format!("must be at most {} bytes", grouped(MAX_FILTER_BYTES)));
            }
        }
        if let Some(path) = &self.request.path {
            let fits =
                path.starts_with('/') && !path.contains(['?', '#', '\\']) && path.len() <= MAX_PATH_BYTES;
            let climbs = path.split('/').any(is_dot_segment);
            if !fits || climbs || path.contains(|character: char| character.is_control() || character == ' ')
            {
                let right =
                    "must begin with a slash and hold neither a query, spaces nor `..`, such as /w/api.php";
                return wrong("request.path", right.to_owned());
            }
        }
        if self.first_page.is_some() && self.paging != Paging::Page {
            return wrong("firstPage", "is for the paging by page only".to_owned());
        }
        if self.paging == Paging::Cursor && self.answer.next.is_none() {
            return wrong("answer.next", "is required for the paging by cursor".to_owned());
        }
        if self.paging == Paging::None && self.answer.next.is_some() {
            return wrong(
                "paging",
                "must be cursor, page, offset or link, as there is an answer.next".to_owned(),
            );
        }
        Ok(())
    }
}

fn names_person(filter: &str) -> bool {
    filter.contains("$person")
}

/// `.` or `..` as browsers and the parser of addresses read them.
fn is_dot_segment(segment: &str) -> bool {
    let plain = segment.to_ascii_lowercase().replace("%2e", ".");
    matches!(plain.as_str(), "." | "..")
}
