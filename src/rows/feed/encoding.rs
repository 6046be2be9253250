//! Decodes a document whose encoding may be declared, declared wrongly, or not at all.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// The bytes in which an XML declaration stands.
const HEAD_BYTES: usize = 8 * 1024;
/// How much rarer broken places must be than whole ones.
const LIKELY: usize = 8;

/// A text, and what was guessed or lost.
pub(super) struct Decoded {
    pub(super) text: String,
    pub(super) note: Option<String>,
}

/// Decodes by mark, HTTP (RFC 7303 §3), declaration, else by detection.
///
/// Characters that XML forbids are dropped.
pub(super) fn decode(bytes: &[u8], charset: Option<&str>) -> Decoded {
    let mut decoded = decode_any(bytes, charset);
    let is_forbidden = |character| matches!(character, '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}');
    if decoded.text.contains(is_forbidden) {
        decoded.text.retain(|character| !is_forbidden(character));
    }
    // Controls of C1 are windows-1252 that was taken for Latin-1.
    if decoded.text.contains(|character: char| ('\u{80}'..='\u{9f}').contains(&character)) {
        let shown = |character: char| match u8::try_from(u32::from(character)) {
            Ok(byte @ 0x80..=0x9f) => {
                WINDOWS_1252.decode_without_bom_handling(&[byte]).0.chars().next().unwrap_or(character)
            }
            _ => character,
        };
        decoded.text = decoded.text.chars().map(shown).collect();
    }
    decoded
}

fn decode_any(bytes: &[u8], charset: Option<&str>) -> Decoded {
    let bytes = match Encoding::for_bom(bytes) {
        // A script that is stored with a mark may write another encoding.
        Some((encoding, mark)) if encoding == UTF_8 && !Utf8Count::of(&bytes[mark..]).is_likely(1) => {
            &bytes[mark..]
        }
        Some((encoding, mark)) => return lossy(encoding, &bytes[mark..]),
        None => bytes,
    };
    match bytes {
        [b'<', 0, _, 0, ..] => return lossy(UTF_16LE, bytes),
        [0, b'<', 0, _, ..] => return lossy(UTF_16BE, bytes),
        _ => {}
    }
    let labels = [charset.map(str::as_bytes), declared(bytes)].into_iter().flatten();
    let labelled: Vec<_> = labels.filter_map(Encoding::for_label).collect();
    let first = labelled.first().copied().unwrap_or(UTF_8);
    let count = Utf8Count::of(bytes);
    // Valid UTF-8 is hardly ever of an encoding of single bytes, whatever is declared.
    let is_utf8 = if first.is_single_byte() || !is_usable(first) {
        count.broken == 0 || count.is_likely(if first == UTF_8 { 1 } else { LIKELY })
    } else {
        count.is_beyond_chance && count.is_likely(LIKELY)
    };
    if is_utf8 {
        return lossy(UTF_8, bytes);
    }
    let usable = || labelled.iter().copied().filter(|encoding| is_usable(encoding));
    let strict = |encoding: &'static Encoding| {
        encoding.decode_without_bom_handling_and_without_replacement(bytes).map(Cow::into_owned)
    };
    if let Some(text) = usable().find_map(strict) {
        return Decoded { text, note: None };
    }
    if count.broken == 0 {
        return lossy(UTF_8, bytes);
    }
    usable()
        .map(|encoding| lossy(encoding, bytes))
        .find(has_few_errors)
        .unwrap_or_else(|| guess(bytes, count))
}

/// Tells whether it fits a declaration that was read as ASCII.
fn is_usable(encoding: &'static Encoding) -> bool {
    ![UTF_8, UTF_16LE, UTF_16BE].contains(&encoding)
}

/// Sequences of UTF-8 beyond ASCII, and places that are none.
#[derive(Clone, Copy)]
struct Utf8Count {
    whole: usize,
    broken: usize,
    /// Whether its sequences are hardly pairs of another encoding.
    is_beyond_chance: bool,
}

