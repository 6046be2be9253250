//! Rich Text Format 1.9.1.
//!
//! Own, since the parsers at hand refuse a whole file for one fault in it, and keep it whole in memory.

use std::{collections::HashMap, io::Write};

use encoding_rs::{
    BIG5, EUC_KR, Encoding, GBK, IBM866, MACINTOSH, SHIFT_JIS, WINDOWS_874, WINDOWS_1250, WINDOWS_1251,
    WINDOWS_1252, WINDOWS_1253, WINDOWS_1254, WINDOWS_1255, WINDOWS_1256, WINDOWS_1257, WINDOWS_1258,
};

use super::{Stop, TextWriter};

/// Groups within groups that are told apart; deeper ones count as the last.
const MAX_GROUPS: usize = 1_000;

/// Destinations without visible text.
const HIDDEN: [&str; 25] = [
    "fonttbl",
    "colortbl",
    "stylesheet",
    "info",
    "pict",
    "objdata",
    "themedata",
    "colorschememapping",
    "datastore",
    "latentstyles",
    "listtable",
    "listoverridetable",
    "rsidtbl",
    "generator",
    "fldinst",
    "xmlnstbl",
    "filetbl",
    "revtbl",
    "bkmkstart",
    "bkmkend",
    "nonshppict",
    "private",
    "mmathPr",
    "pntext",
    "sp",
];

/// What a group may change.
#[derive(Clone, Copy)]
struct Group {
    is_hidden: bool,
    /// Bytes that stand for a character of `\u`, for readers without Unicode.
    fallback_bytes: usize,
    font: i32,
    is_font_table: bool,
}

struct Rtf<'a> {
    rest: &'a [u8],
    groups: Vec<Group>,
    /// Groups beyond the limit.
    uncounted: usize,
    code_page: &'static Encoding,
    fonts: HashMap<i32, &'static Encoding>,
    /// Bytes of the text that are not yet decoded.
    bytes: Vec<u8>,
    /// A first half of a character beyond the plane of 16 bits.
    surrogate: Option<u16>,
    skipped: usize,
    /// Whether the next destination may be unknown.
    is_optional: bool,
}

pub(super) fn rtf<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let group = Group { is_hidden: false, fallback_bytes: 1, font: -1, is_font_table: false };
    let mut reader = Rtf {
        rest: content,
        groups: vec![group],
        uncounted: 0,
        code_page: WINDOWS_1252,
        fonts: HashMap::new(),
        bytes: Vec::new(),
        surrogate: None,
        skipped: 0,
        is_optional: false,
    };
    while let Some((byte, rest)) = reader.rest.split_first() {
        reader.rest = rest;
        match byte {
            b'{' => reader.open(text)?,
            b'}' => reader.close(text)?,
            b'\\' => reader.control(text)?,
            b'\r' | b'\n' | 0 => {}
            byte => reader.byte(*byte),
        }
    }
    reader.flush(text)
}

