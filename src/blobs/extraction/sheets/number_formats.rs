//! Numbers as a workbook shows them.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

use quick_xml::events::Event;
use ssfmt::{DateSystem, FormatOptions, NumberFormat, format_code_from_id};

use super::{
    super::xml::{attribute, lenient_reader, local_name},
    languages::{Language, without_language},
};

/// Styles of cells that are kept, as many as Excel has.
pub(crate) const MAX_STYLES: usize = 65_536;

/// Formats that are kept, of which Excel has 250.
pub(crate) const MAX_FORMATS: usize = 2_000;

/// Bytes of a format's code, of which Excel has 255 characters.
const MAX_CODE_BYTES: usize = 1_024;

/// Whole numbers below this are shown with all digits.
const MAX_WHOLE: f64 = 1e15;

/// Numbers from here on are more than the library's integers hold.
const MAX_FORMATTED: f64 = 1e18;

/// Formats of dates that follow the reader's language are shown as ISO 8601.
const BY_LANGUAGE: [(u32, &str); 2] = [(14, "yyyy-mm-dd"), (22, "yyyy-mm-dd hh:mm")];

/// Date formats of East Asian languages; those between are times.
const EAST_ASIAN_DATES: [u32; 15] = [27, 28, 29, 30, 31, 34, 35, 36, 50, 51, 52, 53, 54, 57, 58];

/// The format of each style of cells; `None` is General.
pub(crate) struct NumberFormats {
    styles: Vec<Option<usize>>,
    formats: Vec<CodedFormat>,
    options: FormatOptions,
}

impl NumberFormats {
    /// Reads `styles.xml`; what it lacks is General.
    pub(super) fn read(xml: &str, is_1904: bool) -> Self {
        let (ids, custom) = styles_in(xml);
        Self::of(ids, &custom, is_1904)
    }

    /// Takes the id of each style and the codes of custom ids.
    pub(crate) fn of(ids: Vec<u32>, custom: &HashMap<u32, String>, is_1904: bool) -> Self {
        let mut formats = Vec::new();
        let mut places: HashMap<u32, Option<usize>> = HashMap::new();
        let mut place_of = |id: u32| {
            *places.entry(id).or_insert_with(|| {
                let format = parsed(&code_of(id, custom)?).filter(|_| formats.len() < MAX_FORMATS)?;
                formats.push(format);
                Some(formats.len() - 1)
            })
        };
        let styles = ids.into_iter().map(&mut place_of).collect();
        let date_system = if is_1904 { DateSystem::Date1904 } else { DateSystem::Date1900 };
        Self { styles, formats, options: FormatOptions { date_system, ..FormatOptions::default() } }
    }

    pub(crate) fn show(&self, style: usize, number: f64) -> String {
        let format = self.styles.get(style).copied().flatten().and_then(|place| self.formats.get(place));
        let format = format.filter(|_| number.abs() < MAX_FORMATTED);
        // The library is young: a panic is a number in General.
        let shown = format.and_then(|CodedFormat { format, language, decimals }| {
            let options =
                language.map_or_else(|| self.options.clone(), |language| language.options(&self.options));
            let number = decimals.map_or(number, |decimals| above_half(number, decimals));
            let shown =
                catch_unwind(AssertUnwindSafe(|| format.try_format(number, &options).ok())).ok().flatten();
            // The calendar has no days beyond the year 9999.
            shown.filter(|shown| !format.is_date_format() || !shown.trim_matches(['#', ' ']).is_empty())
        });
        shown.unwrap_or_else(|| general(number))
    }
}

/// A format, and what the library does not do.
struct CodedFormat {
    format: NumberFormat,
    language: Option<&'static Language>,
    /// Decimals of a number that is rounded to them.
    decimals: Option<usize>,
}

/// A number just above it, if its decimal digits are a half that is rounded up.
///
/// Excel rounds the digits: 1.005 is 1.01, though its bits are a little less.
fn above_half(number: f64, decimals: usize) -> f64 {
    // Excel has 15 digits.
    let digits =
        format!("{number:.14e}").parse().map_or_else(|_| String::new(), |number: f64| number.to_string());
    let is_half = digits
        .split_once('.')
        .is_some_and(|(_, fraction)| fraction.len() == decimals + 1 && fraction.ends_with('5'));
    if is_half { number * (1.0 + 2.0 * f64::EPSILON) } else { number }
}

