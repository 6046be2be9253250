//! Malware scanning of contents before their commit (book: how-to/scanner.md).

pub mod clamd;

use crate::{blobs::Pieces, error::Result};

/// A scanner's verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Clean.
    Safe,
    /// Infected, with the malware's name.
    Unsafe(String),
}

/// Scans for malware.
#[async_trait::async_trait]
pub trait Scanner: Send + Sync {
    /// Scans a content.
    ///
    /// # Errors
    /// `BusinessCode::General` with the reason for the missing scan.
    async fn scan(&self, content: Pieces) -> Result<Verdict>;
}
