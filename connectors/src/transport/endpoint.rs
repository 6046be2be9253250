use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Response, StatusCode};

use super::rate_limit::read_pause;
use crate::error::SourceError;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Endpoint {
    /// Starts a sentence.
    pub(crate) name: &'static str,
    pub(crate) setting: &'static str,
}

pub(crate) const SOURCE: Endpoint = Endpoint { name: "the source", setting: "url" };
pub(crate) const TOKEN_ENDPOINT: Endpoint = Endpoint { name: "the token endpoint", setting: "tokenUrl" };

impl Endpoint {
    pub(crate) fn describe_status(self, status: StatusCode, headers: &HeaderMap) -> SourceError {
        let (name, code) = (self.name, status.as_u16());
        let pause = read_pause(status, headers);
        match code {
            503 => SourceError::Unavailable {
                reason: format!("{name} is out of service (HTTP 503)"),
                retry_after: pause.wait,
            },
            _ if pause.is_asked => SourceError::Unavailable {
                reason: format!("{name} asked for fewer requests (HTTP {code})"),
                retry_after: pause.wait,
            },
            401 | 403 => SourceError::Unauthorized(format!(
                "{name} refused the credentials with HTTP {code}: check them and what they allow"
            )),
            300..400 => SourceError::Invalid(format!(
                "{name} answered with a redirect (HTTP {code}), which is not followed"
            )),
            0..300 => SourceError::Invalid(format!("{name} answered with HTTP {code} instead of 200")),
            400.. => SourceError::Failed(format!("{name} answered with HTTP {code}")),
        }
    }
}

pub(crate) fn read_content_type(response: &Response) -> Option<String> {
    let value = response.headers().get(CONTENT_TYPE)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}
