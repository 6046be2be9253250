//! Characters of a text in any encoding.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{
    Encoding, IBM866, ISO_2022_JP, ISO_8859_5, KOI8_U, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1251,
    X_MAC_CYRILLIC,
};

/// Bytes in which a page or XML declares its encoding.
const DECLARED_WITHIN: usize = 1_024;

/// Bytes by which an undeclared encoding is told.
const TOLD_BY: usize = 16 << 10;

/// Pairs of bytes below which UTF-16 cannot be told.
const MIN_PAIRS: usize = 4;

/// Beginnings of escape sequences into Japanese.
const JAPANESE_ESCAPES: [&[u8]; 3] = [b"\x1b$B", b"\x1b$@", b"\x1b(J"];

/// Characters of IBM855 from 128 on, which the Encoding Standard lacks.
const IBM855: &str = "ђЂѓЃёЁєЄѕЅіІїЇјЈљЉњЊћЋќЌўЎџЏюЮъЪаАбБцЦдДеЕфФгГ«»░▒▓│┤хХиИ╣║╗╝йЙ┐└┴┬├─┼кК╚╔╩╦╠═╬¤лЛмМнНоОп┘┌█▄Пя▀ЯрРсСтТуУжЖвВьЬ№\u{ad}ыЫзЗшШэЭщЩчЧ§■\u{a0}";

/// Decodes by byte order mark, form, valid UTF-8, declaration, then detection.
pub(super) fn decode<'a>(content: &'a [u8], declared: Option<&'static Encoding>) -> Cow<'a, str> {
    if let Some((encoding, mark)) = Encoding::for_bom(content) {
        return without_marks(encoding.decode_without_bom_handling(&content[mark..]).0);
    }
    if let Some(encoding) = utf16_without_mark(content) {
        return encoding.decode_without_bom_handling(content).0;
    }
    if is_iso_2022_jp(content) {
        // Escape sequences in a row, of texts that were joined, are no characters.
        return Cow::Owned(ISO_2022_JP.decode_without_bom_handling(content).0.replace('\u{fffd}', ""));
    }
    match std::str::from_utf8(content) {
        Ok(text) => return without_marks(Cow::Borrowed(text)),
        // The cut may split a character.
        Err(error) if error.error_len().is_none() => {
            return UTF_8.decode_without_bom_handling(&content[..error.valid_up_to()]).0;
        }
        Err(_) => {}
    }
    if let Some(declared) = declared {
        return declared.decode_without_bom_handling(content).0;
    }
    detected(content)
}

/// Decodes XML, or a page, by what it declares.
pub(super) fn decode_marked_up(content: &[u8]) -> Cow<'_, str> {
    decode(content, declared(content))
}

/// Byte order marks amid joined texts are invisible.
fn without_marks(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.contains('\u{feff}') { Cow::Owned(text.replace('\u{feff}', "")) } else { text }
}

/// The encoding that `<?xml encoding=…?>` or `charset=` names.
fn declared(content: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&content[..content.len().min(DECLARED_WITHIN)]).to_ascii_lowercase();
    let declaration = head.trim_start().strip_prefix("<?xml").and_then(|after| after.split("?>").next());
    let (_, after) = declaration
        .and_then(|declaration| declaration.split_once("encoding"))
        .map(|(before, after)| (before, after.trim_start().trim_start_matches('=').trim_start()))
        .or_else(|| head.split_once("charset="))?;
    let label = after.trim_start_matches(['"', '\'']);
    let end =
        label.find(|character: char| !(character.is_ascii_alphanumeric() || "-_:.".contains(character)));
    Encoding::for_label(&label.as_bytes()[..end.unwrap_or(label.len())])
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

fn detected(content: &[u8]) -> Cow<'_, str> {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(content, true);
    let guess = detector.guess(None, Utf8Detection::Allow);
    let guessed = guess.decode_without_bom_handling(content).0;
    if ![WINDOWS_1251, KOI8_U, ISO_8859_5, IBM866].contains(&guess) {
        return guessed;
    }
    // The detector knows neither the Macintosh's nor the older code page of DOS.
    let macintosh = X_MAC_CYRILLIC.decode_without_bom_handling(content).0;
    let older: String = content.iter().map(|byte| ibm855(*byte)).collect();
    let candidates = [guessed, macintosh, Cow::Owned(older)];
    let mut best = 0;
    for place in 1..candidates.len() {
        if implausibility(&candidates[place]) < implausibility(&candidates[best]) {
            best = place;
        }
    }
    candidates.into_iter().nth(best).unwrap_or_default()
}

fn ibm855(byte: u8) -> char {
    if byte.is_ascii() {
        return char::from(byte);
    }
    IBM855.chars().nth(usize::from(byte - 128)).unwrap_or('\u{fffd}')
}

/// How much Cyrillic looks unlike words: capitals within them, other signs beside letters, rare letters.
fn implausibility(text: &str) -> usize {
    let mut odd = 0;
    let mut before = ' ';
    for character in text.chars().take(TOLD_BY) {
        let is_letter = |character: char| matches!(character, '\u{400}'..='\u{45f}');
        if is_letter(before) && is_letter(character) {
            odd += usize::from(before.is_lowercase() && character.is_uppercase()) * 2;
        }
        odd += usize::from(
            is_letter(character) && !matches!(character, 'А'..='я' | 'ё' | 'Ё' | 'і' | 'ї' | 'є'),
        );
        odd += usize::from(!character.is_ascii() && !is_letter(character)) * 2;
        odd += usize::from(matches!(character, 'ъ' | 'Ъ' | 'э' | 'Э' | 'щ' | 'Щ' | 'ф' | 'Ф'));
        before = character;
    }
    odd
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undeclared_text_is_told_by_its_form() {
        let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>();
        assert_eq!(decode(&utf16("high tide, 潮"), None), "high tide, 潮");
        assert_eq!(decode("潮".as_bytes(), None), "潮");
        assert_eq!(decode(b"a\0b\x01", None), "a\0b\x01", "no text in UTF-16");
        assert_eq!(decode(b"price \x1b[1m $B", None), "price \x1b[1m $B", "colours of a terminal");
        for (encoding, text) in [
            (WINDOWS_1251, "Порт принимает суда каждый день. Объезд у Щукина, эхо."),
            (KOI8_U, "Порт принимает суда каждый день. Объезд у Щукина, эхо."),
            (IBM866, "Порт принимает суда каждый день. Объезд у Щукина, эхо."),
            (X_MAC_CYRILLIC, "Отчёт о грузах за квартал. Якорь, Москва и Рига."),
            (WINDOWS_1251, "Луке примају бродове сваког дана, њихов улаз је љубазан."),
        ] {
            assert_eq!(decode(&encoding.encode(text).0, None), text, "{}", encoding.name());
        }
    }

    #[test]
    fn declaration_names_the_encoding() {
        for head in ["<?xml version='1.0' encoding = 'ISO-8859-2' ?>", "<meta charset=latin2>"] {
            assert_eq!(decode_marked_up(&[head.as_bytes(), b"\xf5szi"].concat()), format!("{head}őszi"));
        }
    }
}
