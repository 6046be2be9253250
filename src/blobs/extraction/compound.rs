//! Compound files: Word, Excel, `PowerPoint` and Outlook before 2007, and what is encrypted or embedded since.

mod outlook;

use std::{
    io::{Cursor, Write},
    sync::Once,
};

use office_oxide::{
    cfb::CfbReader,
    doc::{DocDocument, DocError},
    limits,
    ppt::{PptDocument, PptError},
    xls::{Sheet, XlsDocument, XlsError},
    xlsx::XlsxDocument,
};

use super::{ENCRYPTED, NO_READER, Stop, TextWriter, read_inner};

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
        Err(encrypted())
    } else if has("WordDocument") {
        word(content, text)
    } else if has("PowerPoint Document") {
        slides(content, text)
    } else if has("Workbook") || has("Book") {
        sheets(content, text)
    } else if has("__properties_version1.0") {
        outlook::message(&mut file, "", text)
    } else {
        embedded(&mut file, text)
    }
}

/// A workbook whose parts are binary.
pub(super) fn binary_workbook<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    set_limits();
    let workbook = XlsxDocument::from_reader(Cursor::new(content)).map_err(Stop::unreadable)?;
    text.push(&workbook.plain_text())
}

/// The limits are the process's, which reads one file.
fn set_limits() {
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

fn slides<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let show = PptDocument::from_reader(Cursor::new(content)).map_err(|error| match error {
        PptError::Encrypted => encrypted(),
        error => Stop::unreadable(error),
    })?;
    note_incomplete(show.text_complete(), text);
    let runs = show.slides.iter().flat_map(|slide| &slide.text_runs).chain(&show.master_text);
    // Lines end by these two characters.
    runs.map(|run| run.text.replace(['\r', '\u{b}'], "\n")).try_for_each(|run| text.push_line(&run))
}

fn sheets<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let workbook = XlsDocument::from_reader(Cursor::new(content)).map_err(|error| match error {
        XlsError::Encrypted | XlsError::EncryptionNotSupported(_) => encrypted(),
        error => Stop::unreadable(error),
    })?;
    note_incomplete(!workbook.truncated(), text);
    for sheet in &workbook.sheets {
        text.push_line(&sheet.name)?;
        push_cells(sheet, text)?;
        for piece in sheet.comments.iter().map(|comment| &comment.text).chain(&sheet.chart_text) {
            text.push_line(piece)?;
        }
        text.flush()?;
    }
    workbook.chart_text().iter().try_for_each(|piece| text.push_line(piece))
}

/// Cells as they are shown, a line per row.
fn push_cells<W: Write>(sheet: &Sheet, text: &mut TextWriter<W>) -> Result<(), Stop> {
    for (row, cells) in sheet.rows.iter().enumerate() {
        let shown: Vec<_> = (0..cells.len())
            .filter_map(|column| sheet.display_text(row, column))
            .filter(|cell| !cell.is_empty())
            .collect();
        if !shown.is_empty() {
            text.push_line(&shown.join("\t"))?;
        }
    }
    Ok(())
}

fn note_incomplete<W: Write>(is_complete: bool, text: &mut TextWriter<W>) {
    if !is_complete {
        text.note("a part of it is damaged or beyond the limits");
    }
}

/// A file that another embeds.
fn embedded<W: Write>(file: &mut Compound<'_>, text: &mut TextWriter<W>) -> Result<(), Stop> {
    if let Ok(package) = file.open_stream("Package") {
        return read_inner("an embedded file", &package, text);
    }
    let native = file.open_stream("\u{1}Ole10Native").map_err(|_| Stop::Unreadable(NO_READER.to_owned()))?;
    match native_file(&native) {
        Some((name, content)) => read_inner(&name, content, text),
        None => Err(Stop::Unreadable(NO_READER.to_owned())),
    }
}

/// Label and bytes of a file in an `Ole10Native` stream: MS-OLEDS 2.3.6 and the packager's format.
fn native_file(stream: &[u8]) -> Option<(String, &[u8])> {
    let (label, rest) = split_at_zero(stream.get(6..)?)?;
    let (_path, rest) = split_at_zero(rest)?;
    let length = |bytes: &[u8]| Some(u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?) as usize);
    let rest = rest.get(4..)?;
    let rest = rest.get(4 + length(rest)?..)?;
    let content = rest.get(4..)?;
    Some((String::from_utf8_lossy(label).into_owned(), &content[..length(rest)?.min(content.len())]))
}

fn split_at_zero(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}
