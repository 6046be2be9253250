//! Failures of searches. The coordinator suspends by cause.

use std::time::Duration;

use crate::redaction::redact;

/// Letters of `API rate limit exceeded`, `userRateLimitExceeded`, `REQUEST_LIMIT_EXCEEDED` and the like.
const RATE_LIMIT_WORDS: [&str; 15] = [
    "ratelimitexceeded",
    "ratelimitreached",
    "secondaryratelimit",
    "exceededaratelimit",
    "exceededtheratelimit",
    "exceededyourratelimit",
    "requestlimitexceeded",
    "dailylimitexceeded",
    "apilimitexceeded",
    "rateexceeded",
    "quotaexceeded",
    "exceededyourquota",
    "toomanyrequests",
    "requestwasthrottled",
    "throttlingexception",
];

/// Letters of `timed out`, `Service Unavailable`, `token_expired` and the like.
///
/// A cursor that expired is none.
const PASSING_FAILURE_WORDS: [&str; 8] = [
    "timeout",
    "timedout",
    "temporar",
    "unavailable",
    "tryagain",
    "trylater",
    "tokenexpired",
    "sessionexpired",
];

/// Failure of a search.
///
/// The texts are safe to show: no secrets, and of a body only the cleaned `message`. Their only addresses are origins of refused redirects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// No answer or no token within the time limit.
    #[error("the source did not answer in time")]
    Timeout,
    /// Unreachable, or asked for a pause.
    #[error("{reason}")]
    Unavailable {
        /// Cause.
        reason: String,
        /// Requested pause (`Retry-After`), at most one day.
        retry_after: Option<Duration>,
    },
    /// Refused credentials.
    #[error("{0}")]
    Unauthorized(String),
    /// Nothing in the answer is usable.
    #[error("{0}")]
    Invalid(String),
    /// The address may not be called.
    #[error("{0}")]
    Forbidden(String),
    /// The source reported a failure.
    #[error("{0}")]
    Failed(String),
    /// The source or its token endpoint refused this person.
    ///
    /// Calls of other people may succeed.
    #[error("{0}")]
    PersonRefused(String),
    /// A cursor refused by 400, 404, 410, 413, 416, 422 or 501.
    ///
    /// These are the status or `code`. Other calls may succeed.
    #[error("{0}")]
    CursorRefused(String),
}

/// Whether a refusal is about the number of requests, which some systems say in words alone.
pub(crate) fn names_rate_limit(refusal: &[u8]) -> bool {
    let letters = letters_of(refusal);
    letters == "ratelimited" || RATE_LIMIT_WORDS.iter().any(|words| letters.contains(words))
}

/// Whether a refusal says that the same call may succeed later.
pub(crate) fn names_passing_failure(refusal: &[u8]) -> bool {
    let letters = letters_of(refusal);
    PASSING_FAILURE_WORDS.iter().any(|words| letters.contains(words))
}

fn letters_of(refusal: &[u8]) -> String {
    let letters = refusal.iter().filter(|byte| byte.is_ascii_alphabetic());
    letters.map(|byte| char::from(byte.to_ascii_lowercase())).collect()
}

/// The code is about the parameters of one call.
pub(crate) fn refuses_the_call(code: i64) -> bool {
    matches!(code, 400 | 404 | 410 | 413 | 416 | 422 | 501)
}

impl SourceError {
    pub(crate) fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable { reason: reason.into(), retry_after: None }
    }

    /// A source of people was called for none.
    pub(crate) fn no_person() -> Self {
        Self::PersonRefused("the source answers people alone: search with the token of a person".to_owned())
    }

    /// An unavailable source is asked again after this time, unless it told another.
    pub(crate) fn waiting(mut self, wait: Option<Duration>) -> Self {
        if let Self::Unavailable { retry_after, .. } = &mut self {
            *retry_after = retry_after.or(wait);
        }
        self
    }

    pub(crate) fn redacted(mut self, secret: &str) -> Self {
        match &mut self {
            Self::Timeout => {}
            Self::Unavailable { reason: text, .. }
            | Self::Unauthorized(text)
            | Self::Invalid(text)
            | Self::Forbidden(text)
            | Self::Failed(text)
            | Self::PersonRefused(text)
            | Self::CursorRefused(text) => *text = redact(std::mem::take(text), secret),
        }
        self
    }
}
