//! Workbooks whose parts are binary (MS-XLSB): cells as they are shown, comments, printed headers and footers.

use std::{
    io::{Cursor, Write},
    iter::from_fn,
};

use encoding_rs::UTF_16LE;
use office_oxide::xlsx::{CellValue, XlsxDocument};

use super::{number_formats::NumberFormats, without_codes};
use crate::blobs::extraction::{Stop, TextWriter, compound::set_limits};

/// Records of parts.
const HEADERS: u32 = 479;
const COMMENT_AUTHOR: u32 = 632;
const COMMENT_TEXT: u32 = 637;

/// Printed headers and footers of a sheet: of odd, even and first pages.
const HEADER_COUNT: usize = 6;

/// Reads the names and cells of all sheets.
pub(in crate::blobs::extraction) fn workbook<W: Write>(
    content: &[u8],
    text: &mut TextWriter<W>,
) -> Result<(), Stop> {
    set_limits();
    let workbook = XlsxDocument::from_reader(Cursor::new(content)).map_err(Stop::unreadable)?;
    for (part, reason) in workbook.unreadable_sheets.iter().chain(&workbook.unreadable_parts) {
        text.note(format!("{part}: {reason}"));
    }
    let formats = workbook.styles.as_ref().map(|styles| {
        let ids = styles.cell_formats.iter().map(|format| format.number_format_id).collect();
        NumberFormats::of(ids, &styles.number_formats, workbook.workbook.date1904)
    });
    for sheet in &workbook.worksheets {
        text.push_line(&sheet.name)?;
        for row in &sheet.rows {
            let shown = row.cells.iter().map(|cell| match (&cell.value, &formats) {
                (CellValue::Number(number), Some(formats)) => {
                    let style = cell.style_index.and_then(|style| usize::try_from(style).ok());
                    formats.show(style.unwrap_or_default(), *number)
                }
                _ => workbook.format_cell_value(cell),
            });
            let shown: Vec<String> = shown.filter(|cell| !cell.is_empty()).collect();
            if !shown.is_empty() {
                text.push_line(&shown.join("\t"))?;
            }
        }
        text.flush()?;
    }
    Ok(())
}

/// Reads what stands beside the cells of a part: comments and their authors, headers and footers.
pub(in crate::blobs::extraction) fn beside_cells<W: Write>(
    part: &[u8],
    text: &mut TextWriter<W>,
) -> Result<(), Stop> {
    for (kind, data) in records(part) {
        match kind {
            COMMENT_AUTHOR => push(string(data), text)?,
            // Its first byte tells whether it has formats.
            COMMENT_TEXT => push(string(data.get(1..).unwrap_or_default()), text)?,
            HEADERS => {
                let mut rest = data.get(2..).unwrap_or_default();
                for _ in 0..HEADER_COUNT {
                    let Some((header, behind)) = string(rest) else { break };
                    let shown = without_codes(&header);
                    if !shown.trim().is_empty() {
                        text.push_line(shown.trim())?;
                    }
                    rest = behind;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn push<W: Write>(string: Option<(String, &[u8])>, text: &mut TextWriter<W>) -> Result<(), Stop> {
    string.map_or(Ok(()), |(string, _)| text.push_line(&string))
}

/// A string behind its length, which is all ones for none, and what follows it.
fn string(data: &[u8]) -> Option<(String, &[u8])> {
    let (length, rest) = data.split_first_chunk()?;
    let length = match u32::from_le_bytes(*length) {
        u32::MAX => 0,
        length => usize::try_from(length).ok()?.checked_mul(2)?,
    };
    let (string, rest) = rest.split_at_checked(length)?;
    Some((UTF_16LE.decode_without_bom_handling(string).0.into_owned(), rest))
}

/// Kinds and data of records one behind the other, up to one that is cut.
fn records(part: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    let mut rest = part;
    from_fn(move || {
        let (kind, behind) = number(rest, 2)?;
        let (length, behind) = number(behind, 4)?;
        let (data, behind) = behind.split_at_checked(usize::try_from(length).ok()?)?;
        rest = behind;
        Some((kind, data))
    })
}

/// A number in `most` bytes or fewer, and what follows it (MS-XLSB 2.1.4).
///
/// Each byte holds seven bits. Its highest bit tells whether another byte follows.
fn number(bytes: &[u8], most: usize) -> Option<(u32, &[u8])> {
    let mut number = 0;
    for (place, byte) in bytes.iter().enumerate().take(most) {
        number |= u32::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 || place + 1 == most {
            return Some((number, &bytes[place + 1..]));
        }
    }
    None
}
