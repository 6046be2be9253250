//! What can go wrong between a request and its body, told apart because the search and the conformance check
//! each put it into words of their own.

use std::error::Error as _;
use std::io;

use super::Endpoint;
use crate::addresses::AddressRefusal;
use crate::error::SourceError;

/// Why there is no answer, or no body of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TransportError {
    /// The operating system gave the connection up.
    Timeout,
    /// The address, or every address that its name resolved to, may not be called.
    Forbidden(AddressRefusal),
    /// No connection came about. Holds why.
    Unreachable(&'static str),
    /// The address or the credentials make no request.
    Unsendable,
    /// What answers does not speak HTTP.
    NotHttp,
    /// The connection was closed before the answer was complete.
    Incomplete,
    /// The connection broke off.
    Broken,
    /// A redirect that is not followed. Holds what was wrong with it; of an address no more than scheme, host, port.
    Redirect(String),
    /// The body, or what it inflates to, is larger than the bound, in bytes, which it holds.
    TooLarge(usize),
    /// The body's content encoding is one that was not asked for. Holds its name.
    Encoding(String),
    /// The body is not what its content encoding says.
    Undecodable,
}

impl TransportError {
    /// A name that cannot be looked up, or has no address.
    pub(crate) const UNKNOWN_NAME: Self = Self::Unreachable("its name is not known");

    /// The failure as one of this endpoint.
    pub(crate) fn about(self, endpoint: Endpoint) -> SourceError {
        let name = endpoint.name;
        match self {
            Self::Timeout => SourceError::Timeout,
            Self::Forbidden(refusal) => SourceError::Forbidden(format!("the address of {name} {refusal}")),
            Self::Unreachable(why) => SourceError::unavailable(format!("{name} cannot be reached: {why}")),
            Self::Unsendable => SourceError::Invalid(format!(
                "{name} cannot be asked: its address or credentials make no request"
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

/// Whether a connection that had been open broke before any answer came: that is how a kept connection ends that the
/// other side closed just then, and no fault of the source.
pub(super) fn broke_before_answer(error: &reqwest::Error) -> bool {
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
