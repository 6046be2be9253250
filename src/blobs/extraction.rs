//! Text extraction from file contents for search.
//!
//! Contents are untrusted, and their parsers are not hardened. A separate process ([`process`]) therefore reads them,
//! with limits and without access to the server's data. If it dies, the text up to then counts. External causes lead to
//! a retry.

mod fair_queue;
mod kind;
mod office;
#[cfg(feature = "pdf")]
mod pdf;
mod plain;
pub mod process;
pub mod sandbox;
mod sheets;
#[cfg(test)]
mod tests;
mod text;
pub mod worker;

use std::io::Write;

use self::kind::DocumentFormat;
pub use self::{kind::TextFormat, text::TextWriter};

/// Above this size only the beginning is read, as plain text.
pub const MAX_BYTES: u64 = 64 << 20;

/// Bytes of a plain text that are read.
pub const MAX_PLAIN_BYTES: u64 = 1 << 20;

/// Reasons why extraction stopped early.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// The text limit is reached.
    #[error("the text exceeds the size limit")]
    Full,
    /// The receiver of the text is gone.
    #[error("the text cannot be written: {0}")]
    Lost(#[from] std::io::Error),
    /// The content is damaged or mislabelled.
    #[error("{0}")]
    Unreadable(String),
}

impl Stop {
    fn unreadable(error: impl std::fmt::Display) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// Extracts a content's text; only plain text from partial contents.
///
/// # Errors
/// The reason for an early stop; the text up to then is written.
pub fn extract<W: Write>(
    content: &[u8],
    read_as: TextFormat,
    is_whole: bool,
    text: &mut TextWriter<W>,
) -> Result<(), Stop> {
    match DocumentFormat::of(content, read_as) {
        DocumentFormat::Plain => plain::plain(content, text),
        DocumentFormat::Markdown => plain::markdown(content, text),
        DocumentFormat::Html => plain::html(content, text),
        _ if !is_whole => Ok(()),
        #[cfg(feature = "pdf")]
        DocumentFormat::Pdf => pdf::pdf(content, text),
        #[cfg(not(feature = "pdf"))]
        DocumentFormat::Pdf => Err(Stop::Unreadable("this build lacks the feature `pdf`".to_owned())),
        DocumentFormat::Word => office::word(content, text),
        DocumentFormat::Slides => office::slides(content, text),
        DocumentFormat::OpenDocument => office::open_document(content, text),
        DocumentFormat::Xlsx => sheets::xlsx(content, text),
        DocumentFormat::Xlsb => sheets::xlsb(content, text),
        DocumentFormat::Xls => sheets::xls(content, text),
        DocumentFormat::Other => Ok(()),
    }
}
