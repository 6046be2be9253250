//! Contact details as shown and as searched.

use std::borrow::Cow;

use trawl_engine::fold;

/// Shorter numbers are extensions, searched as written.
const WHOLE_NUMBER_DIGITS: usize = 7;
/// Digits that two numbers must share, without leading zeros.
const TELLING_DIGITS: usize = 6;
/// Trailing digits by which people know a number.
const LAST_DIGITS: usize = 4;
/// Mobile numbers in China: length and country code.
const CHINESE_MOBILE: (usize, &str) = (11, "86");

/// Joins present texts.
pub fn joined<'a>(texts: impl IntoIterator<Item = Option<&'a str>>) -> String {
    let there: Vec<&str> = texts.into_iter().flatten().filter(|text| !text.trim().is_empty()).collect();
    there.join(" · ")
}

/// Digits only, without country code, and the last four.
pub fn number_words(number: &str) -> Vec<String> {
    let digits: String = number.chars().filter(char::is_ascii_digit).collect();
    if digits.len() < WHOLE_NUMBER_DIGITS {
        return Vec::new();
    }
    let mut words = vec![digits[digits.len() - LAST_DIGITS..].to_owned()];
    let (length, country) = CHINESE_MOBILE;
    let national = digits.trim_start_matches('0').strip_prefix(country).filter(|rest| rest.len() == length);
    words.extend(national.map(str::to_owned));
    if digits != number {
        words.push(digits);
    }
    words
}

/// Whether a name reveals a confidential detail, by spelling or digits.
pub fn tells(name: &str, detail: &str) -> bool {
    let (name, detail) = (fold(name), fold(detail));
    // Digits as one number, and split at signs.
    let in_name: Vec<String> =
        name.split(|sign: char| !sign.is_ascii_digit()).chain([&*name]).flat_map(numbers).collect();
    let is_number = !name.contains(char::is_alphabetic);
    let tells_number = |number: &str| {
        in_name.iter().any(|name| share_digits(name, number))
            || is_number && !detail.contains('@') && numbers(&name).any(|name| name == number)
    };
    parts(&detail).flat_map(numbers).any(|number| tells_number(&number))
        || texts(&detail).iter().any(|text| tells_text(&name, text))
}

/// Entries, names and remarks of a folded detail.
fn parts(detail: &str) -> impl Iterator<Item = &str> {
    detail.split(['/', ',', ';', '、', '|', '<', '>', '#'])
}

/// Parts with address or digit, and bare addresses; otherwise the whole detail.
fn texts(detail: &str) -> Vec<&str> {
    let has_detail = |part: &&str| part.contains(|sign: char| sign == '@' || sign.is_ascii_digit());
    let mut texts: Vec<&str> = parts(detail).filter(has_detail).collect();
    if texts.is_empty() {
        return vec![detail];
    }
    let beside_address = |sign: char| sign.is_whitespace() || "()[]\":".contains(sign);
    let addresses =
        parts(detail).flat_map(|part| part.split(beside_address)).filter(|word| word.contains('@'));
    texts.extend(addresses);
    texts
}

/// Ignores signs; short texts must equal the name.
fn tells_text(name: &str, text: &str) -> bool {
    let names = [bare(name), bare(&for_anybody(name))];
    [bare(text), bare(&for_anybody(text))].iter().any(|text| {
        if text.len() < WHOLE_NUMBER_DIGITS {
            !text.is_empty() && names.contains(text)
        } else {
            names.iter().any(|name| name.contains(text))
        }
    })
}

fn bare(text: &str) -> String {
    text.chars().filter(|character| character.is_alphanumeric()).collect()
}

fn for_anybody(text: &str) -> Cow<'_, str> {
    let parts = text.split_once('@').and_then(|(local, domain)| Some((local.split_once('+')?.0, domain)));
    parts.map_or(Cow::Borrowed(text), |(local, domain)| Cow::Owned(format!("{local}@{domain}")))
}

