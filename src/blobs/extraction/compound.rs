//! Compound files: Word, Excel, `PowerPoint` and Outlook before 2007, and what is encrypted or embedded since.

mod embedded;
mod outlook;
mod show;
mod workbook;

use std::{
    io::{Cursor, Write},
    sync::Once,
};

use office_oxide::{
    Document, DocumentFormat,
    cfb::{CfbReader, read_document_properties},
    doc::{DocDocument, DocError},
    limits,
};

pub(super) use self::embedded::object;
use super::{ENCRYPTED, Stop, TextWriter};

/// Memory for what a small file can multiply.
const MAX_MEMORY_BYTES: u64 = 256 << 20;

/// Characters that cells may repeat.
const MAX_CHARS: usize = 16 << 20;

type Compound<'a> = CfbReader<Cursor<&'a [u8]>>;

pub(super) fn compound<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let mut file = CfbReader::new(Cursor::new(content)).map_err(Stop::unreadable)?;
    let has = |name: &str| file.has_root_entry(name);
    set_limits();
    if has("EncryptedPackage") {
        protected_workbook(content, text)
    } else if has("WordDocument") {
        word(content, text)?;
        embedded::files(content, &file, text)?;
        properties(&mut file, text)
    } else if has("PowerPoint Document") {
        show::slides(content, &mut file, text)?;
        properties(&mut file, text)
    } else if has("Workbook") || has("Book") {
        let (stream, is_biff8) = match file.open_stream("Workbook") {
            Ok(stream) => (stream, true),
            Err(_) => (file.open_stream("Book").unwrap_or_default(), false),
        };
        workbook::sheets(content, &stream, is_biff8, text)?;
        embedded::files(content, &file, text)?;
        properties(&mut file, text)
    } else if has("__properties_version1.0") {
        outlook::message(&mut file, "", text)
    } else {
        embedded::file(&mut file, text)
    }
}

/// Title, subject and keywords.
fn properties<W: Write>(file: &mut Compound<'_>, text: &mut TextWriter<W>) -> Result<(), Stop> {
    let properties = read_document_properties(file).unwrap_or_default();
    let shown = [properties.title, properties.subject, properties.keywords];
    shown.into_iter().flatten().try_for_each(|property| text.push_line(&property))
}

/// A worksheet of Excel 2, 3 or 4, which is no compound file.
pub(super) fn worksheet<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    set_limits();
    workbook::sheets(content, content, false, text)
}

/// A workbook under the password that Excel knows.
///
/// Its cells alone can be read.
fn protected_workbook<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let content = Cursor::new(content.to_vec());
    let workbook = Document::from_reader(content, DocumentFormat::Xlsx).map_err(|_| encrypted())?;
    text.push(&workbook.plain_text())
}

/// The limits are the process's, which reads one file.
pub(super) fn set_limits() {
    static SET: Once = Once::new();
    SET.call_once(|| {
        limits::set_max_memory_bytes(MAX_MEMORY_BYTES);
        limits::set_max_text_chars(MAX_CHARS);
        limits::set_max_package_bytes(super::MAX_INFLATED_BYTES);
    });
}

fn encrypted() -> Stop {
    Stop::Unreadable(ENCRYPTED.to_owned())
}

fn word<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let document = DocDocument::from_reader(Cursor::new(content)).map_err(|error| match error {
        DocError::Encrypted => encrypted(),
        error => Stop::unreadable(error),
    })?;
    note_incomplete(document.text_complete(), text);
    text.push_line(document.plain_text_ref())?;
    document.subdocuments().iter().try_for_each(|part| text.push_line(&part.text))
}

fn note_incomplete<W: Write>(is_complete: bool, text: &mut TextWriter<W>) {
    if !is_complete {
        text.note("a part of it is damaged or beyond the limits");
    }
}