impl Rtf<'_> {
    fn group(&mut self) -> &mut Group {
        let last = self.groups.len() - 1;
        &mut self.groups[last]
    }

    fn open<W: Write>(&mut self, text: &mut TextWriter<W>) -> Result<(), Stop> {
        self.flush(text)?;
        self.skipped = 0;
        if self.groups.len() == MAX_GROUPS {
            self.uncounted += 1;
        } else {
            let group = *self.group();
            self.groups.push(group);
        }
        Ok(())
    }

    fn close<W: Write>(&mut self, text: &mut TextWriter<W>) -> Result<(), Stop> {
        self.flush(text)?;
        self.skipped = 0;
        if self.uncounted > 0 {
            self.uncounted -= 1;
        } else if self.groups.len() > 1 {
            self.groups.pop();
        }
        Ok(())
    }

    fn byte(&mut self, byte: u8) {
        if self.skipped > 0 {
            self.skipped -= 1;
        } else if !self.group().is_hidden {
            self.bytes.push(byte);
        }
    }

    fn control<W: Write>(&mut self, text: &mut TextWriter<W>) -> Result<(), Stop> {
        let Some((byte, rest)) = self.rest.split_first() else { return Ok(()) };
        if byte.is_ascii_alphabetic() {
            return self.word(text);
        }
        self.rest = rest;
        match byte {
            b'\'' => {
                let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
                if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
                    self.rest = &rest[2..];
                    self.byte(byte);
                }
                Ok(())
            }
            b'*' => {
                self.is_optional = true;
                Ok(())
            }
            b'\r' | b'\n' => self.push("\n", text),
            b'~' => self.push("\u{a0}", text),
            b'_' => self.push("-", text),
            b'\\' | b'{' | b'}' => {
                self.byte(*byte);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn word<W: Write>(&mut self, text: &mut TextWriter<W>) -> Result<(), Stop> {
        let length = self.rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let (name, rest) = self.rest.split_at(length);
        let sign = usize::from(rest.first() == Some(&b'-'));
        let digits = rest[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let end = if digits > 0 { sign + digits } else { 0 };
        let number = std::str::from_utf8(&rest[..end]).ok().and_then(|number| number.parse::<i32>().ok());
        self.rest = rest[end..].strip_prefix(b" ").unwrap_or(&rest[end..]);
        let name = std::str::from_utf8(name).unwrap_or_default();
        let is_optional = std::mem::take(&mut self.is_optional);
        match (name, number) {
            // Never more than is there.
            ("bin", Some(length)) => {
                let length = usize::try_from(length).unwrap_or_default().min(self.rest.len());
                self.rest = &self.rest[length..];
            }
            ("ansicpg", Some(number)) => self.code_page = of_code_page(number).unwrap_or(self.code_page),
            ("mac", None) => self.code_page = MACINTOSH,
            ("uc", Some(bytes)) => self.group().fallback_bytes = usize::try_from(bytes).unwrap_or(1).min(16),
            ("u", Some(unit)) => return self.unit(unit, text),
            ("f" | "af", Some(font)) => {
                self.flush(text)?;
                self.group().font = font;
            }
            ("fcharset", Some(charset)) if self.group().is_font_table => {
                let font = self.group().font;
                self.fonts.extend(of_charset(charset).map(|encoding| (font, encoding)));
            }
            ("fonttbl", _) => {
                self.group().is_font_table = true;
                self.group().is_hidden = true;
            }
            ("v", number) => {
                self.flush(text)?;
                self.group().is_hidden = number != Some(0);
            }
            ("par" | "line" | "row" | "sect" | "page" | "nestrow", None) => self.push("\n", text)?,
            ("tab" | "cell" | "nestcell", None) => self.push("\t", text)?,
            ("emspace" | "enspace" | "qmspace", None) => self.push(" ", text)?,
            ("lquote", None) => self.push("‘", text)?,
            ("rquote", None) => self.push("’", text)?,
            ("ldblquote", None) => self.push("“", text)?,
            ("rdblquote", None) => self.push("”", text)?,
            ("endash", None) => self.push("–", text)?,
            ("emdash", None) => self.push("—", text)?,
            ("bullet", None) => self.push("•", text)?,
            (name, _) if HIDDEN.contains(&name) => self.group().is_hidden = true,
            // Of a destination that a reader need not know, notes and shapes are shown.
            (name, _) if is_optional => {
                let is_shown = ["shpinst", "shptxt", "annotation", "footnote", "fldrslt"].contains(&name);
                self.group().is_hidden |= !is_shown;
            }
            _ => {}
        }
        Ok(())
    }

    /// A UTF-16 unit, negative above 32,767.
    fn unit<W: Write>(&mut self, unit: i32, text: &mut TextWriter<W>) -> Result<(), Stop> {
        self.flush(text)?;
        self.skipped = self.group().fallback_bytes;
        let unit = u16::try_from(unit & 0xffff).unwrap_or_default();
        let units: Vec<u16> = self.surrogate.take().into_iter().chain([unit]).collect();
        if matches!(unit, 0xd800..0xdc00) {
            self.surrogate = Some(unit);
            return Ok(());
        }
        if self.group().is_hidden {
            return Ok(());
        }
        // Symbols of fonts that have no letters.
        let decoded = String::from_utf16_lossy(&units);
        text.push(&decoded.replace(|character| matches!(character, '\u{f000}'..='\u{f0ff}'), " "))
    }

    fn push<W: Write>(&mut self, piece: &str, text: &mut TextWriter<W>) -> Result<(), Stop> {
        self.flush(text)?;
        if self.group().is_hidden { Ok(()) } else { text.push(piece) }
    }

    fn flush<W: Write>(&mut self, text: &mut TextWriter<W>) -> Result<(), Stop> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let font = self.group().font;
        let encoding = self.fonts.get(&font).copied().unwrap_or(self.code_page);
        let bytes = std::mem::take(&mut self.bytes);
        text.push(&encoding.decode_without_bom_handling(&bytes).0)
    }
}

fn of_code_page(number: i32) -> Option<&'static Encoding> {
    Some(match number {
        866 => IBM866,
        874 => WINDOWS_874,
        932 => SHIFT_JIS,
        936 => GBK,
        949 => EUC_KR,
        950 => BIG5,
        1250 => WINDOWS_1250,
        1251 => WINDOWS_1251,
        1252 => WINDOWS_1252,
        1253 => WINDOWS_1253,
        1254 => WINDOWS_1254,
        1255 => WINDOWS_1255,
        1256 => WINDOWS_1256,
        1257 => WINDOWS_1257,
        1258 => WINDOWS_1258,
        10_000 => MACINTOSH,
        65_001 => encoding_rs::UTF_8,
        _ => return None,
    })
}