fn numbers(text: &str) -> impl Iterator<Item = String> {
    let digits = |part: &str| -> String {
        part.chars().filter(char::is_ascii_digit).skip_while(|digit| *digit == '0').collect()
    };
    text.split(char::is_alphabetic).map(digits).filter(|number| !number.is_empty())
}

/// They differ only in country code, zeros or extension.
fn share_digits(left: &str, right: &str) -> bool {
    let shared = left.len().min(right.len()).min(WHOLE_NUMBER_DIGITS);
    shared >= TELLING_DIGITS
        && (0..=left.len() - shared).any(|start| right.contains(&left[start..start + shared]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn present_texts_are_joined() {
        assert_eq!(joined([Some("a"), None, Some(" "), Some("b")]), "a · b");
        assert_eq!(joined([None, None]), "");
    }

    #[test]
    fn number_has_common_search_forms() {
        assert_eq!(number_words("13812345678"), ["5678"]);
        assert_eq!(number_words("+86 138-1234-5678"), ["5678", "13812345678", "8613812345678"]);
        assert_eq!(number_words("008613812345678"), ["5678", "13812345678"]);
        assert_eq!(number_words("+31 20 555 0142"), ["0142", "31205550142"]);
        assert_eq!(number_words("8012"), [""; 0]);
    }

    #[test]
    fn name_with_number_or_address_reveals_it() {
        for (name, detail) in [
            ("13812345678", "13812345678"),
            ("13812345678", "+86 138 1234 5678"),
            ("u13812345678@acme", "138-1234-5678"),
            ("00417 / 138-1234-5678", "13812345678"),
            ("Mei.Chen@acme.example", "mei.chen@acme.example"),
            ("8012", "8012"),
            ("13900001111", "１３９００００１１１１"),
            ("１３９００００１１１１", "13900001111"),
            ("13900002222", "13900002222 / 13900003333"),
            ("13900003333", "13900002222、13900003333"),
            ("013900004444", "+86 13900004444"),
            ("0139005550", "+49 139005550"),
            ("+49 139005550", "+49 (0)139005550"),
            ("13900005555", "+86 (0)13900005555"),
            ("4155550100", "+1 (415) 555-0100 x22"),
            ("+1 415 555 0100", "415-555-0100 ext. 22"),
            ("0022", "+1 (415) 555-0100 x22"),
            ("8012", "010-5550142 转 ８０１２"),
            ("555012", "+86 139 0055 5012"),
            ("138123", "138123-4"),
            ("D 138123", "138123-4"),
            ("A-13900055500-B", "13900055500"),
            ("13900001111", "13900001111@mail.example"),
            ("lee.home@x.example", "Lee <lee.home@x.example>"),
            ("LEE.HOME@x.example", "lee.home@x.example (at home)"),
            ("lee.home@x.example", "lee@acme.example;mailto:lee.home@x.example"),
            ("sso lee.home@x.example", "Lee Home lee.home@x.example"),
            ("lee.home@x.example", "Ｌｅｅ．Ｈｏｍｅ＠x.example"),
            ("gus.b@acme.example", "gus.b+work@acme.example"),
            ("gus.b+work@acme.example", "gus.b@acme.example"),
            ("in+lee.home@x.example", "lee.home@x.example"),
        ] {
            assert!(tells(name, detail), "{name} {detail}");
        }
        for (name, detail) in [
            ("mei.chen", "mei.chen@acme.example"),
            ("mei.chen", "13900001111"),
            ("Mei Chen", "Mei Chen <mei.chen@acme.example>"),
            ("Mei Chen", "13900001111 / Mei Chen"),
            ("00417", "13812300417"),
            ("2024000417", "13812300417"),
            ("D-42", "010-5550142"),
            ("mei", ""),
            ("", "13812345678"),
            ("—", "+"),
            ("@", "@"),
            ("80123", "8012"),
            ("1982", "mei.1982@acme.example"),
            ("000000", "13800000000"),
        ] {
            assert!(!tells(name, detail), "{name} {detail}");
        }
    }
}
