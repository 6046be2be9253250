//! What the source and its token endpoint share: connections that lead only where they may, redirects, bounded
//! bodies, and transport failures as data, put into words that name no address.

mod body;
mod failure;
mod http;
mod names;
#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime};

use reqwest::header::RETRY_AFTER;
use reqwest::{Response, StatusCode};

pub(crate) use body::{Body, read_body, receive_body};
pub(crate) use failure::TransportError;
pub(crate) use http::{Http, guarded};
pub(crate) use names::{FoundNames, LookUps, with_addresses};

use crate::error::SourceError;

/// The longest `Retry-After` that is believed.
const LONGEST_RETRY_AFTER: Duration = Duration::from_hours(24);

/// Which of the two endpoints a failure is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Endpoint {
    /// What it is called; begins a sentence.
    pub(crate) name: &'static str,
    /// The setting that holds its address.
    pub(crate) setting: &'static str,
}

/// The source itself.
pub(crate) const SOURCE: Endpoint = Endpoint { name: "the source", setting: "url" };
/// The authorization server that issues its tokens.
pub(crate) const TOKEN_ENDPOINT: Endpoint = Endpoint { name: "the token endpoint", setting: "tokenUrl" };

impl Endpoint {
    /// What an HTTP status other than 200 means.
    pub(crate) fn describe_status(self, status: StatusCode, retry_after: Option<Duration>) -> SourceError {
        let (name, code) = (self.name, status.as_u16());
        match code {
            401 | 403 => SourceError::Unauthorized(format!(
                "{name} refused the credentials with HTTP {code}: check the client and what it may do"
            )),
            429 => SourceError::Unavailable {
                reason: format!("{name} asked for fewer requests (HTTP 429)"),
                retry_after,
            },
            503 => SourceError::Unavailable {
                reason: format!("{name} is out of service (HTTP 503)"),
                retry_after,
            },
            300..400 => SourceError::Invalid(format!(
                "{name} answered with a redirect (HTTP {code}), which is not followed"
            )),
            0..300 => SourceError::Invalid(format!("{name} answered with HTTP {code} instead of 200")),
            400.. => SourceError::Failed(format!("{name} answered with HTTP {code}")),
        }
    }
}

/// The time that `Retry-After` asks for: seconds, or an HTTP date; at most one day.
pub(crate) fn read_retry_after(response: &Response) -> Option<Duration> {
    let text = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim();
    let asked = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => httpdate::parse_http_date(text).ok()?.duration_since(SystemTime::now()).unwrap_or_default(),
    };
    Some(asked.min(LONGEST_RETRY_AFTER))
}