/// Character sets of Windows fonts.
fn of_charset(charset: i32) -> Option<&'static Encoding> {
    of_code_page(match charset {
        77 => 10_000,
        128 => 932,
        129 => 949,
        134 => 936,
        136 => 950,
        161 => 1253,
        162 => 1254,
        163 => 1258,
        177 => 1255,
        178 => 1256,
        186 => 1257,
        204 => 1251,
        222 => 874,
        238 => 1250,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn words(rtf_text: &[u8]) -> String {
        let mut written = Vec::new();
        let mut text = TextWriter::new(&mut written, 10_000);
        rtf(rtf_text, &mut text).unwrap();
        text.flush().unwrap();
        drop(text);
        String::from_utf8(written).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn prose_is_read_without_controls() {
        for (rtf, expected) in [
            (
                &br"{\rtf1\ansi quar{\b terly} M\'fcnchen\par fees\tab 2026}"[..],
                "quarterly München fees 2026",
            ),
            (br"{\rtf1{\fonttbl{\f0 Times;}{\f1\fcharset204 Arial;}}\f1 \'cf\'ee\'f0\'f2\f0 \'e9}", "Портé"),
            (br"{\rtf1\ansicpg936 \'b8\'db{\'bf\'da}}", "港口"),
            (br"{\rtf1\uc1 \u28207?\u21475 ?\uc2\u-10179??\u-8704??!}", "港口🌀!"),
            (br"{\rtf1{\*\generator Riched20;}{\info{\author Ivo}}tide{\pict 89504e47}}", "tide"),
            (
                br"{\rtf1{\field{\*\fldinst HYPERLINK https://x}{\fldrslt quay}} {\v hidden}shown}",
                "quay shown",
            ),
            (br"{\rtf1 a\bin5 }}}}}b}", "ab"),
            (br"{\rtf1 one\cell two\row no\_break 50\% \{x\}}}}} behind", "one two no-break 50 {x} behind"),
            (br"{\rtf1 open \'", "open"),
            (br"{\rtf1 \'zz\u99999999999 \bin99999 x", "zz"),
        ] {
            assert_eq!(words(rtf), expected, "{}", String::from_utf8_lossy(rtf));
        }
        assert_eq!(words(&[b"{\\rtf1 deep ".as_slice(), &b"{".repeat(100_000), b"x"].concat()), "deep x");
    }
}
