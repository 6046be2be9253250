//! Tells the encoding of a text that declares none.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, Encoding, GBK, IBM866, ISO_8859_5, KOI8_U, SHIFT_JIS, WINDOWS_1251, X_MAC_CYRILLIC,
};

use super::{Decoded, TOLD_BY, decode_as, is_mostly_sound};

/// Bytes by which a text with damaged characters is told.
const REPAIRED: usize = 4 << 10;

/// Characters beside ASCII by which such a text can be told.
const MIN_REPAIRED: usize = 32;

/// Encodings in which a damaged character misleads the detector.
const MULTI_BYTE: [&Encoding; 5] = [GBK, SHIFT_JIS, EUC_KR, BIG5, EUC_JP];

/// Characters of IBM855 from 128 on, which the Encoding Standard lacks.
const IBM855: &str = "ђЂѓЃёЁєЄѕЅіІїЇјЈљЉњЊћЋќЌўЎџЏюЮъЪаАбБцЦдДеЕфФгГ«»░▒▓│┤хХиИ╣║╗╝йЙ┐└┴┬├─┼кК╚╔╩╦╠═╬¤лЛмМнНоОп┘┌█▄Пя▀ЯрРсСтТуУжЖвВьЬ№\u{ad}ыЫзЗшШэЭщЩчЧ§■\u{a0}";

pub(super) fn detected(content: &[u8]) -> Decoded<'_> {
    let guess = guess(content);
    if !MULTI_BYTE.contains(&guess)
        && let Some(damaged) = MULTI_BYTE.iter().find_map(|encoding| decode_repaired(encoding, content))
    {
        return damaged;
    }
    let guessed = decode_as(guess, content);
    if ![WINDOWS_1251, KOI8_U, ISO_8859_5, IBM866].contains(&guess) {
        return guessed;
    }
    // The detector knows neither the Macintosh's nor the older code page of DOS.
    let macintosh = decode_as(X_MAC_CYRILLIC, content);
    let older: String = content.iter().map(|byte| ibm855(*byte)).collect();
    let candidates = [guessed, macintosh, (Cow::Owned(older), false)];
    candidates.into_iter().min_by_key(|(text, _)| implausibility(text)).unwrap_or_default()
}

fn guess(content: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(content, true);
    detector.guess(None, Utf8Detection::Deny)
}

/// Decodes a text whose sound characters are of this encoding.
fn decode_repaired<'a>(encoding: &'static Encoding, content: &'a [u8]) -> Option<Decoded<'a>> {
    let beginning = decode_as(encoding, &content[..content.len().min(REPAIRED)]).0;
    let is_told = || guess(&encoding.encode(&beginning.replace('\u{fffd}', " ")).0) == encoding;
    let is_long = beginning.chars().filter(|character| !character.is_ascii()).nth(MIN_REPAIRED).is_some();
    if !is_long || !is_mostly_sound(&beginning) || !is_told() {
        return None;
    }
    Some(decode_as(encoding, content)).filter(|(text, _)| is_mostly_sound(text))
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
