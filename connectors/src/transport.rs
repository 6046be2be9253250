//! What the source and its token endpoint share: bodies read within a bound, and transport failures put into
//! words that name no address.

use std::error::Error as _;
use std::io;
use std::time::{Duration, SystemTime};

use reqwest::header::{CONTENT_ENCODING, RETRY_AFTER};
use reqwest::{Response, StatusCode, redirect};

use crate::error::SourceError;
use crate::settings::SettingsError;

/// The longest `Retry-After` that is believed.
const LONGEST_RETRY_AFTER: Duration = Duration::from_hours(24);

/// Which of the two endpoints a failure is about; its text begins a sentence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Endpoint(pub(crate) &'static str);

/// The source itself.
pub(crate) const SOURCE: Endpoint = Endpoint("the source");
/// The authorization server that issues its tokens.
pub(crate) const TOKEN_ENDPOINT: Endpoint = Endpoint("the token endpoint");

/// The HTTP client of one source: its own connections, no redirects, no proxy from the environment (the
/// addresses that are called are the ones that were allowed).
pub(crate) fn build_http_client(max_idle: usize) -> Result<reqwest::Client, SettingsError> {
    reqwest::Client::builder()
        .user_agent(concat!("trawl/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .no_proxy()
        .pool_max_idle_per_host(max_idle)
        .build()
        .map_err(|error| SettingsError::Client(error.without_url().to_string()))
}

impl Endpoint {
    /// What a failure to send a request, or to read its answer, means.
    pub(crate) fn describe_failure(self, error: &reqwest::Error) -> SourceError {
        let name = self.0;
        if error.is_timeout() {
            SourceError::Timeout
        } else if error.is_dns() {
            SourceError::unavailable(format!("{name} cannot be reached: its name is not known"))
        } else if error.is_connect() {
            SourceError::unavailable(format!("{name} cannot be reached: {}", describe_connect(error)))
        } else if error.is_builder() {
            SourceError::Invalid(format!(
                "{name} cannot be asked: its address or credentials make no request"
            ))
        } else if find_cause::<hyper::Error>(error).is_some_and(hyper::Error::is_parse) {
            SourceError::Invalid(format!("{name} did not answer in HTTP"))
        } else if find_cause::<hyper::Error>(error).is_some() || find_cause::<io::Error>(error).is_none() {
            SourceError::unavailable(format!("{name} closed the connection before its answer was complete"))
        } else if error.is_decode() {
            SourceError::Invalid(format!("{name} sent a body that cannot be decompressed"))
        } else {
            SourceError::unavailable(format!("the connection to {name} broke off"))
        }
    }

    /// Reads a body of at most `bound` bytes after decompression, and no byte more than it has to.
    pub(crate) async fn read_body(
        self,
        mut response: Response,
        bound: usize,
    ) -> Result<Vec<u8>, SourceError> {
        let name = self.0;
        if response.headers().get(CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
            let text = format!("{name} used a content encoding that was not asked for");
            return Err(SourceError::Invalid(text));
        }
        let too_large = || SourceError::Invalid(format!("{name} sent a body of more than {bound} bytes"));
        let stated = response.content_length().map_or(Ok(0), usize::try_from);
        let Some(stated) = stated.ok().filter(|stated| *stated <= bound) else {
            return Err(too_large());
        };
        let mut body = Vec::with_capacity(stated);
        while let Some(chunk) = response.chunk().await.map_err(|error| self.describe_failure(&error))? {
            if chunk.len() > bound - body.len() {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// What an HTTP status other than 200 means.
    pub(crate) fn describe_status(self, status: StatusCode, retry_after: Option<Duration>) -> SourceError {
        let (name, code) = (self.0, status.as_u16());
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

/// Whether a connection that had been open broke before any answer came: that is how a kept connection ends that the
/// other side closed just then, and no fault of the source.
pub(crate) fn broke_before_answer(error: &reqwest::Error) -> bool {
    let reset = |kind| {
        matches!(
            kind,
            io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe
        )
    };
    !error.is_connect()
        && (find_cause::<hyper::Error>(error).is_some_and(hyper::Error::is_incomplete_message)
            || find_cause::<io::Error>(error).is_some_and(|cause| reset(cause.kind())))
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

fn describe_connect(error: &reqwest::Error) -> &'static str {
    match find_cause::<io::Error>(error).map(innermost_kind) {
        Some(io::ErrorKind::ConnectionRefused) => "connection refused",
        Some(io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted) => "connection reset",
        Some(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => "no route to its host",
        Some(io::ErrorKind::InvalidData) => "TLS failed (check its certificate, and that it speaks TLS)",
        Some(io::ErrorKind::UnexpectedEof) => "the connection was closed during TLS",
        _ => "the connection failed",
    }
}

/// The kind of the I/O error that others were wrapped around: `source` skips what they hold.
fn innermost_kind(error: &io::Error) -> io::ErrorKind {
    let mut innermost = error;
    while let Some(inner) = innermost.get_ref().and_then(|inner| inner.downcast_ref()) {
        innermost = inner;
    }
    innermost.kind()
}

/// The innermost cause of this type.
fn find_cause<E: std::error::Error + 'static>(error: &reqwest::Error) -> Option<&E> {
    let mut found = None;
    let mut next = error.source();
    while let Some(cause) = next {
        found = cause.downcast_ref().or(found);
        next = cause.source();
    }
    found
}
