//! One call of a source, shown step by step.

use serde::Serialize;

use super::call::CallAssertion;
use super::probe::{Exchange, Probe, Reply};
use crate::addresses::AddressRules;
use crate::answer::parse_page;
use crate::client::Question;
use crate::item::ContentItem;
use crate::mapping::{FieldFault, MappedCalls};
use crate::redaction::redact_answer;
use crate::request::ContractParameters;
use crate::settings::{DeclaredOrder, SettingsError, SourceSettings};

/// Bytes of an answer that are shown.
const MAX_SHOWN_BYTES: usize = 64 * 1024;

/// One call with everything that became of it. It holds no secret.
#[derive(Clone, Debug, Default, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Trial {
    /// The request as a command line, with variables for secrets; empty if none was built.
    pub curl: String,
    /// The HTTP status.
    pub status: Option<u16>,
    /// The content type.
    pub content_type: Option<String>,
    /// The beginning of the body, at most 64 KiB.
    pub body: Option<String>,
    /// From the request to the end of the answer, in milliseconds.
    pub took_ms: u64,
    /// The rows.
    pub rows: Vec<ContentItem>,
    /// The number of all matches.
    pub total: Option<u64>,
    /// The cursor of the next page.
    pub cursor: Option<String>,
    /// The fields that rows lack.
    pub missing: Vec<FieldFault>,
    /// Violations of the contract.
    pub problems: Vec<String>,
    /// The reason why there are no rows.
    pub failure: Option<String>,
}

/// Calls a source once.
///
/// # Errors
/// Settings that can never work. Failures of the call are part of the [`Trial`].
pub async fn try_source(
    settings: &SourceSettings,
    rules: &AddressRules,
    order: DeclaredOrder,
    question: &Question<'_>,
) -> Result<Trial, SettingsError> {
    let probe = Probe::new(settings, question.person, rules)?;
    let credentials = match probe.credentials().await {
        Ok(credentials) => credentials,
        Err(error) => return Ok(Trial { failure: Some(error.to_string()), ..Trial::default() }),
    };
    let parameters = ContractParameters::from(*question);
    let mut exchange = probe.call_once(parameters, &credentials, CallAssertion::Proper).await;
    if let Ok(reply) = &mut exchange.outcome {
        reply.body = redact_answer(std::mem::take(&mut reply.body), &probe.secrets());
    }
    let states_total = settings.mapping.as_ref().is_none_or(MappedCalls::states_total);
    let mut trial = read(exchange, order, question, states_total);
    let own = [&mut trial.curl].into_iter().chain(&mut trial.problems);
    let own = own.chain(&mut trial.body).chain(&mut trial.content_type).chain(&mut trial.failure);
    let messages = trial.missing.iter_mut().filter_map(|fault| fault.message.as_mut());
    let own = own.chain(&mut trial.cursor).chain(messages);
    own.for_each(|text| probe.redact_text(text));
    Ok(trial)
}

fn read(exchange: Exchange, order: DeclaredOrder, question: &Question<'_>, states_total: bool) -> Trial {
    let Exchange { curl, took, received, outcome, .. } = exchange;
    let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let mut trial = Trial { curl, took_ms, ..Trial::default() };
    if let Some(received) = received {
        let shown = &received.body[..received.body.len().min(MAX_SHOWN_BYTES)];
        trial.status = Some(received.status);
        trial.content_type = received.content_type;
        trial.body = Some(String::from_utf8_lossy(shown).into_owned());
    }
    let Reply { status, content_type, body, incomplete, faults } = match outcome {
        Ok(reply) => reply,
        Err((_, seen)) => return Trial { failure: Some(seen), ..trial },
    };
    if status != 200 {
        return Trial { failure: Some(format!("HTTP {status}")), ..trial };
    }
    trial.missing = faults;
    match parse_page(&body, content_type.as_deref(), question.limit, question.cursor.is_some()) {
        Err(error) => trial.failure = Some(error.to_string()),
        Ok(answer) => {
            let answer = if states_total { answer } else { answer.without_note_of_total() };
            let is_sorted = answer.items.is_sorted_by(|one, next| one.display_time >= next.display_time);
            let unsorted = order == DeclaredOrder::Time && !is_sorted;
            let unsorted =
                unsorted.then(|| "the rows are not in time order: register it as relevance".to_owned());
            let problems = incomplete.into_iter().chain(answer.broken).chain(unsorted).chain(answer.notes);
            trial.problems = problems.collect();
            trial.rows = answer.items;
            trial.total = answer.total;
            trial.cursor = answer.cursor;
        }
    }
    trial
}