impl Utf8Count {
    fn of(bytes: &[u8]) -> Self {
        let leads = |least: u8| {
            let valid = bytes.utf8_chunks().flat_map(|chunk| chunk.valid().bytes());
            valid.filter(|byte| *byte >= least).count()
        };
        let whole = leads(0xc0);
        let broken = bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
        Self { whole, broken, is_beyond_chance: whole > 2 || leads(0xe0) > 0 }
    }

    /// Whether there are `times` as many whole sequences as broken places.
    fn is_likely(self, times: usize) -> bool {
        self.whole >= self.broken * times
    }
}

/// Whether at most a quarter of the characters beyond ASCII are not of the encoding.
fn has_few_errors(decoded: &Decoded) -> bool {
    let count = |is_it: fn(char) -> bool| decoded.text.chars().filter(|character| is_it(*character)).count();
    count(|character| character == char::REPLACEMENT_CHARACTER) * 4
        <= count(|character| !character.is_ascii())
}

/// The encoding that an XML declaration names, if the bytes have one of ASCII.
fn declared(bytes: &[u8]) -> Option<&[u8]> {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    let start = head.windows(5).position(|window| window == b"<?xml")?;
    let end = head[start..].iter().position(|byte| *byte == b'>')?;
    let declaration = &head[start..start + end];
    let place = declaration.windows(8).position(|window| window == b"encoding")?;
    declaration[place + 8..].split(|byte| matches!(byte, b'"' | b'\'')).nth(1)
}

