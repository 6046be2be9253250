//! The texts of files: what is searched of their contents.
//!
//! Contents come from anybody, and what reads their formats was not written for that. So they are read in a process of its own
//! ([`process`]), which has nothing of the server's, may take so much memory and time, and may end in any way: what it wrote until
//! then is the text. What ended it without a fault of its own, a busy machine or a store that does not answer, has it be tried again.

pub mod confined;
mod kind;
mod office;
mod pdf;
mod plain;
pub mod process;
mod sheets;
#[cfg(test)]
mod tests;
mod text;
mod turns;
pub mod worker;

use std::io::Write;

use self::kind::Kind;
pub use self::{kind::ReadAs, text::Text};

/// Contents larger than this, in bytes, are only read as plain text, and of that the beginning.
pub const MOST_BYTES: u64 = 64 << 20;

/// The bytes of a plain text that are looked at.
pub const MOST_PLAIN_BYTES: u64 = 1 << 20;

/// Why the reading of a content ended before the content did.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// There is as much text as is kept.
    #[error("there is more text than is kept")]
    Full,
    /// Nobody takes the text any more.
    #[error("the text cannot be written: {0}")]
    Lost(#[from] std::io::Error),
    /// It is damaged, or not what it looks like.
    #[error("{0}")]
    Unreadable(String),
}

impl Stop {
    fn unreadable(error: impl std::fmt::Display) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// Reads the text of a content, as this where its bytes do not say what it is. Of one that is not there as a whole only plain text is read.
///
/// # Errors
/// What ended it; the text that was read until then is written.
pub fn extract<W: Write>(
    content: &[u8],
    read_as: ReadAs,
    is_whole: bool,
    text: &mut Text<W>,
) -> Result<(), Stop> {
    match Kind::of(content, read_as) {
        Kind::Plain => plain::plain(content, text),
        Kind::Markdown => plain::markdown(content, text),
        Kind::Html => plain::html(content, text),
        _ if !is_whole => Ok(()),
        Kind::Pdf => pdf::pdf(content, text),
        Kind::Word => office::word(content, text),
        Kind::Slides => office::slides(content, text),
        Kind::OpenDocument => office::open_document(content, text),
        Kind::Xlsx => sheets::xlsx(content, text),
        Kind::Xlsb => sheets::xlsb(content, text),
        Kind::Xls => sheets::xls(content, text),
        Kind::Other => Ok(()),
    }
}
