use std::time::{Duration, SystemTime};

use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Response, StatusCode};

use crate::error::SourceError;

const MAX_RETRY_AFTER: Duration = Duration::from_hours(24);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Endpoint {
    /// Starts a sentence.
    pub(crate) name: &'static str,
    pub(crate) setting: &'static str,
}

pub(crate) const SOURCE: Endpoint = Endpoint { name: "the source", setting: "url" };
pub(crate) const TOKEN_ENDPOINT: Endpoint = Endpoint { name: "the token endpoint", setting: "tokenUrl" };

impl Endpoint {
    pub(crate) fn describe_status(self, status: StatusCode, retry_after: Option<Duration>) -> SourceError {
        let (name, code) = (self.name, status.as_u16());
        match code {
            401 | 403 => SourceError::Unauthorized(format!(
                "{name} refused the credentials with HTTP {code}: check them and what they allow"
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

/// Seconds or an HTTP date; at most one day.
pub(crate) fn read_retry_after(response: &Response) -> Option<Duration> {
    let text = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim();
    let delay = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => httpdate::parse_http_date(text).ok()?.duration_since(SystemTime::now()).unwrap_or_default(),
    };
    Some(delay.min(MAX_RETRY_AFTER))
}

pub(crate) fn read_content_type(response: &Response) -> Option<String> {
    let value = response.headers().get(CONTENT_TYPE)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}
