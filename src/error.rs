//! One error type for everything that can refuse a call, and the only place where a failure becomes an HTTP status.
//!
//! A failure has two texts: the public message, which says what is wrong, which field, and what would be right
//! (decisions 2.3), and the inner cause, which is only ever logged under the request id.

use std::{fmt, time::Duration};

use sea_orm::{DbErr, RuntimeErr};

/// The result of anything that may refuse.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed, as the caller is told (decisions 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The request is malformed or a value is out of range.
    BadRequest,
    /// No or bad credentials.
    Unauthorized,
    /// The caller may not.
    Forbidden,
    /// The thing does not exist, or may not be seen.
    NotFound,
    /// The path exists, the method does not.
    MethodNotAllowed,
    /// The body did not arrive in time.
    RequestTimeout,
    /// It exists already, or is in a state that does not allow this.
    Conflict,
    /// What is there is not what the caller's precondition names.
    PreconditionFailed,
    /// The body is larger than `limits.body_bytes`, or a content than it may be.
    TooLarge,
    /// The body has another content type or charset than the endpoint reads.
    UnsupportedMediaType,
    /// The range lies behind the end of the content.
    RangeNotSatisfiable,
    /// More calls than a limit allows.
    TooManyRequests,
    /// Something inside failed; the log says what.
    Internal,
    /// No source of the module answered, or another system did not take the call that this one hangs on.
    BadGateway,
    /// The server cannot take this now; later it can.
    Unavailable,
    /// Every source of the module timed out.
    GatewayTimeout,
    /// A business failure of folders and files: HTTP 200 with a code of its own.
    Business(BusinessCode),
}

/// The failure codes of the folder and file operations (specification, "Errors" 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusinessCode {
    /// A failure that the message states.
    General = 400,
    /// A commit's folder does not exist.
    NoParentOfFile = 430_001,
    /// The folder exists already.
    FolderExists = 430_002,
    /// The folder, the folder above, or the file does not exist.
    NotFound = 430_003,
    /// The file's name is too long.
    NameTooLong = 430_005,
    /// The caller may read it, but not do that.
    NotPermitted = 430_011,
    /// The file is unsafe.
    UnsafeFile = 430_012,
    /// The subject's quota does not suffice.
    SubjectQuota = 430_015,
    /// The enterprise's quota does not suffice.
    EnterpriseQuota = 430_016,
    /// The folder, or one above it, is locked.
    Locked = 430_017,
    /// The folder holds a file that is unsafe.
    UnsafeFolder = 430_020,
}

impl BusinessCode {
    /// The envelope's `code`.
    pub fn number(self) -> u32 {
        self as u32
    }
}

