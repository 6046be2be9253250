//! Text extraction from file contents for search.
//!
//! Contents are untrusted, and their parsers are not hardened. A separate process ([`process`]) therefore reads them,
//! with limits and without access to the server's data. If it dies, the text up to then counts. External causes lead to
//! a retry.

mod archives;
mod compound;
mod encoding;
mod fair_queue;
mod kind;
mod mail;
mod metafile;
mod office;
mod open_document;
mod package;
#[cfg(feature = "pdf")]
mod pdf;
mod plain;
pub mod process;
mod rtf;
pub mod sandbox;
mod sheets;
#[cfg(test)]
mod tests;
mod text;
pub mod worker;
mod xml;

use std::{
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
};

use self::kind::DocumentFormat;
pub use self::{kind::TextFormat, text::TextWriter};

/// Above this size only the beginning is read, as plain text.
pub const MAX_BYTES: u64 = 64 << 20;

/// Bytes of a plain text that are read.
pub const MAX_PLAIN_BYTES: u64 = 1 << 20;

/// Bytes that the parts of a file may inflate to.
const MAX_INFLATED_BYTES: u64 = 64 << 20;

/// Why a file without a reader has no text.
pub const NO_READER: &str = "no text is read from files of this format";

const ENCRYPTED: &str = "it is encrypted, so its text cannot be read";

/// Reasons why extraction stopped early.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// The text limit is reached.
    #[error("its text is cut at {0} bytes")]
    Full(usize),
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
    let format = DocumentFormat::of(content, read_as);
    let is_readable =
        matches!(format, DocumentFormat::Plain | DocumentFormat::Markdown | DocumentFormat::Html);
    if !is_whole && is_readable {
        text.note(plain::CUT_PLAIN);
    } else if !is_whole {
        return Err(Stop::Unreadable(format!(
            "files above {MAX_BYTES} bytes are read if they are plain text"
        )));
    }
    read_format(format, content, text)
}

/// Reads a file within the file by its form.
fn read_inner<W: Write>(name: &str, content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let format = DocumentFormat::of(content, TextFormat::of_extension(extension));
    // Pictures, formulas and programs within a file are no lack of its text.
    if format == DocumentFormat::Other {
        return Ok(());
    }
    text.descend(name, |text| match read_format(format, content, text) {
        Err(Stop::Unreadable(reason)) if reason == NO_READER => Ok(()),
        read => read,
    })
}

/// A reader that panics leaves the text up to then.
fn read_format<W: Write>(
    format: DocumentFormat,
    content: &[u8],
    text: &mut TextWriter<W>,
) -> Result<(), Stop> {
    let reading = AssertUnwindSafe(|| match format {
        DocumentFormat::Plain => plain::plain(content, text),
        DocumentFormat::Markdown => plain::markdown(content, text),
        DocumentFormat::Html => plain::html(content, text),
        DocumentFormat::RichText => rtf::rtf(content, text),
        DocumentFormat::Mail => mail::message(content, text),
        DocumentFormat::Mailbox => mail::mailbox(content, text),
        #[cfg(feature = "pdf")]
        DocumentFormat::Pdf => pdf::pdf(content, text),
        #[cfg(not(feature = "pdf"))]
        DocumentFormat::Pdf => Err(Stop::Unreadable("this build lacks the feature `pdf`".to_owned())),
        DocumentFormat::Office => office::office(content, text),
        DocumentFormat::FlatOffice => office::flat(content, text),
        DocumentFormat::OpenDocument => open_document::open_document(content, text),
        DocumentFormat::FlatOpenDocument => open_document::flat(content, text),
        DocumentFormat::Book => archives::book(content, text),
        DocumentFormat::Archive => archives::archive(content, text),
        DocumentFormat::Compound => compound::compound(content, text),
        DocumentFormat::Worksheet => compound::worksheet(content, text),
        DocumentFormat::Metafile => metafile::metafile(content, text),
        DocumentFormat::Other => Err(Stop::Unreadable(NO_READER.to_owned())),
    });
    catch_unwind(reading).unwrap_or_else(|_| Err(Stop::Unreadable("its reader failed on it".to_owned())))
}
