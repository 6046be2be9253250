//! The error of calls.
//!
//! The message names the field and the correct form (book: reference/errors.md). The cause is only logged, with the
//! request id.

use std::{fmt, time::Duration};

/// The result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of failure (book: reference/errors.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Malformed request or value out of range.
    BadRequest,
    /// Missing or invalid credentials.
    Unauthorized,
    /// The caller may not do this.
    Forbidden,
    /// The object does not exist or is invisible.
    NotFound,
    /// The path does not support the method.
    MethodNotAllowed,
    /// The body did not arrive in time.
    RequestTimeout,
    /// The object exists or its state forbids this.
    Conflict,
    /// The caller's precondition does not hold.
    PreconditionFailed,
    /// The body exceeds its limit.
    TooLarge,
    /// The content type or charset is unsupported.
    UnsupportedMediaType,
    /// The range begins after the end of the content.
    RangeNotSatisfiable,
    /// A rate limit was exceeded.
    TooManyRequests,
    /// An internal failure; the log has the cause.
    Internal,
    /// No source of the module answered, or another system failed.
    BadGateway,
    /// Temporarily unavailable.
    Unavailable,
    /// Every source of the module timed out.
    GatewayTimeout,
    /// A failure of folders and files: HTTP 200 with its own code.
    Business(BusinessCode),
}

/// Failure codes of folder and file operations (book: reference/errors.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusinessCode {
    /// Any other failure; see the message.
    General = 400,
    /// A commit's folder does not exist.
    NoParentOfFile = 430_001,
    /// The folder exists.
    FolderExists = 430_002,
    /// The folder, its parent or the file does not exist.
    NotFound = 430_003,
    /// The file's name is too long.
    NameTooLong = 430_005,
    /// The caller may read it only.
    NotPermitted = 430_011,
    /// The file is unsafe.
    UnsafeFile = 430_012,
    /// The subject's quota is exceeded.
    SubjectQuota = 430_015,
    /// The enterprise's quota is exceeded.
    EnterpriseQuota = 430_016,
    /// The folder or an ancestor is locked.
    Locked = 430_017,
    /// The folder holds an unsafe file.
    UnsafeFolder = 430_020,
}

impl BusinessCode {
    /// The envelope's `code`.
    pub fn number(self) -> u32 {
        self as u32
    }
}

impl ErrorKind {
    /// The envelope's `code`: the HTTP status or the business code.
    pub fn code(self) -> u32 {
        match self {
            Self::Business(code) => code.number(),
            _ => self.status().into(),
        }
    }

    /// The HTTP status.
    pub fn status(self) -> u16 {
        match self {
            Self::Business(_) => 200,
            Self::BadRequest => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::RequestTimeout => 408,
            Self::Conflict => 409,
            Self::PreconditionFailed => 412,
            Self::TooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::RangeNotSatisfiable => 416,
            Self::TooManyRequests => 429,
            Self::Internal => 500,
            Self::BadGateway => 502,
            Self::Unavailable => 503,
            Self::GatewayTimeout => 504,
        }
    }
}

/// A failure with a public message and a private cause.
#[derive(Debug)]
pub struct Error {
    /// Kind.
    pub kind: ErrorKind,
    /// The public message: no secret, path, SQL or inner error.
    pub message: String,
    /// `Retry-After` of 429 and 503.
    pub retry_after: Option<Duration>,
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None, cause: None }
    }

    /// 400: `message` names the field and the correct form.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::BadRequest, message)
    }

    /// 401.
    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unauthorized, message)
    }

    /// 403.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Forbidden, message)
    }

    /// 404, for absent and invisible objects alike.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// 405.
    pub fn method_not_allowed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::MethodNotAllowed, message)
    }

    /// 408.
    pub fn request_timeout(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::RequestTimeout, message)
    }

    /// 409.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, message)
    }

    /// A business failure of folders and files.
    pub fn business(code: BusinessCode, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Business(code), message)
    }

    /// 412.
    pub fn precondition_failed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::PreconditionFailed, message)
    }

    /// 416.
    pub fn range_not_satisfiable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::RangeNotSatisfiable, message)
    }

    /// 413.
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::TooLarge, message)
    }

    /// 415.
    pub fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::UnsupportedMediaType, message)
    }

    /// 429 with `Retry-After`.
    pub fn too_many_requests(message: impl Into<String>, retry_after: Duration) -> Self {
        Self { retry_after: Some(retry_after), ..Self::new(ErrorKind::TooManyRequests, message) }
    }

    /// 502: `message` describes the other system's failure.
    pub fn bad_gateway(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::BadGateway, message)
    }

    /// 503 with `Retry-After`.
    pub fn unavailable(message: impl Into<String>, retry_after: Duration) -> Self {
        Self { retry_after: Some(retry_after), ..Self::new(ErrorKind::Unavailable, message) }
    }

    /// 500: the caller gets the request id, the log `cause`.
    pub fn internal(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self {
            cause: Some(cause.into()),
            ..Self::new(
                ErrorKind::Internal,
                "internal error; the log has details under this request's x-request-id",
            )
        }
    }

    /// Replaces the public message.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// Adds a cause for the log.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// The failure for a further caller, without the logged cause.
    #[must_use]
    pub fn repeated(&self) -> Self {
        Self { retry_after: self.retry_after, ..Self::new(self.kind, self.message.as_str()) }
    }

    /// The cause for the log.
    pub fn cause(&self) -> Option<&(dyn std::error::Error + Send + Sync + 'static)> {
        self.cause.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        match &self.cause {
            Some(cause) => write!(formatter, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn std::error::Error + 'static))
    }
}

impl From<trawl_search::Error> for Error {
    fn from(error: trawl_search::Error) -> Self {
        use trawl_search::Error as Refusal;
        let message = error.to_string();
        match error {
            Refusal::NoSuchModule => Self::not_found(message),
            Refusal::NoSuchSource(_) | Refusal::InvalidCursor | Refusal::CursorTooLong => {
                Self::bad_request(message)
            }
            Refusal::TooManySearches | Refusal::Unavailable(_) => {
                Self::unavailable(message, Duration::from_secs(1))
            }
            Refusal::AnswerTooLarge(_) => Self::too_large(message),
            Refusal::Internal(cause) => Self::internal(cause),
        }
    }
}

/// 503: the disk is full.
pub fn disk_full() -> Error {
    Error::unavailable("the server's disk is full; nothing was changed", Duration::from_secs(10))
}
