use std::error::Error as StdError;

/// Coordinator result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a search is refused. The text is safe for callers.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No module of this id or code.
    #[error("moduleId: there is no such module; POST /modules lists those that you may search")]
    NoSuchModule,
    /// No source of this id or name.
    #[error("source: the module has no source {0:?}")]
    NoSuchSource(String),
    /// A changed cursor, or one of another search.
    #[error(
        "cursor: it was changed, or made for another keyword, module, order, filter, person or tenant; \
         send the cursor of the last answer with the same parameters, or digits (epoch milliseconds)"
    )]
    InvalidCursor,
    /// Positions exceed the longest cursor.
    #[error(
        "moduleId: the module's sources are too many for their positions to fit in a cursor; \
         search them one by one with `source`"
    )]
    CursorTooLong,
    /// Too many searches run.
    #[error("too many searches run already; try again shortly")]
    TooManySearches,
    /// The index did not answer. The text is safe for callers.
    #[error("{0}; try again shortly")]
    Unavailable(String),
    /// The unsent answers reach this bound in MiB.
    #[error(
        "the answer is full: it holds at most {0} MiB; ask for fewer items (`limit`), or search this module by itself"
    )]
    AnswerTooLarge(usize),
    /// The cause is for the log alone.
    #[error("internal error")]
    Internal(#[source] Box<dyn StdError + Send + Sync>),
}

impl Error {
    /// Wraps an internal failure.
    pub fn internal(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Internal(cause.into())
    }
}
