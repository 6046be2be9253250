//! Characters of a text in any encoding.

mod detection;

use std::{borrow::Cow, io::Write};

use encoding_rs::{
    BIG5, EUC_KR, Encoding, GBK, IBM866, ISO_2022_JP, MACINTOSH, SHIFT_JIS, UTF_8, UTF_16BE, UTF_16LE,
    WINDOWS_874, WINDOWS_1250, WINDOWS_1251, WINDOWS_1252, WINDOWS_1253, WINDOWS_1254, WINDOWS_1255,
    WINDOWS_1256, WINDOWS_1257, WINDOWS_1258,
};
use mail_parser::decoders::charsets::map::charset_decoder;

use self::detection::detected;
use super::TextWriter;

/// Bytes in which a page or XML declares its encoding.
const DECLARED_WITHIN: usize = 1_024;

/// Bytes by which an undeclared encoding is told.
const TOLD_BY: usize = 16 << 10;

/// Pairs of bytes below which UTF-16 cannot be told.
const MIN_PAIRS: usize = 4;

/// Sound characters for each damaged one, below which an encoding is another.
const SOUND_FOR_DAMAGED: usize = 4;

/// Beginnings of escape sequences into Japanese.
const JAPANESE_ESCAPES: [&[u8]; 3] = [b"\x1b$B", b"\x1b$@", b"\x1b(J"];

/// A text, and whether some of its bytes are no characters.
type Decoded<'a> = (Cow<'a, str>, bool);

/// Decodes by byte order mark, form, UTF-8, declaration, then detection.
pub(super) fn decode<'a>(content: &'a [u8], declared: Option<&'static Encoding>) -> Cow<'a, str> {
    decode_damaged(content, declared).0
}

/// Decodes, and notes bytes that are no characters.
pub(super) fn decode_noted<'a, W: Write>(
    content: &'a [u8],
    declared: Option<&'static Encoding>,
    text: &mut TextWriter<W>,
) -> Cow<'a, str> {
    let (decoded, is_damaged) = decode_damaged(content, declared);
    if is_damaged {
        text.note("some of its bytes are no characters of its encoding");
    }
    decoded
}

/// Decodes XML or a page, and notes bytes that are no characters.
pub(super) fn decode_marked_up_noted<'a, W: Write>(
    content: &'a [u8],
    text: &mut TextWriter<W>,
) -> Cow<'a, str> {
    decode_noted(content, declared(content), text)
}

/// Decodes XML, or a page, by what it declares.
pub(super) fn decode_marked_up(content: &[u8]) -> Cow<'_, str> {
    decode(content, declared(content))
}

fn decode_damaged<'a>(content: &'a [u8], declared: Option<&'static Encoding>) -> Decoded<'a> {
    if let Some((encoding, mark)) = Encoding::for_bom(content) {
        return decode_as(encoding, &content[mark..]);
    }
    if let Some(encoding) = utf16_without_mark(content) {
        return decode_as(encoding, content);
    }
    if is_iso_2022_jp(content) {
        // Escape sequences in a row, of texts that were joined, are no characters.
        let text = ISO_2022_JP.decode_without_bom_handling(content).0.replace('\u{fffd}', "");
        return (Cow::Owned(text), false);
    }
    if std::str::from_utf8(content).is_ok() || is_mostly_utf8(content) {
        return decode_as(UTF_8, content);
    }
    let as_declared = declared.map(|declared| decode_as(declared, content));
    as_declared.filter(|(text, _)| is_mostly_sound(text)).unwrap_or_else(|| detected(content))
}

/// Decodes up to a last character that is cut.
fn decode_as<'a>(encoding: &'static Encoding, content: &'a [u8]) -> Decoded<'a> {
    let (text, is_damaged) = encoding.decode_without_bom_handling(content);
    if !is_damaged {
        return (without_marks(text), false);
    }
    let mut text = without_marks(text).into_owned();
    if text.ends_with('\u{fffd}') {
        text.pop();
    }
    let is_damaged = text.contains('\u{fffd}');
    (Cow::Owned(text), is_damaged)
}

