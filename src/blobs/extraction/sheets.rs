//! Workbooks: sheet names and cells, a line per row.

use std::{
    fmt::Display,
    io::{Cursor, Write},
};

use calamine::{Cell, Data, DataRef, ExcelDateTime, Reader, Xls, Xlsb, Xlsx};

use super::{Stop, TextWriter};

/// Streams cells, so that remote cells need no memory for empty ones.
pub(super) fn xlsx<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let mut workbook = Xlsx::new(Cursor::new(content)).map_err(Stop::unreadable)?;
    for name in workbook.sheet_names() {
        begin_sheet(&name, text)?;
        // Charts are sheets without cells.
        let Ok(mut cells) = workbook.worksheet_cells_reader(&name) else { continue };
        push_cells(|| cells.next_cell(), text)?;
    }
    text.push("\n")
}

pub(super) fn xlsb<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let mut workbook = Xlsb::new(Cursor::new(content)).map_err(Stop::unreadable)?;
    for name in workbook.sheet_names() {
        begin_sheet(&name, text)?;
        let Ok(mut cells) = workbook.worksheet_cells_reader(&name) else { continue };
        push_cells(|| cells.next_cell(), text)?;
    }
    text.push("\n")
}

fn push_cells<'a, W: Write, E: Display>(
    mut next: impl FnMut() -> Result<Option<Cell<DataRef<'a>>>, E>,
    text: &mut TextWriter<W>,
) -> Result<(), Stop> {
    let mut row = None;
    while let Some(cell) = next().map_err(Stop::unreadable)? {
        push_cell(&mut row, cell.get_position().0, cell.get_value(), text)?;
    }
    Ok(())
}

/// The format of 1997; sheets are loaded whole.
pub(super) fn xls<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let mut workbook = Xls::new(Cursor::new(content)).map_err(Stop::unreadable)?;
    for (name, range) in workbook.worksheets() {
        begin_sheet(&name, text)?;
        let mut last = None;
        for (row, _, value) in range.used_cells() {
            let row = u32::try_from(row).unwrap_or(u32::MAX);
            push_cell(&mut last, row, &borrowed(value), text)?;
        }
    }
    text.push("\n")
}

fn begin_sheet<W: Write>(name: &str, text: &mut TextWriter<W>) -> Result<(), Stop> {
    text.push("\n")?;
    text.push(name)?;
    text.flush()
}

fn borrowed(value: &Data) -> DataRef<'_> {
    match value {
        Data::Int(value) => DataRef::Int(*value),
        Data::Float(value) => DataRef::Float(*value),
        Data::Bool(value) => DataRef::Bool(*value),
        Data::DateTime(value) => DataRef::DateTime(*value),
        Data::String(value) | Data::DateTimeIso(value) | Data::DurationIso(value) => {
            DataRef::SharedString(value)
        }
        _ => DataRef::Empty,
    }
}

fn push_cell<W: Write>(
    last: &mut Option<u32>,
    row: u32,
    value: &DataRef<'_>,
    text: &mut TextWriter<W>,
) -> Result<(), Stop> {
    let shown = match value {
        DataRef::String(value) | DataRef::DateTimeIso(value) | DataRef::DurationIso(value) => value.clone(),
        DataRef::SharedString(value) => (*value).to_owned(),
        DataRef::Int(value) => value.to_string(),
        DataRef::Float(value) => value.to_string(),
        DataRef::DateTime(value) => time(value),
        DataRef::Bool(_) | DataRef::Error(_) | DataRef::Empty => return Ok(()),
    };
    text.push(if *last == Some(row) { "\t" } else { "\n" })?;
    *last = Some(row);
    text.push(&shown)
}

/// Dates without the time, since people search for days.
fn time(value: &ExcelDateTime) -> String {
    if value.is_duration() {
        return String::new();
    }
    let (year, month, day, ..) = value.to_ymd_hms_milli();
    format!("{year:04}-{month:02}-{day:02}")
}
