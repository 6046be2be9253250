//! Workbooks since 2007: names of sheets, and cells as they are shown, a line per row.

pub(super) mod binary;
mod languages;
pub(super) mod number_formats;

use std::{borrow::Cow, collections::BTreeSet, io::Write};

use quick_xml::{
    XmlVersion,
    events::{BytesStart, Event},
};

use self::number_formats::NumberFormats;
use super::{
    Stop, TextWriter,
    encoding::{decode_marked_up, decode_marked_up_noted},
    package::{Package, Relationship, relationship_of},
    xml::{MAX_DEPTH, attribute, each_element, lenient_reader, local_name, resolved},
};

/// Sheets that are read.
const MAX_SHEETS: usize = 10_000;

/// Excel repeats no more than 32,767 characters in a cell.
const MAX_CELL_BYTES: usize = 128 << 10;

/// A sheet's name and part.
struct Sheet {
    name: String,
    part: Option<String>,
}

/// Reads the sheets of a workbook, and marks their parts as read.
pub(super) fn workbook<W: Write>(
    package: &mut Package<'_>,
    xml: &str,
    parts: &[Relationship],
    read: &mut BTreeSet<String>,
    text: &mut TextWriter<W>,
) -> Result<(), Stop> {
    let mut part_of = |kind: &str, usual: &str, text: &mut TextWriter<W>| {
        let named = parts.iter().find(|part| part.kind == kind && package.has(&part.target));
        let name = named.map_or(usual, |part| part.target.as_str());
        let bytes = if package.has(name) { package.read(name, text) } else { Ok(Vec::new()) };
        bytes.unwrap_or_else(|error| {
            text.note(format!("{name}: {error}"));
            Vec::new()
        })
    };
    let strings = part_of("sharedStrings", "xl/sharedstrings.xml", text);
    let styles = part_of("styles", "xl/styles.xml", text);
    let (sheets, is_1904) = sheets_in(xml, parts);
    let cells = CellReader {
        strings: shared_strings(&decode_marked_up_noted(&strings, text)),
        formats: NumberFormats::read(&decode_marked_up(&styles), is_1904),
    };
    for (number, sheet) in (1..).zip(sheets) {
        text.push("\n")?;
        text.push(&sheet.name)?;
        text.flush()?;
        let part = sheet.part.unwrap_or_else(|| format!("xl/worksheets/sheet{number}.xml"));
        if !read.insert(part.clone()) {
            continue;
        }
        let sheet_read = match package.read(&part, text) {
            Ok(bytes) => {
                let xml = decode_marked_up_noted(&bytes, text);
                cells.read(&xml, text)
            }
            Err(error) => Err(error),
        };
        text.pass(&part, sheet_read)?;
    }
    text.push("\n")
}

/// The sheets in their order, and whether days are counted from 1904 on.
fn sheets_in(xml: &str, parts: &[Relationship]) -> (Vec<Sheet>, bool) {
    let (mut sheets, mut is_1904) = (Vec::new(), false);
    each_element(xml, |name, element| match name {
        "sheet" if sheets.len() < MAX_SHEETS => sheets.push(Sheet {
            name: attribute(element, "name").unwrap_or_default(),
            part: relationship_of(element, parts).map(|part| part.target.clone()),
        }),
        "workbookPr" => is_1904 = attribute(element, "date1904").is_some_and(|is| is == "1" || is == "true"),
        _ => {}
    });
    (sheets, is_1904)
}

/// Strings one behind another, and where each ends.
#[derive(Default)]
struct SharedStrings {
    text: String,
    ends: Vec<u32>,
}

impl SharedStrings {
    fn get(&self, place: usize) -> Option<&str> {
        let end = *self.ends.get(place)? as usize;
        let begin =
            place.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |begin| *begin as usize);
        self.text.get(begin..end)
    }

    fn end(&mut self) {
        self.ends.extend(u32::try_from(self.text.len()));
    }
}

/// Strings without their phonetic hints.
fn shared_strings(xml: &str) -> SharedStrings {
    let mut reader = lenient_reader(xml);
    let mut strings = SharedStrings::default();
    let (mut is_text, mut hints) = (false, 0_usize);
    while let Ok(event) = reader.read_event() {
        match event {
            Event::Start(element) => match local_name(&element) {
                "rPh" => hints += 1,
                "t" => is_text = hints == 0,
                _ => {}
            },
            Event::Empty(element) if local_name(&element) == "si" => strings.end(),
            Event::End(element) => match element.local_name().as_ref() {
                "si" => strings.end(),
                "rPh" => hints = hints.saturating_sub(1),
                "t" => is_text = false,
                _ => {}
            },
            Event::Eof => break,
            event if is_text => push_characters(&mut strings.text, &event),
            _ => {}
        }
    }
    strings
}

/// A string without its escapes of characters that XML lacks: `_x000D_`.
fn unescaped(string: &str) -> Cow<'_, str> {
    if !string.contains("_x") {
        return string.into();
    }
    let (mut plain, mut rest) = (String::new(), string);
    while let Some((before, behind)) = rest.split_once("_x") {
        plain.push_str(before);
        let code = behind.get(..5).and_then(|code| code.strip_suffix('_'));
        let unit = code.and_then(|code| u32::from_str_radix(code, 16).ok());
        if let Some(character) = unit.and_then(char::from_u32) {
            plain.push(if character.is_control() { ' ' } else { character });
            rest = &behind[5..];
        } else {
            plain.push_str("_x");
            rest = behind;
        }
    }
    plain.push_str(rest);
    plain.into()
}