/// Byte order marks amid joined texts, and zeros, are invisible.
fn without_marks(text: Cow<'_, str>) -> Cow<'_, str> {
    let is_mark = |character| matches!(character, '\u{feff}' | '\0');
    if text.contains(is_mark) { Cow::Owned(text.replace(is_mark, "")) } else { text }
}

/// Whether sequences of UTF-8 outnumber damaged ones by far.
///
/// In other encodings, pairs such as `ß“` make a rare letter by chance.
fn is_mostly_utf8(content: &[u8]) -> bool {
    let (mut sound, mut damaged) = (0, 0);
    let mut rest = content.len();
    for chunk in content.utf8_chunks() {
        rest -= chunk.valid().len() + chunk.invalid().len();
        let is_rare = |character: char| matches!(character, '\u{100}'..='\u{7ff}');
        let other = chunk.valid().chars().filter(|character| !character.is_ascii());
        sound += other.map(|character| if is_rare(character) { 1 } else { 2 }).sum::<usize>();
        let is_cut = rest == 0
            && sound > 1
            && std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
        damaged += usize::from(!chunk.invalid().is_empty() && !is_cut);
    }
    sound >= 2 * damaged
}

fn is_mostly_sound(text: &str) -> bool {
    let damaged = text.matches('\u{fffd}').count();
    let others = text.chars().filter(|character| !character.is_ascii()).count() - damaged;
    damaged * SOUND_FOR_DAMAGED <= others
}

/// The encoding that `<?xml encoding=…?>` or the `charset` of a `<meta>` names.
pub(super) fn declared(content: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&content[..content.len().min(DECLARED_WITHIN)]).to_ascii_lowercase();
    let head = head.trim_start();
    let declaration = head.strip_prefix("<?xml").and_then(|after| after.split("?>").next());
    let after = declaration.and_then(|declaration| declaration.split_once("encoding")).map_or_else(
        || if head.starts_with('<') { meta_charset(head) } else { None },
        |(_, after)| Some(after),
    )?;
    let label = after.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let end =
        label.find(|character: char| !(character.is_ascii_alphanumeric() || "-_:.".contains(character)));
    // What could be read up to here is not in UTF-16.
    of_label(&label[..end.unwrap_or(label.len())]).map(Encoding::output_encoding)
}

/// What follows `charset` in a `<meta>` outside of comments and scripts.
fn meta_charset(head: &str) -> Option<&str> {
    let mut rest = head;
    while let Some((_, tag)) = rest.split_once('<') {
        let end_of = |end: &str| tag.split_once(end).map_or("", |(_, behind)| behind);
        let (attributes, behind) = tag.split_once('>').unwrap_or((tag, ""));
        rest = match attributes {
            _ if tag.starts_with("!--") => end_of("-->"),
            _ if tag.starts_with("script") => end_of("</script"),
            _ if tag.starts_with("style") => end_of("</style"),
            attributes if attributes.starts_with("meta") => {
                let after = attributes.split_once("charset").map(|(_, after)| after.trim_start());
                if after.is_some_and(|after| after.starts_with('=')) {
                    return after;
                }
                behind
            }
            _ => behind,
        };
    }
    None
}

/// An encoding by its name or code page: `gbk`, `cp949`, `ms936`.
pub(super) fn of_label(label: &str) -> Option<&'static Encoding> {
    Encoding::for_label(label.as_bytes()).or_else(|| {
        let label = label.to_ascii_lowercase();
        let number =
            ["cp", "ms", "x-cp", "windows-", "ibm"].iter().find_map(|kind| label.strip_prefix(kind))?;
        of_code_page(number.parse().ok()?)
    })
}

/// An encoding by the number that Windows gives it.
pub(super) fn of_code_page(number: i32) -> Option<&'static Encoding> {
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
        65_001 => UTF_8,
        _ => return None,
    })
}

