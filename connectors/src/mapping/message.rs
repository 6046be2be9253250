//! Messages between the server and an interpreter process.
//!
//! A frame is its length, four bytes with the least significant first, then JSON or bytes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::Mapping;
use crate::identity::KnownPerson;

const SEE_TRIAL: &str = "fails; a trial shows why";

/// A filter that cannot be used, or failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{field}: {message}")]
pub struct MappingError {
    /// The field of the mapping, such as `answer.rows`.
    pub field: String,
    /// The problem.
    pub message: String,
    /// Whether the mapping may fit other people.
    pub(crate) is_of_person: bool,
}

impl MappingError {
    pub(crate) fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into(), is_of_person: false }
    }

    /// Drops values of the answer, which messages of filters may quote.
    pub(crate) fn without_values(self) -> Self {
        if self.field == "mapping" { self } else { Self { message: SEE_TRIAL.to_owned(), ..self } }
    }
}

/// A field that rows lack because its filter failed or yielded something unusable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldFault {
    /// The field of the mapping, such as `answer.title`.
    pub field: String,
    /// The number of rows without it.
    pub rows: usize,
    /// The problem of the first of them; `None` if the filter yielded nothing or null.
    pub message: Option<String>,
}

impl FieldFault {
    /// Returns a search's note; absent values need none, except titles.
    ///
    /// Messages quote values of rows, which others must not see if `is_personal`.
    pub(crate) fn note(&self, is_personal: bool) -> Option<String> {
        let message = match self.message.as_deref() {
            Some(_) if is_personal => SEE_TRIAL,
            Some(message) => message,
            None if self.field == "answer.title" => "yields nothing",
            None => return None,
        };
        Some(format!("{} {message} (rows: {})", self.field, self.rows))
    }
}

/// Variables of all filters.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Variables {
    pub(super) keyword: String,
    pub(super) limit: usize,
    pub(super) cursor: Option<String>,
    pub(super) address: String,
    /// The public address, where people open what is found.
    pub(super) site: Option<String>,
    pub(super) person: Option<KnownPerson>,
}

/// A task of the interpreter. A frame with the answer's body follows `Read`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum InterpreterJob {
    /// Compile the filters.
    Compile,
    /// Build the request.
    Build(Variables),
    /// Read the answer of a request.
    Read { variables: Variables, received: AnswerHead },
}

/// The head of an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct AnswerHead {
    /// The address of the request.
    pub(super) sent_to: Url,
    /// Headers by names in lower case; the last of several values.
    pub(super) headers: BTreeMap<String, String>,
    /// The target of `rel="next"` in the header `Link`.
    pub(super) next_link: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct JobOfMapping {
    pub(super) mapping: Mapping,
    pub(super) job: InterpreterJob,
}

/// The result of a job.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum JobOutcome {
    Compiled,
    Built(BuiltRequest),
    Read(ReadAnswer),
    Failed(MappingError),
}

/// The parts of a request that filters build.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct BuiltRequest {
    pub(super) query: Vec<(String, String)>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<Value>,
}

/// An answer as the contract has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReadAnswer {
    /// The envelope in JSON.
    pub(crate) envelope: String,
    /// Why rows are missing.
    pub(crate) incomplete: Option<String>,
    pub(crate) faults: Vec<FieldFault>,
}
