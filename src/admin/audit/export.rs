//! Audit records as CSV or as lines of JSON, streamed.

use axum::{
    body::Body,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::stream;
use serde::Deserialize;

use super::actors::{NamedDeed, name_actors};
use crate::{
    audit::records::{self, Filter},
    error::{Error, Result},
    store::Store,
    time::rfc3339,
};

/// Records of one export.
const MAX_ITEMS: u64 = 100_000;

/// Records in memory at once.
const PORTION: u64 = 1_000;

/// Spreadsheets read UTF-8 by this mark alone.
const BYTE_ORDER_MARK: &str = "\u{feff}";

const COLUMNS: [&str; 11] = [
    "id",
    "time",
    "tenant",
    "clientId",
    "application",
    "userId",
    "person",
    "action",
    "objectKind",
    "objectId",
    "details",
];

/// The format of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Format {
    /// One page in an envelope.
    #[default]
    Json,
    /// All records as a table, RFC 4180.
    Csv,
    /// All records, each as a line of JSON.
    Ndjson,
}

/// All records of the filter, newest first.
///
/// # Errors
/// 400 where they are too many.
pub(super) async fn export(store: Store, filter: Filter, format: Format) -> Result<Response> {
    if records::count(store.reader(), filter.clone(), MAX_ITEMS + 1).await? > MAX_ITEMS {
        return Err(Error::bad_request(format!(
            "from: the filter finds more than {MAX_ITEMS} records, the maximum of an export; narrow it by from and to"
        )));
    }
    let (content_type, name, first) = match format {
        Format::Csv => ("text/csv;charset=UTF-8", "audit.csv", format!("{BYTE_ORDER_MARK}{}", line(COLUMNS))),
        Format::Json | Format::Ndjson => ("application/x-ndjson", "audit.ndjson", String::new()),
    };
    let portions = stream::try_unfold(Some((filter, first)), move |next| {
        let store = store.clone();
        async move {
            let Some((filter, mut text)) = next else { return Ok(None) };
            let portion = read(&store, &filter, format, &mut text).await.inspect_err(Error::log)?;
            let next = portion.map(|before| (Filter { before: Some(before), ..filter }, String::new()));
            Ok::<_, Error>(Some((Bytes::from(text), next)))
        }
    });
    let disposition =
        HeaderValue::try_from(format!("attachment; filename=\"{name}\"")).map_err(Error::internal)?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (header::CONTENT_DISPOSITION, disposition),
        (header::CACHE_CONTROL, HeaderValue::from_static("private, no-store")),
    ];
    Ok((headers, Body::from_stream(portions)).into_response())
}

/// Appends one portion; returns the end of a full one.
async fn read(store: &Store, filter: &Filter, format: Format, text: &mut String) -> Result<Option<i64>> {
    let events = records::list(store.reader(), filter.clone(), PORTION).await?;
    let end = events.last().map(|event| event.id).filter(|_| events.len() as u64 == PORTION);
    for event in name_actors(store.reader(), events).await? {
        match format {
            Format::Csv => text.push_str(&row(event)),
            Format::Json | Format::Ndjson => {
                text.push_str(&serde_json::to_string(&event).map_err(Error::internal)?);
                text.push('\n');
            }
        }
    }
    Ok(end)
}

fn row(NamedDeed { event, application, person }: NamedDeed) -> String {
    let optional = Option::unwrap_or_default;
    line([
        event.id.to_string(),
        rfc3339(event.at),
        optional(event.tenant),
        optional(event.client_id),
        optional(application),
        optional(event.user_id),
        optional(person),
        event.action,
        event.object_kind,
        event.object_id,
        event.details.to_string(),
    ])
}

fn line(cells: [impl AsRef<str>; COLUMNS.len()]) -> String {
    let cells = cells.map(|cell| quoted(cell.as_ref()));
    format!("{}\r\n", cells.join(","))
}

/// An apostrophe keeps spreadsheets from running a text as a formula.
fn quoted(text: &str) -> String {
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}