/// An encoding by the number of a font's character set in Windows.
pub(super) fn of_charset(charset: i32) -> Option<&'static Encoding> {
    of_code_page(match charset {
        // Signs, such as bullets of lists.
        2 => 1252,
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

/// Decodes code page 850, which has the letters of 437 in place.
pub(super) fn decode_dos(content: &[u8]) -> String {
    match charset_decoder(b"cp850") {
        Some(decode) => decode(content),
        None => WINDOWS_1252.decode_without_bom_handling(content).0.into_owned(),
    }
}

/// Decodes names of files, one in a line.
///
/// Windows writes Western ones into archives as DOS did.
pub(super) fn decode_names(names: &[u8]) -> Cow<'_, str> {
    let is_letter = |byte: u8| matches!(byte, 0x80..=0xa5 | 0xe1);
    let has_neighbour = |place: usize| {
        [place.wrapping_sub(1), place + 1]
            .iter()
            .any(|place| names.get(*place).is_some_and(u8::is_ascii_alphabetic))
    };
    let others = || names.iter().enumerate().filter(|(_, byte)| !byte.is_ascii());
    let letters = names.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let is_dos = others().count() * 2 <= letters
        && others().all(|(place, byte)| is_letter(*byte) && has_neighbour(place));
    if is_dos { decode_dos(names).into() } else { decode(names, None) }
}

/// UTF-16 is told by the zeros of its ASCII characters, where all its characters are visible.
pub(super) fn utf16_without_mark(content: &[u8]) -> Option<&'static Encoding> {
    let (pairs, _) = content[..content.len().min(TOLD_BY)].as_chunks::<2>();
    [(UTF_16LE, u16::from_le_bytes as fn([u8; 2]) -> u16), (UTF_16BE, u16::from_be_bytes)]
        .into_iter()
        .find(|(_, unit)| {
            let units = || pairs.iter().map(|pair| unit(*pair));
            let ascii = units().filter(|unit| matches!(unit, 0x20..0x7f | 0x09 | 0x0a | 0x0d)).count();
            let is_odd =
                |unit: u16| matches!(unit, 0..=8 | 0x0b..=0x0c | 0x0e..=0x1f | 0x7f..=0x9f | 0xfffe..);
            pairs.len() >= MIN_PAIRS && ascii * 3 >= pairs.len() && !units().any(is_odd)
        })
        .map(|(encoding, _)| encoding)
}

fn is_iso_2022_jp(content: &[u8]) -> bool {
    let beginning = &content[..content.len().min(TOLD_BY)];
    beginning.is_ascii()
        && JAPANESE_ESCAPES.iter().any(|escape| beginning.windows(3).any(|window| window == *escape))
}

#[cfg(test)]
mod tests {
    use encoding_rs::{KOI8_U, X_MAC_CYRILLIC};

    use super::*;

    #[test]
    fn undeclared_text_is_told_by_its_form() {
        let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>();
        assert_eq!(decode(&utf16("high tide, 潮"), None), "high tide, 潮");
        assert_eq!(decode("潮".as_bytes(), None), "潮");
        assert_eq!(decode(b"a\0b\x01", None), "ab\x01", "no text in UTF-16");
        assert_eq!(decode(b"price \x1b[1m $B", None), "price \x1b[1m $B", "colours of a terminal");
        for (encoding, text) in [
            (WINDOWS_1251, "Порт принимает суда каждый день. Объезд у Щукина, эхо."),
            (KOI8_U, "Порт принимает суда каждый день. Объезд у Щукина, эхо."),
            (IBM866, "Порт принимает суда каждый день. Объезд у Щукина, эхо."),
            (X_MAC_CYRILLIC, "Отчёт о грузах за квартал. Якорь, Москва и Рига."),
            (WINDOWS_1251, "Луке примају бродове сваког дана, њихов улаз је љубазан."),
            (WINDOWS_1251, "Портовые"),
            (WINDOWS_874, "ค่าธรรมเนียมท่าเ"),
        ] {
            assert_eq!(decode(&encoding.encode(text).0, None), text, "{}", encoding.name());
        }
    }

    #[test]
    fn declaration_names_the_encoding() {
        for head in [
            "<?xml version='1.0' encoding = 'ISO-8859-2' ?>",
            "<meta charset=latin2>",
            "<!-- <meta charset=gbk> --><meta name=charset><META CONTENT='text/html; charset = latin2'>",
        ] {
            assert_eq!(decode_marked_up(&[head.as_bytes(), b"\xf5szi"].concat()), format!("{head}őszi"));
        }
    }
}
