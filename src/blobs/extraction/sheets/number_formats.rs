//! Numbers as a workbook shows them.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

use quick_xml::events::Event;
use ssfmt::{DateSystem, FormatOptions, NumberFormat, format_code_from_id};

use super::super::xml::{attribute, lenient_reader, local_name};

/// Custom formats and styles that are kept.
const MAX_STYLES: usize = 65_536;

/// Whole numbers below this are shown with all digits, which a narrow column shows by powers of ten.
const MAX_WHOLE: f64 = 1e15;

/// Formats of dates that follow the reader's language are shown as ISO 8601.
const BY_LANGUAGE: [(u32, &str); 2] = [(14, "yyyy-mm-dd"), (22, "yyyy-mm-dd hh:mm")];

/// Formats of East Asian languages, which are dates but for the times of 32, 33, 55 and 56.
const EAST_ASIAN_DATES: [u32; 15] = [27, 28, 29, 30, 31, 34, 35, 36, 50, 51, 52, 53, 54, 57, 58];

/// The format of each style of cells; `None` is General.
pub(super) struct NumberFormats {
    styles: Vec<Option<usize>>,
    formats: Vec<NumberFormat>,
    options: FormatOptions,
}

impl NumberFormats {
    /// Reads `styles.xml`; what it lacks is General.
    pub(super) fn read(xml: &str, is_1904: bool) -> Self {
        let (ids, custom) = styles_in(xml);
        let mut formats = Vec::new();
        let mut places: HashMap<u32, Option<usize>> = HashMap::new();
        let mut place_of = |id: u32| {
            *places.entry(id).or_insert_with(|| {
                let format = parsed(&code_of(id, &custom)?)?;
                formats.push(format);
                Some(formats.len() - 1)
            })
        };
        let styles = ids.into_iter().map(&mut place_of).collect();
        let date_system = if is_1904 { DateSystem::Date1904 } else { DateSystem::Date1900 };
        Self { styles, formats, options: FormatOptions { date_system, ..FormatOptions::default() } }
    }

    pub(super) fn show(&self, style: usize, number: f64) -> String {
        let format = self.styles.get(style).copied().flatten().and_then(|place| self.formats.get(place));
        // The library is young: a panic is a number in General.
        let shown = format.and_then(|format| {
            catch_unwind(AssertUnwindSafe(|| format.try_format(number, &self.options).ok())).ok().flatten()
        });
        shown.unwrap_or_else(|| general(number))
    }
}

fn parsed(code: &str) -> Option<NumberFormat> {
    if code.is_empty() || code.eq_ignore_ascii_case("General") || code == "@" {
        return None;
    }
    catch_unwind(|| NumberFormat::parse(code).ok()).ok().flatten()
}

fn code_of(id: u32, custom: &HashMap<u32, String>) -> Option<String> {
    if let Some(code) = custom.get(&id) {
        return Some(code.clone());
    }
    if let Some((_, code)) = BY_LANGUAGE.iter().find(|(by_language, _)| *by_language == id) {
        return Some((*code).to_owned());
    }
    if EAST_ASIAN_DATES.contains(&id) {
        return Some("yyyy-mm-dd".to_owned());
    }
    match id {
        32 | 33 | 55 | 56 => Some("h:mm".to_owned()),
        // Amounts of money, without the language's currency.
        5 | 6 | 41 | 42 => Some("#,##0".to_owned()),
        7 | 8 | 43 | 44 => Some("#,##0.00".to_owned()),
        id => format_code_from_id(id).map(str::to_owned),
    }
}

/// General shows 11 digits.
fn general(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < MAX_WHOLE {
        return format!("{number}");
    }
    ssfmt::format_default(number, "General").unwrap_or_else(|_| number.to_string())
}

/// Ids of formats by style, and the codes of custom ones.
fn styles_in(xml: &str) -> (Vec<u32>, HashMap<u32, String>) {
    let mut reader = lenient_reader(xml);
    let (mut ids, mut custom) = (Vec::new(), HashMap::new());
    let mut is_of_cells = false;
    while let Ok(event) = reader.read_event() {
        match event {
            Event::Start(element) | Event::Empty(element) => {
                let id = || attribute(&element, "numFmtId").and_then(|id| id.parse().ok());
                match local_name(&element) {
                    "cellXfs" => is_of_cells = true,
                    "xf" if is_of_cells && ids.len() < MAX_STYLES => ids.push(id().unwrap_or_default()),
                    "numFmt" if custom.len() < MAX_STYLES => {
                        custom.extend(id().zip(attribute(&element, "formatCode")));
                    }
                    _ => {}
                }
            }
            Event::End(element) if element.local_name().as_ref() == "cellXfs" => is_of_cells = false,
            Event::Eof => break,
            _ => {}
        }
    }
    (ids, custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_shown(code: &str, number: f64, shown: &str) {
        let styles = format!(
            "<styleSheet><numFmts><numFmt numFmtId='164' formatCode='{code}'/></numFmts>\
             <cellStyleXfs><xf numFmtId='9'/></cellStyleXfs><cellXfs><xf numFmtId='164'/></cellXfs></styleSheet>"
        );
        assert_eq!(NumberFormats::read(&styles, false).show(0, number).trim(), shown, "{code}");
    }

    #[test]
    fn number_is_shown_by_its_format() {
        for (code, number, shown) in [
            ("General", 0.1 + 0.2, "0.3"),
            ("General", 4_006_381_333_931.0, "4006381333931"),
            ("General", -12.5, "-12.5"),
            ("00000", 123.0, "00123"),
            ("0.0%", 0.155, "15.5%"),
            ("#,##0.00", 1_234_567.8, "1,234,567.80"),
            ("h:mm", 14.5 / 24.0, "14:30"),
            ("yyyy\\-mm\\-dd", 46_096.0, "2026-03-15"),
            ("[h]:mm", 1.5, "36:00"),
            ("0.00E+00", 12_345.0, "1.23E+04"),
            ("&quot;No. &quot;0", 7.0, "No. 7"),
            ("#,##0.00\\ [$€-407]", 12.0, "12.00 €"),
            ("yyyy&quot;年&quot;m&quot;月&quot;d&quot;日&quot;", 46_096.0, "2026年3月15日"),
            ("@", 5.0, "5"),
            ("&quot;unclosed", 5.0, "5"),
        ] {
            assert_shown(code, number, shown);
        }
    }

    #[test]
    fn built_in_dates_are_shown_as_iso() {
        let styles =
            "<cellXfs><xf numFmtId='14'/><xf numFmtId='22'/><xf numFmtId='31'/><xf numFmtId='20'/></cellXfs>";
        let formats = NumberFormats::read(styles, false);
        let shown: Vec<String> = (0..5).map(|style| formats.show(style, 46_096.604_166_67)).collect();
        assert_eq!(shown, ["2026-03-15", "2026-03-15 14:30", "2026-03-15", "14:30", "46096.60417"]);
        assert_eq!(NumberFormats::read(styles, true).show(0, 44_634.0), "2026-03-15");
    }
}