impl Kind {
    /// The envelope's `code`: the HTTP status, but for business failures (decisions 2.2).
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

/// A failure: its kind, what the caller is told, and what only the log is told.
#[derive(Debug)]
pub struct Error {
    /// What kind of failure, hence which status.
    pub kind: Kind,
    /// What the caller is told; holds no secret, path, SQL or inner error.
    pub message: String,
    /// When trying again makes sense (429 and 503).
    pub retry_after: Option<Duration>,
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None, cause: None }
    }

    /// 400: `message` names the field and says what would be right.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(Kind::BadRequest, message)
    }

    /// 401.
    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(Kind::Unauthorized, message)
    }

    /// 403.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(Kind::Forbidden, message)
    }

    /// 404, for what does not exist and for what may not be seen alike (decisions 2.2).
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Kind::NotFound, message)
    }

    /// 405.
    pub fn method_not_allowed(message: impl Into<String>) -> Self {
        Self::new(Kind::MethodNotAllowed, message)
    }

    /// 408.
    pub fn request_timeout(message: impl Into<String>) -> Self {
        Self::new(Kind::RequestTimeout, message)
    }

    /// 409.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(Kind::Conflict, message)
    }

    /// A business failure of folders and files (decisions 2.2).
    pub fn business(code: BusinessCode, message: impl Into<String>) -> Self {
        Self::new(Kind::Business(code), message)
    }

    /// 412.
    pub fn precondition_failed(message: impl Into<String>) -> Self {
        Self::new(Kind::PreconditionFailed, message)
    }

    /// 416.
    pub fn range_not_satisfiable(message: impl Into<String>) -> Self {
        Self::new(Kind::RangeNotSatisfiable, message)
    }

    /// 413.
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(Kind::TooLarge, message)
    }

    /// 415.
    pub fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(Kind::UnsupportedMediaType, message)
    }

    /// 429 with `Retry-After`.
    pub fn too_many_requests(message: impl Into<String>, retry_after: Duration) -> Self {
        Self { retry_after: Some(retry_after), ..Self::new(Kind::TooManyRequests, message) }
    }

    /// 502: `message` says what the other system did.
    pub fn bad_gateway(message: impl Into<String>) -> Self {
        Self::new(Kind::BadGateway, message)
    }

    /// 503 with `Retry-After`.
    pub fn unavailable(message: impl Into<String>, retry_after: Duration) -> Self {
        Self { retry_after: Some(retry_after), ..Self::new(Kind::Unavailable, message) }
    }

    /// 500: the caller learns nothing but the request id, the log learns `cause`.
    pub fn internal(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self {
            cause: Some(cause.into()),
            ..Self::new(
                Kind::Internal,
                "something inside failed; the log has it under this request's x-request-id",
            )
        }
    }

    /// Adds what only the log is told.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// The same failure for one more caller, without what only the log is told: once is enough.
    #[must_use]
    pub fn repeated(&self) -> Self {
        Self { retry_after: self.retry_after, ..Self::new(self.kind, self.message.as_str()) }
    }

    /// What only the log is told.
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

/// SQLite's primary result code for "no room".
const SQLITE_FULL: &str = "13";

/// SQLite's primary result codes for "no room" and "cannot write": the disk is full or read-only, which passes.
const SQLITE_CANNOT_WRITE: [&str; 3] = ["13", "8", "10"];

impl From<DbErr> for Error {
    /// A store that cannot write now is 503; everything else that the store reports is ours to mend: 500.
    fn from(error: DbErr) -> Self {
        match primary_code(&error) {
            // All that a row can refer to is its tenant.
            _ if extended_code(&error) == Some(SQLITE_REFERS_TO_NOTHING) => {
                Self::unauthorized("the tenant no longer exists").caused_by(error)
            }
            Some(code) if code == SQLITE_FULL => disk_full().caused_by(error),
            Some(code) if SQLITE_CANNOT_WRITE.contains(&code.as_str()) => Self::unavailable(
                "the store cannot write at the moment; nothing was changed",
                Duration::from_secs(10),
            )
            .caused_by(error),
            _ => Self::internal(error),
        }
    }
}

/// Whether the database found no room on its disk.
pub fn is_disk_full(error: &DbErr) -> bool {
    primary_code(error).is_some_and(|code| code == SQLITE_FULL)
}

/// 503: there is no room on the disk.
pub fn disk_full() -> Error {
    Error::unavailable("the server's disk is full; nothing was changed", Duration::from_secs(10))
}

/// SQLite's extended result code for a row that refers to one that is not there.
const SQLITE_REFERS_TO_NOTHING: u32 = 787;

/// SQLite's primary result code.
fn primary_code(error: &DbErr) -> Option<String> {
    extended_code(error).map(|extended| (extended & 0xff).to_string())
}

fn extended_code(error: &DbErr) -> Option<u32> {
    match error {
        DbErr::Exec(RuntimeErr::SqlxError(inner))
        | DbErr::Query(RuntimeErr::SqlxError(inner))
        | DbErr::Conn(RuntimeErr::SqlxError(inner)) => inner
            .as_database_error()
            .and_then(sea_orm::sqlx::error::DatabaseError::code)
            .and_then(|code| code.parse::<u32>().ok()),
        _ => None,
    }
}
