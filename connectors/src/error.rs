//! What kept a source from answering, told apart because the coordinator suspends by cause (decisions 6.3).

use std::time::Duration;

use crate::blot::blot;

/// Why a search of one source gave no usable answer.
///
/// The text of each is safe to show to callers: it holds no address but scheme, host and port of a redirect that is
/// not followed, no secret, and no part of a body but the source's own `message`, cleaned and cut.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The source's own time was over before its answer was complete, or its token endpoint's before there was a token.
    #[error("the source did not answer in time")]
    Timeout,
    /// The source, or its token endpoint, could not be reached or asked to be left alone.
    #[error("{reason}")]
    Unavailable {
        /// What happened.
        reason: String,
        /// How long the source asked to be left alone (`Retry-After`), at most one day.
        retry_after: Option<Duration>,
    },
    /// The source, or its token endpoint, refused trawl's identity. Holds what the operator can look at.
    #[error("{0}")]
    Unauthorized(String),
    /// The answer breaks the contract so that nothing in it can be used.
    #[error("{0}")]
    Invalid(String),
    /// The source's address, or its token endpoint's, may not be called (decisions 7.4): what its name resolved to
    /// changed, or always led where nothing may. Holds what the operator can look at.
    #[error("{0}")]
    Forbidden(String),
    /// The source answered that the search failed.
    #[error("{0}")]
    Failed(String),
    /// The source refused a call with a cursor (400, 404, 410 or 422, as HTTP status or as `code`). The fault may be that
    /// cursor's alone, which ended or was never good, so nothing follows for other calls.
    #[error("{0}")]
    CursorRefused(String),
}

/// The codes with which a source refuses one call for what it asks. Where it asks for a cursor's page, that cursor may
/// be all that is wrong.
pub(crate) fn refuses_the_call(code: i64) -> bool {
    matches!(code, 400 | 404 | 410 | 422)
}

impl SourceError {
    /// An [`SourceError::Unavailable`] without a time to come back at.
    pub(crate) fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable { reason: reason.into(), retry_after: None }
    }

    /// The same error with `secret` blotted out.
    pub(crate) fn without(self, secret: &str) -> Self {
        match self {
            Self::Timeout => Self::Timeout,
            Self::Unavailable { reason, retry_after } => {
                Self::Unavailable { reason: blot(reason, secret), retry_after }
            }
            Self::Unauthorized(text) => Self::Unauthorized(blot(text, secret)),
            Self::Invalid(text) => Self::Invalid(blot(text, secret)),
            Self::Forbidden(text) => Self::Forbidden(blot(text, secret)),
            Self::Failed(text) => Self::Failed(blot(text, secret)),
            Self::CursorRefused(text) => Self::CursorRefused(blot(text, secret)),
        }
    }
}
