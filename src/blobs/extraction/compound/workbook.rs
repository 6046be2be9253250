//! Workbooks of Excel before 2007 (MS-XLS), a line per row.

use std::{
    collections::{HashMap, HashSet},
    io::{Cursor, Write},
};

use encoding_rs::UTF_16LE;
use office_oxide::xls::{CellValue, Sheet, XlsDocument, XlsError};

use super::{encrypted, note_incomplete};
use crate::blobs::extraction::{
    Stop, TextWriter,
    encoding::decode,
    sheets::{
        number_formats::{MAX_FORMATS, MAX_STYLES, NumberFormats},
        without_codes,
    },
};

/// Records of a workbook's stream.
const DATES_FROM_1904: u16 = 0x22;
const STYLE: u16 = 0xe0;
const FORMAT: u16 = 0x41e;
const END: u16 = 0x0a;
const PASSWORD: u16 = 0x2f;
const HEADER: u16 = 0x14;
const FOOTER: u16 = 0x15;
const SHAPE_TEXT: u16 = 0x1b6;
const CONTINUED: u16 = 0x3c;
const BEGIN: u16 = 0x809;
const LABEL: u16 = 0x204;

/// The type of a substream that is a chart (MS-XLS 2.4.21).
const CHART: u16 = 0x20;

pub(super) fn sheets<W: Write>(
    content: &[u8],
    stream: &[u8],
    is_biff8: bool,
    text: &mut TextWriter<W>,
) -> Result<(), Stop> {
    let workbook = XlsDocument::from_reader(Cursor::new(content)).map_err(|error| match error {
        XlsError::Encrypted | XlsError::EncryptionNotSupported(_) => encrypted(),
        error => Stop::unreadable(error),
    })?;
    note_incomplete(!workbook.truncated(), text);
    // Excel protects structures by a known password. The library decrypts the stream for itself alone.
    let is_encrypted = records(stream).take_while(|(kind, _)| *kind != END).any(|(kind, _)| kind == PASSWORD);
    let stream = if is_encrypted { &[] } else { stream };
    let formats = (!is_encrypted).then(|| formats(stream, is_biff8));
    let mut shown = HashSet::new();
    for sheet in &workbook.sheets {
        text.push_line(&sheet.name)?;
        push_cells(sheet, formats.as_ref(), text)?;
        for piece in sheet.comments.iter().map(|comment| &comment.text).chain(&sheet.chart_text) {
            text.push_line(piece)?;
            shown.insert(piece.clone());
        }
        text.flush()?;
    }
    workbook.chart_text().iter().try_for_each(|piece| text.push_line(piece))?;
    let beside = beside_cells(stream, is_biff8).into_iter().filter(|piece| shown.insert(piece.clone()));
    beside.collect::<Vec<_>>().iter().try_for_each(|piece| text.push_line(piece))
}

/// Printed headers and footers, texts of shapes and comments, and categories of charts.
fn beside_cells(stream: &[u8], is_biff8: bool) -> Vec<String> {
    let mut pieces = Vec::new();
    let (mut shape, mut awaited, mut is_chart) = (String::new(), 0, false);
    for (kind, record) in records(stream) {
        match kind {
            HEADER | FOOTER if is_biff8 => {
                let header = record.get(3..).map(|header| characters(record[2], header));
                pieces.extend(header.map(|header| without_codes(&header)));
            }
            HEADER | FOOTER => {
                pieces.extend(record.get(1..).map(|header| without_codes(&decode(header, None))));
            }
            BEGIN => is_chart = number_at(record, 2) == Some(CHART),
            END => is_chart = false,
            LABEL if is_biff8 && is_chart => {
                pieces.extend(record.get(9..).map(|label| characters(record[8], label)));
            }
            SHAPE_TEXT if is_biff8 => {
                shape.clear();
                awaited = number_at(record, 10).map_or(0, usize::from);
            }
            CONTINUED if awaited > 0 => {
                let more = record.split_first().map(|(flags, more)| characters(*flags, more));
                let more = more.unwrap_or_default();
                awaited = awaited.saturating_sub(more.encode_utf16().count());
                shape.push_str(&more);
                if awaited == 0 {
                    pieces.push(std::mem::take(&mut shape));
                }
            }
            _ => {}
        }
    }
    pieces.retain(|piece| !piece.trim().is_empty());
    pieces
}

fn push_cells<W: Write>(
    sheet: &Sheet,
    formats: Option<&NumberFormats>,
    text: &mut TextWriter<W>,
) -> Result<(), Stop> {
    for (row, cells) in sheet.rows.iter().enumerate() {
        let shown: Vec<_> = (0..)
            .zip(cells)
            .filter_map(|(column, cell)| match (cell, formats) {
                (CellValue::Number(number), Some(formats)) => {
                    let style = sheet.xf.get(row).and_then(|styles| styles.get(column)).copied();
                    Some(formats.show(style.unwrap_or_default().into(), *number).into())
                }
                _ => sheet.display_text(row, column),
            })
            .filter(|cell| !cell.is_empty())
            .collect();
        if !shown.is_empty() {
            text.push_line(&shown.join("\t"))?;
        }
    }
    Ok(())
}

/// Number formats from the first records of a workbook.
///
/// Before BIFF8, the characters of texts are single bytes.
fn formats(stream: &[u8], is_biff8: bool) -> NumberFormats {
    let (mut ids, mut custom, mut is_1904) = (Vec::new(), HashMap::new(), false);
    for (kind, record) in records(stream).take_while(|(kind, _)| *kind != END) {
        match kind {
            DATES_FROM_1904 => is_1904 = number_at(record, 0) == Some(1),
            STYLE if ids.len() < MAX_STYLES => ids.push(number_at(record, 2).unwrap_or_default().into()),
            FORMAT if custom.len() < MAX_FORMATS => {
                let code = if is_biff8 {
                    code_of(record)
                } else {
                    record.get(3..).map(|code| decode(code, None).into())
                };
                custom.extend(number_at(record, 0).map(u32::from).zip(code));
            }
            _ => {}
        }
    }
    NumberFormats::of(ids, &custom, is_1904)
}

/// Kinds and data of records one behind the other, up to one that is cut.
fn records(stream: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = stream;
    std::iter::from_fn(move || {
        let end = 4 + usize::from(number_at(rest, 2)?);
        let record = (number_at(rest, 0)?, rest.get(4..end)?);
        rest = &rest[end..];
        Some(record)
    })
}

/// The code behind its id, length and width of characters.
fn code_of(record: &[u8]) -> Option<String> {
    record.get(5..).map(|code| characters(record[4], code))
}

/// Characters of one byte or two, as the lowest bit tells.
fn characters(flags: u8, bytes: &[u8]) -> String {
    match flags & 1 {
        0 => bytes.iter().map(|byte| char::from(*byte)).collect(),
        _ => UTF_16LE.decode_without_bom_handling(bytes).0.into_owned(),
    }
}

fn number_at(bytes: &[u8], place: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(place..place + 2)?.try_into().ok()?))
}