fn guess(bytes: &[u8], count: Utf8Count) -> Decoded {
    if count.is_likely(1) {
        return lossy(UTF_8, bytes);
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let encoding = detector.guess(None, Utf8Detection::Deny);
    let Decoded { text, .. } = lossy(encoding, bytes);
    let note =
        format!("the encoding is neither stated rightly nor UTF-8; it was read as {}", encoding.name());
    Decoded { text, note: Some(note) }
}

fn lossy(encoding: &'static Encoding, bytes: &[u8]) -> Decoded {
    let (text, has_errors) = encoding.decode_without_bom_handling(bytes);
    let note = has_errors.then(|| {
        let count = text.matches(char::REPLACEMENT_CHARACTER).count();
        format!("{count} characters are not {} and stand as {}", encoding.name(), char::REPLACEMENT_CHARACTER)
    });
    Decoded { text: text.into_owned(), note }
}

#[cfg(test)]
mod tests {
    use encoding_rs::{BIG5, EUC_KR, GBK, ISO_8859_2, SHIFT_JIS, WINDOWS_1251};

    use super::*;

    fn document(declaration: &str, text: &str) -> String {
        format!("<?xml version=\"1.0\"{declaration}?><rss><title>{text}</title></rss>")
    }

    #[test]
    fn charset_of_http_wins_over_the_declaration() {
        for (encoding, text) in [
            (GBK, "港口的潮汐表每天更新"),
            (WINDOWS_1251, "Порт принимает суда каждый день"),
            (SHIFT_JIS, "港の入港税は毎月末に支払う"),
            (BIG5, "港口的潮汐表每天更新"),
            (EUC_KR, "항구의 조석표"),
            (ISO_8859_2, "őszi tűzifa"),
        ] {
            for declaration in ["", " encoding=\"utf-8\"", " encoding='iso-8859-1'", " encoding=\"utf-16\""] {
                let document = document(declaration, text);
                let decoded = decode(&encoding.encode(&document).0, Some(encoding.name()));
                assert_eq!((&decoded.text, decoded.note), (&document, None), "{}", encoding.name());
            }
        }
    }

    #[test]
    fn declaration_is_believed_unless_the_bytes_say_otherwise() {
        let russian = document(" encoding='windows-1251'", "Порт принимает суда");
        assert_eq!(decode(&WINDOWS_1251.encode(&russian).0, None).text, russian);
        for declaration in
            ["", " encoding=\"iso-8859-1\"", " encoding=\"utf-16\"", " encoding=\"nonsense\"", " encoding="]
        {
            let french = document(declaration, "Café de la jetée");
            assert_eq!(decode(french.as_bytes(), None).text, french);
            assert_eq!(decode(french.as_bytes(), Some("ISO-8859-1")).text, french);
        }
        let decoded = decode(b"<rss><title>Caf\xe9 de la jet\xe9e</title></rss>", Some("utf-8"));
        assert_eq!(decoded.text, "<rss><title>Café de la jetée</title></rss>");
        assert!(decoded.note.unwrap().contains("windows-1252"));
        let decoded = decode(b"<rss>\xc3\xa4\xc3\xb6 cut \xc3</rss>", None);
        assert_eq!(decoded.text, "<rss>äö cut \u{fffd}</rss>");
        assert!(decoded.note.unwrap().starts_with("1 characters"));
    }

    #[test]
    fn declared_encoding_with_few_broken_characters_is_read() {
        for (encoding, text) in [
            (GBK, "港口的潮汐表每天更新，船舶须按时进港"),
            (SHIFT_JIS, "港の入港税は毎月末に支払う"),
            (EUC_KR, "항구의 조석표는 매일 갱신된다"),
            (BIG5, "港口的潮汐表每天更新"),
        ] {
            let document = document(&format!(" encoding='{}'", encoding.name()), text);
            let mut bytes = encoding.encode(&document).0.into_owned();
            bytes.remove(document.find(text).unwrap() + encoding.encode(text).0.len() - 1);
            for charset in [None, Some(encoding.name()), Some("utf-8")] {
                let Decoded { text: read, note } = decode(&bytes, charset);
                let whole = text.chars().take(5).collect::<String>();
                assert!(read.contains(&whole) && read.ends_with("</rss>"), "{charset:?}: {read}");
                assert!(note.unwrap().contains(encoding.name()));
            }
        }
    }

    #[test]
    fn utf_8_with_few_broken_places_wins_over_another_declaration() {
        for charset in ["gb2312", "iso-8859-1", "shift_jis", "windows-1251", "utf-8"] {
            let text = document(" encoding='windows-1252'", "Quay’s café: 港口的潮汐表每天更新");
            assert_eq!(decode(text.as_bytes(), Some(charset)).text, text, "{charset}");
            let broken = [text.as_bytes(), b"\xe6\xbd"].concat();
            let Decoded { text: read, note } = decode(&broken, Some(charset));
            assert_eq!(read.trim_end_matches('\u{fffd}'), text, "{charset}");
            assert!(note.unwrap().starts_with("1 characters"), "{charset}");
        }
        for text in ["港口", "café, thé, été"] {
            assert_eq!(decode(text.as_bytes(), Some("gb2312")).text, text);
        }
        // As UTF-8 it would be Greek and Cyrillic.
        assert_eq!(decode(b"<a>\xcd\xb3\xd2\xbb</a>", Some("gb2312")).text, "<a>统一</a>");
    }

    #[test]
    fn mark_of_utf_8_before_another_encoding_is_none() {
        let text = document(" encoding='gb2312'", "港口的潮汐表每天更新");
        let bytes = [&b"\xef\xbb\xbf"[..], &GBK.encode(&text).0].concat();
        assert_eq!(decode(&bytes, None).text, text);
        assert_eq!(decode("\u{feff}<a>été".as_bytes(), Some("gb2312")).text, "<a>été");
    }

    #[test]
    fn utf_16_is_read_with_and_without_mark() {
        let text = document(" encoding=\"utf-16\"", "Quay 港口");
        let units = |mark: &str| format!("{mark}{text}").encode_utf16().collect::<Vec<_>>();
        for mark in ["\u{feff}", ""] {
            let little: Vec<u8> = units(mark).iter().flat_map(|unit| unit.to_le_bytes()).collect();
            let big: Vec<u8> = units(mark).iter().flat_map(|unit| unit.to_be_bytes()).collect();
            assert_eq!(decode(&little, None).text, text);
            assert_eq!(decode(&big, Some("utf-8")).text, text);
        }
    }

    #[test]
    fn forbidden_characters_are_dropped() {
        assert_eq!(decode("<a>don\u{92}t".as_bytes(), None).text, "<a>don’t");
        assert_eq!(decode(b"<a>\x00b\x0bc\td\r\n</a>\x00", None).text, "<a>bc\td\r\n</a>");
    }
}
