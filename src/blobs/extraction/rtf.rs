//! Rich Text Format 1.9.1.
//!
//! Own, since the parsers at hand refuse a whole file for one fault in it, and keep it whole in memory.

mod destinations;

use std::{collections::HashMap, io::Write, mem::take};

use encoding_rs::{Encoding, MACINTOSH, WINDOWS_1252};

use self::destinations::{ASIDES, HIDDEN};
use super::{
    Stop, TextWriter,
    compound::object,
    encoding::{decode_dos, of_charset, of_code_page},
};

/// Groups within groups that are told apart; deeper ones count as the last.
const MAX_GROUPS: usize = 1_000;

/// Fonts that are kept.
const MAX_FONTS: usize = 32_768;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Destination {
    Text,
    Aside,
    FontTable,
    Object,
    Hidden,
}

/// What a group may change.
#[derive(Clone, Copy)]
struct Group {
    destination: Destination,
    is_invisible: bool,
    is_deleted: bool,
    /// Bytes that stand for a character of `\u`, for readers without Unicode.
    fallback_bytes: usize,
    /// None but the default one.
    font: Option<i32>,
}

impl Group {
    fn is_shown(&self) -> bool {
        let is_text = matches!(self.destination, Destination::Text | Destination::Aside);
        is_text && !self.is_invisible && !self.is_deleted
    }
}

struct Rtf<'a> {
    rest: &'a [u8],
    groups: Vec<Group>,
    /// Groups beyond the limit.
    uncounted: usize,
    code_page: &'static Encoding,
    is_dos: bool,
    default_font: i32,
    fonts: HashMap<i32, &'static Encoding>,
    /// Bytes of the text that are not yet decoded.
    bytes: Vec<u8>,
    aside: String,
    /// Digits of files that are embedded.
    objects: Vec<Vec<u8>>,
    /// A first half of a character beyond the plane of 16 bits.
    surrogate: Option<u16>,
    skipped: usize,
    /// Whether the group has just begun.
    is_begun: bool,
    /// Whether the next destination may be unknown.
    is_optional: bool,
}

pub(super) fn rtf<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let group = Group {
        destination: Destination::Text,
        is_invisible: false,
        is_deleted: false,
        fallback_bytes: 1,
        font: None,
    };
    let mut reader = Rtf {
        rest: content,
        groups: vec![group],
        uncounted: 0,
        code_page: WINDOWS_1252,
        is_dos: false,
        default_font: -1,
        fonts: HashMap::new(),
        bytes: Vec::new(),
        aside: String::new(),
        objects: Vec::new(),
        surrogate: None,
        skipped: 0,
        is_begun: false,
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
    reader.flush(text)?;
    text.push_line(&reader.aside)?;
    reader.objects.iter().try_for_each(|digits| object(digits, text))
}