/// Decimals of the numbers that a format shows; `None` for dates, fractions, powers and conditions.
fn decimals(code: &str) -> Option<usize> {
    let code = code.split(';').next().unwrap_or_default();
    if code.contains(['/', 'E', 'e', '<', '>', '=']) {
        return None;
    }
    let behind = code.split_once('.').map_or("", |(_, behind)| behind);
    let decimals = behind.chars().take_while(|character| matches!(character, '0' | '#' | '?')).count();
    Some(decimals + if code.contains('%') { 2 } else { 0 })
}

fn parsed(code: &str) -> Option<CodedFormat> {
    let (code, language) = without_language(code);
    if code.is_empty() || code.eq_ignore_ascii_case("General") || code == "@" {
        return None;
    }
    let format = catch_unwind(|| NumberFormat::parse(&code).ok()).ok().flatten()?;
    let decimals = decimals(&code).filter(|_| !format.is_date_format());
    Some(CodedFormat { format, language, decimals })
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
    let shown = ssfmt::format_default(number, "General").unwrap_or_else(|_| number.to_string());
    // Numbers that 11 digits show as nothing have an exponent.
    if shown.bytes().any(|byte| matches!(byte, b'1'..=b'9')) { shown } else { format!("{number:E}") }
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
                    "numFmt" if custom.len() < MAX_FORMATS => {
                        let code = attribute(&element, "formatCode");
                        custom.extend(id().zip(code.filter(|code| code.len() <= MAX_CODE_BYTES)));
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
            ("General", 3e-104, "3E-104"),
            ("00000", 123.0, "00123"),
            ("0.0%", 0.155, "15.5%"),
            ("#,##0.00", 1_234_567.8, "1,234,567.80"),
            ("h:mm", 14.5 / 24.0, "14:30"),
            ("yyyy\\-mm\\-dd", 46_096.0, "2026-03-15"),
            ("yyyy-mm-dd", 3_000_000.0, "3000000"),
            ("[h]:mm", 1.5, "36:00"),
            ("0.00E+00", 12_345.0, "1.23E+04"),
            ("&quot;No. &quot;0", 7.0, "No. 7"),
            ("#,##0.00\\ [$€-407]", 12.0, "12.00 €"),
            ("yyyy&quot;年&quot;m&quot;月&quot;d&quot;日&quot;", 46_096.0, "2026年3月15日"),
            ("@", 5.0, "5"),
            ("General", 1e308, "1E+308"),
            ("0", 1e308, "1E+308"),
            ("0", 4_000_123_412_341_234.0, "4000123412341234"),
            ("0.00", 1.005, "1.01"),
            ("0.00", 1.004_999, "1.00"),
            ("0.00", 0.1 + 0.185, "0.29"),
            ("0.00;(0.00)", -2.675, "(2.68)"),
            ("0%", 0.145, "15%"),
            ("0.##########", 123_456.7, "123456.7"),
            ("0.0000", 123_456_789_012.25, "123456789012.2500"),
            ("[&lt;=0.5]&quot;fail&quot;;&quot;pass&quot;", 0.5, "fail"),
            ("[$-407]d. mmmm yyyy", 46_096.0, "15. März 2026"),
            ("[$-de-DE]dddd", 46_096.0, "Sonntag"),
            ("[$-F800]dddd, mmmm dd, yyyy", 46_096.0, "Sunday, March 15, 2026"),
            ("[$-40C]mmm yy", 46_096.0, "mar 26"),
            ("[DBNum1][$-804]yyyy&quot;年&quot;m&quot;月&quot;", 46_096.0, "2026年3月"),
            ("[DBNum1]General", 7.0, "7"),
            ("[DBNum2][$-804]General", 7.0, "7"),
            ("[$-804]aaaa", 46_096.0, "星期日"),
            ("[$-411]ggge&quot;年&quot;", 46_096.0, "2026年"),
            ("[Red][&lt;0]0;0", 7.0, "7"),
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

    #[test]
    fn formats_beyond_the_bound_are_general() {
        let custom: String = (200..4_200)
            .map(|id| format!("<numFmt numFmtId='{id}' formatCode='0.0%'/>"))
            .collect::<Vec<_>>()
            .concat();
        let styles = (200..4_200).map(|id| format!("<xf numFmtId='{id}'/>")).collect::<Vec<_>>().concat();
        let formats =
            NumberFormats::read(&format!("<numFmts>{custom}</numFmts><cellXfs>{styles}</cellXfs>"), false);
        assert_eq!([formats.show(0, 0.5), formats.show(3_999, 0.5)], ["50.0%", "0.5"]);
        assert_eq!(formats.formats.len(), MAX_FORMATS);
    }
}
