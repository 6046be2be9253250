//! Request failures. Search and conformance check word them differently.

use std::error::Error as _;
use std::io;

use super::endpoint::Endpoint;
use crate::addresses::AddressRefusal;
use crate::error::SourceError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TransportError {
    /// The operating system gave up.
    Timeout,
    /// No address of the name may be called.
    Forbidden(AddressRefusal),
    Unreachable(&'static str),
    /// Address or credentials make no valid request.
    Unsendable,
    NotHttp,
    /// The connection closed before the response was complete.
    Incomplete,
    Broken,
    /// A refused redirect, with at most the origin of its target.
    Redirect(String),
    /// Bound in bytes, received or inflated.
    TooLarge(usize),
    Encoding(String),
    Undecodable,
}

impl TransportError {
    pub(crate) const UNKNOWN_NAME: Self = Self::Unreachable("its name is not known");

    pub(crate) fn into_source_error(self, endpoint: Endpoint) -> SourceError {
        let name = endpoint.name;
        match self {
            Self::Timeout => SourceError::Timeout,
            Self::Forbidden(refusal) => SourceError::Forbidden(format!("the address of {name} {refusal}")),
            Self::Unreachable(why) => SourceError::unavailable(format!("{name} cannot be reached: {why}")),
            Self::Unsendable => SourceError::Invalid(format!(
                "{name} cannot be asked: its address or credentials form no valid request"
            )),
            Self::NotHttp => SourceError::Invalid(format!("{name} did not answer in HTTP")),
            Self::Incomplete => SourceError::unavailable(format!(
                "{name} closed the connection before its answer was complete"
            )),
            Self::Broken => SourceError::unavailable(format!("the connection to {name} broke off")),
            Self::Redirect(what) => {
                SourceError::Invalid(format!("{name} answered with a redirect that is not followed: {what}"))
            }
            Self::TooLarge(bound) => {
                SourceError::Invalid(format!("{name} sent a body of more than {bound} bytes"))
            }
            Self::Encoding(encoding) => SourceError::Invalid(format!(
                "{name} used a content encoding that was not asked for: {encoding}"
            )),
            Self::Undecodable => {
                SourceError::Invalid(format!("{name} sent a body that cannot be decompressed"))
            }
        }
    }
}

impl From<reqwest::Error> for TransportError {
    fn from(error: reqwest::Error) -> Self {
        let error = &error;
        if error.is_timeout() {
            Self::Timeout
        } else if let Some(refusal) = find_cause::<AddressRefusal>(error) {
            Self::Forbidden(*refusal)
        } else if error.is_dns() {
            Self::UNKNOWN_NAME
        } else if error.is_connect() {
            Self::Unreachable(describe_connect(error))
        } else if error.is_builder() {
            Self::Unsendable
        } else if find_cause::<hyper::Error>(error).is_some_and(hyper::Error::is_parse) {
            Self::NotHttp
        } else if find_cause::<hyper::Error>(error).is_some() || find_cause::<io::Error>(error).is_none() {
            Self::Incomplete
        } else {
            Self::Broken
        }
    }
}

/// Whether an open connection broke before the response, as a pooled one may at any moment.
pub(super) fn broke_before_answer(error: &reqwest::Error) -> bool {
    let is_broken = |kind| {
        matches!(
            kind,
            io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
                // TLS that ended without `close_notify`.
                | io::ErrorKind::UnexpectedEof
        )
    };
    !error.is_connect()
        && (find_cause::<hyper::Error>(error)
            .is_some_and(|cause| cause.is_incomplete_message() || cause.is_canceled() || cause.is_closed())
            || find_cause::<io::Error>(error).is_some_and(|cause| is_broken(cause.kind())))
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

/// `source` skips wrapped I/O errors.
fn innermost_kind(error: &io::Error) -> io::ErrorKind {
    let mut innermost = error;
    while let Some(inner) = innermost.get_ref().and_then(|inner| inner.downcast_ref()) {
        innermost = inner;
    }
    innermost.kind()
}

fn find_cause<E: std::error::Error + 'static>(error: &reqwest::Error) -> Option<&E> {
    let mut found = None;
    let mut next = error.source();
    while let Some(cause) = next {
        found = cause.downcast_ref().or(found);
        next = cause.source();
    }
    found
}
