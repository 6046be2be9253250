//! What of a person's or department's contact details is shown and found, where they may be shown at all.

/// Numbers of fewer digits are extensions, which are looked for as they are.
const WHOLE_NUMBER_DIGITS: usize = 7;
/// The digits at the end of a number that people know it by.
const LAST_DIGITS: usize = 4;
/// Digits of a mobile number of mainland China, and what stands before it when it is written in full.
const CHINESE_MOBILE: (usize, &str) = (11, "86");

/// The texts that are there in one, as it is shown.
pub fn joined<'a>(texts: impl IntoIterator<Item = Option<&'a str>>) -> String {
    let there: Vec<&str> = texts.into_iter().flatten().filter(|text| !text.trim().is_empty()).collect();
    there.join(" · ")
}

/// How else a number is looked for than as it is written: without what parts its digits, without the country's code, and
/// by its last four digits.
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

/// Whether this name of a person, such as a login, tells a contact detail that is not to be known: it holds it, or is the end
/// of it.
pub fn tells(name: &str, detail: &str) -> bool {
    let bare = |text: &str| -> String {
        text.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let (name, detail) = (bare(name), bare(detail));
    if detail.len() < WHOLE_NUMBER_DIGITS {
        return !detail.is_empty() && name == detail;
    }
    let is_number = name.len() >= WHOLE_NUMBER_DIGITS && name.chars().all(|digit| digit.is_ascii_digit());
    name.contains(&detail) || is_number && detail.ends_with(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_joined() {
        assert_eq!(joined([Some("a"), None, Some(" "), Some("b")]), "a · b");
        assert_eq!(joined([None, None]), "");
    }

    #[test]
    fn a_number_is_found_as_people_know_it() {
        assert_eq!(number_words("13812345678"), ["5678"]);
        assert_eq!(number_words("+86 138-1234-5678"), ["5678", "13812345678", "8613812345678"]);
        assert_eq!(number_words("008613812345678"), ["5678", "13812345678"]);
        assert_eq!(number_words("+31 20 555 0142"), ["0142", "31205550142"]);
        assert_eq!(number_words("8012"), [""; 0]);
    }

    #[test]
    fn a_login_that_is_a_number_or_an_address_tells_it() {
        for (login, detail) in [
            ("13812345678", "13812345678"),
            ("13812345678", "+86 138 1234 5678"),
            ("u13812345678@acme", "138-1234-5678"),
            ("Mei.Chen@acme.example", "mei.chen@acme.example"),
            ("8012", "8012"),
        ] {
            assert!(tells(login, detail), "{login} {detail}");
        }
        for (login, detail) in
            [("mei.chen", "mei.chen@acme.example"), ("00417", "13812300417"), ("mei", ""), ("80123", "8012")]
        {
            assert!(!tells(login, detail), "{login} {detail}");
        }
    }
}