fn push_characters(string: &mut String, event: &Event<'_>) {
    match event {
        Event::Text(piece) => string.push_str(&piece.xml_content(XmlVersion::Implicit1_0)),
        Event::CData(piece) => string.push_str(&piece.xml_content(XmlVersion::Implicit1_0)),
        Event::GeneralRef(reference) => string.push_str(&resolved(reference)),
        _ => {}
    }
}

struct CellReader {
    strings: SharedStrings,
    formats: NumberFormats,
}

/// A cell that is being read.
#[derive(Default)]
struct OpenCell {
    kind: String,
    style: usize,
    value: String,
}

impl OpenCell {
    fn of(element: &BytesStart<'_>) -> Self {
        Self {
            kind: attribute(element, "t").unwrap_or_default(),
            style: attribute(element, "s").and_then(|style| style.parse().ok()).unwrap_or_default(),
            value: String::new(),
        }
    }
}

impl CellReader {
    /// Reads cells in order, then the printed headers and footers.
    fn read<W: Write>(&self, xml: &str, text: &mut TextWriter<W>) -> Result<(), Stop> {
        let mut reader = lenient_reader(xml);
        let (mut cell, mut is_value, mut is_first, mut depth) = (None::<OpenCell>, false, true, 0_usize);
        let mut header = None::<String>;
        loop {
            match reader.read_event().map_err(Stop::unreadable)? {
                Event::Start(element) => {
                    depth += 1;
                    if depth > MAX_DEPTH {
                        return Err(Stop::Unreadable(format!(
                            "its elements are nested deeper than {MAX_DEPTH}"
                        )));
                    }
                    match local_name(&element) {
                        "row" => is_first = true,
                        "c" => cell = Some(OpenCell::of(&element)),
                        "v" | "t" => is_value = true,
                        name if is_header(name) => header = Some(String::new()),
                        _ => {}
                    }
                }
                Event::End(element) => {
                    depth = depth.saturating_sub(1);
                    match element.local_name().as_ref() {
                        "c" => {
                            let shown = cell.take().map(|cell| self.shown(&cell)).unwrap_or_default();
                            if !shown.is_empty() {
                                text.push(if is_first { "\n" } else { "\t" })?;
                                text.push(&shown)?;
                                is_first = false;
                            }
                        }
                        "v" | "t" => is_value = false,
                        name if is_header(name) => {
                            text.push("\n")?;
                            text.push(&without_codes(&header.take().unwrap_or_default()))?;
                        }
                        _ => {}
                    }
                }
                Event::Eof => return text.push("\n"),
                event => {
                    if let Some(header) = &mut header {
                        push_characters(header, &event);
                    } else if let Some(cell) =
                        cell.as_mut().filter(|cell| is_value && cell.value.len() < MAX_CELL_BYTES)
                    {
                        push_characters(&mut cell.value, &event);
                    }
                }
            }
        }
    }

    /// Returns the cell as it is shown.
    ///
    /// What is no number where one should be stays as it is stored.
    fn shown(&self, cell: &OpenCell) -> String {
        let value = cell.value.trim();
        match cell.kind.as_str() {
            "s" => {
                let string = value.parse().ok().and_then(|place: usize| self.strings.get(place));
                unescaped(string.unwrap_or_default()).into_owned()
            }
            "inlineStr" | "str" => unescaped(&cell.value).into_owned(),
            "b" => if value == "1" { "TRUE" } else { "FALSE" }.to_owned(),
            "e" => String::new(),
            _ => match value.parse() {
                Ok(number) if f64::is_finite(number) => self.formats.show(cell.style, number),
                _ => value.strip_suffix("T00:00:00").unwrap_or(value).to_owned(),
            },
        }
    }
}

fn is_header(name: &str) -> bool {
    ["oddHeader", "evenHeader", "firstHeader", "oddFooter", "evenFooter", "firstFooter"].contains(&name)
}

/// A printed header without its codes: `&L`, `&"Arial,Bold"`, `&12`, `&K000000`.
pub(super) fn without_codes(header: &str) -> String {
    let mut shown = String::new();
    let mut rest = header;
    while let Some((before, code)) = rest.split_once('&') {
        shown.push_str(before);
        let mut characters = code.chars();
        rest = match characters.next() {
            Some('"') => characters.as_str().split_once('"').map_or("", |(_, behind)| behind),
            Some('K' | 'k') => characters.as_str().get(6..).unwrap_or_default(),
            Some('&') => {
                shown.push('&');
                characters.as_str()
            }
            Some(digit) if digit.is_ascii_digit() => {
                code.trim_start_matches(|digit: char| digit.is_ascii_digit())
            }
            Some(_) => {
                shown.push(' ');
                characters.as_str()
            }
            None => "",
        };
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::without_codes;

    #[test]
    fn codes_of_a_printed_header_are_no_text() {
        let words = |header: &str| without_codes(header).split_whitespace().collect::<Vec<_>>().join(" ");
        for (header, shown) in [
            ("&LQuay ledger&RIvo Stam", "Quay ledger Ivo Stam"),
            ("&C&\"Arial,Bold\"&12Fees&K0000FF 2026", "Fees 2026"),
            ("Smith && Sons&P of &N", "Smith & Sons of"),
            ("&", ""),
            ("&\"open", ""),
        ] {
            assert_eq!(words(header), shown, "{header}");
        }
    }
}
