//! What looks for harm in contents before they are committed (decisions 10.6).

pub mod clamd;

use crate::{error::Result, storage::Pieces};

/// What a scanner says of a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing was found.
    Safe,
    /// What was found.
    Unsafe(String),
}

/// Looks for harm.
#[async_trait::async_trait]
pub trait Scanner: Send + Sync {
    /// Looks through a content.
    ///
    /// # Errors
    /// `BusinessCode::General` that says why it could not be scanned.
    async fn scan(&self, content: Pieces) -> Result<Verdict>;
}