impl Rtf<'_> {
    fn group(&mut self) -> &mut Group {
        let last = self.groups.len() - 1;
        &mut self.groups[last]
    }

    fn open<W: Write>(&mut self, text: &mut TextWriter<W>) -> Result<(), Stop> {
        self.flush(text)?;
        self.skipped = 0;
        self.is_begun = true;
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
        self.is_begun = false;
        if self.uncounted > 0 {
            self.uncounted -= 1;
        } else if self.groups.len() > 1 {
            self.groups.pop();
        }
        Ok(())
    }

    fn byte(&mut self, byte: u8) {
        self.is_begun = false;
        if self.skipped > 0 {
            self.skipped -= 1;
        } else if self.group().destination == Destination::Object {
            if let Some(digits) = self.objects.last_mut().filter(|_| byte.is_ascii_hexdigit()) {
                digits.push(byte);
            }
        } else if self.group().is_shown() {
            self.bytes.push(byte);
        }
    }

    fn control<W: Write>(&mut self, text: &mut TextWriter<W>) -> Result<(), Stop> {
        let Some((byte, rest)) = self.rest.split_first() else { return Ok(()) };
        let is_begun = take(&mut self.is_begun);
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
                self.is_optional = is_begun;
                Ok(())
            }
            b'\r' | b'\n' => self.end_line(text),
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
        let is_optional = take(&mut self.is_optional);
        match (name, number) {
            // Never more than is there.
            ("bin", Some(length)) => {
                let length = usize::try_from(length).unwrap_or_default().min(self.rest.len());
                let (data, rest) = self.rest.split_at(length);
                self.rest = rest;
                if self.group().destination == Destination::Object {
                    self.objects.extend([hex::encode(data).into_bytes()]);
                }
            }
            ("ansicpg", Some(number)) => {
                self.is_dos |= matches!(number, 437 | 850);
                self.code_page = of_code_page(number).unwrap_or(self.code_page);
            }
            ("mac", None) => self.code_page = MACINTOSH,
            ("pc" | "pca", None) => self.is_dos = true,
            ("deff", Some(font)) => self.default_font = font,
            ("uc", Some(bytes)) => self.group().fallback_bytes = usize::try_from(bytes).unwrap_or(1).min(16),
            ("u", Some(unit)) => return self.unit(unit, text),
            ("f" | "af", Some(font)) => {
                self.flush(text)?;
                self.group().font = Some(font);
            }
            ("plain", None) => {
                self.flush(text)?;
                let group = self.group();
                *group = Group { is_invisible: false, is_deleted: false, font: None, ..*group };
            }
            ("fcharset", Some(charset))
                if self.group().destination == Destination::FontTable && self.fonts.len() < MAX_FONTS =>
            {
                let font = self.group().font.unwrap_or_default();
                self.fonts.extend(of_charset(charset).map(|encoding| (font, encoding)));
            }
            ("objdata", _) => {
                self.group().destination = Destination::Object;
                self.objects.push(Vec::new());
            }
            // Within `info`, which is hidden.
            ("title" | "subject" | "keywords", None) => {
                self.group().destination = Destination::Aside;
                self.push("\n", text)?;
            }
            ("fonttbl", _) => self.group().destination = Destination::FontTable,
            ("v", number) => {
                self.flush(text)?;
                self.group().is_invisible = number != Some(0);
            }
            ("deleted", number) => {
                self.flush(text)?;
                self.group().is_deleted = number != Some(0);
            }
            ("par" | "row" | "sect" | "page" | "column" | "nestrow", None) => self.end_line(text)?,
            ("line" | "softline" | "softpage" | "softcol" | "lbr", _) => self.push("\n", text)?,
            ("tab" | "cell" | "nestcell", None) => self.push("\t", text)?,
            ("emspace" | "enspace" | "qmspace", None) => self.push(" ", text)?,
            ("lquote", None) => self.push("‘", text)?,
            ("rquote", None) => self.push("’", text)?,
            ("ldblquote", None) => self.push("“", text)?,
            ("rdblquote", None) => self.push("”", text)?,
            ("endash", None) => self.push("–", text)?,
            ("emdash", None) => self.push("—", text)?,
            ("bullet", None) => self.push("•", text)?,
            (name, _) if HIDDEN.contains(&name) => self.group().destination = Destination::Hidden,
            (name, None) if ASIDES.contains(&name) => self.begin_aside(text)?,
            // Of a destination that a reader need not know, notes and shapes are shown.
            (name, _) if is_optional && !["shpinst", "fldrslt"].contains(&name) => {
                self.group().destination = Destination::Hidden;
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
        // Symbols of fonts that have no letters.
        let decoded = String::from_utf16_lossy(&units);
        self.write(&decoded.replace(|character| matches!(character, '\u{f000}'..='\u{f0ff}'), " "), text)
    }

    fn push<W: Write>(&mut self, piece: &str, text: &mut TextWriter<W>) -> Result<(), Stop> {
        self.flush(text)?;
        self.write(piece, text)
    }

    fn flush<W: Write>(&mut self, text: &mut TextWriter<W>) -> Result<(), Stop> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let bytes = take(&mut self.bytes);
        let font = self.group().font.unwrap_or(self.default_font);
        match self.fonts.get(&font) {
            None if self.is_dos => self.write(&decode_dos(&bytes), text),
            encoding => {
                let encoding = encoding.copied().unwrap_or(self.code_page);
                self.write(&encoding.decode_without_bom_handling(&bytes).0, text)
            }
        }
    }

    fn write<W: Write>(&mut self, piece: &str, text: &mut TextWriter<W>) -> Result<(), Stop> {
        match *self.group() {
            group if !group.is_shown() => Ok(()),
            group if group.destination == Destination::Aside => {
                self.aside.push_str(piece);
                Ok(())
            }
            _ => text.push(piece),
        }
    }

    fn begin_aside<W: Write>(&mut self, text: &mut TextWriter<W>) -> Result<(), Stop> {
        if self.group().destination == Destination::Text {
            self.group().destination = Destination::Aside;
        }
        self.push("\n", text)
    }

    /// Ends a line; the asides within it follow.
    fn end_line<W: Write>(&mut self, text: &mut TextWriter<W>) -> Result<(), Stop> {
        self.push("\n", text)?;
        if self.group().destination == Destination::Text && !self.aside.is_empty() {
            text.push_line(&take(&mut self.aside))?;
        }
        Ok(())
    }
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
            (br"{\rtf1\uc1 \u28207?\u21475 ?\uc2\u-10179??\u-8704??!}", "港口😀!"),
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
