//! Ids that people know, by their form.

const MAX_CHARS: usize = 32;
/// Longer numbers are times and snowflakes.
const MAX_DIGITS: usize = 14;
/// Lower-case words are names of things, as in `news-12`.
const MAX_LOWER_CASE_LETTERS: usize = 3;
/// Hashes change more often between letters and digits.
const MAX_PARTS: usize = 4;

/// The id, if it looks like a code such as `T-7003`, `XK7702B` or `2026-001`.
///
/// Numbers without signs, UUIDs, hashes and words do not.
pub fn known_id(id: &str) -> Option<&str> {
    let is_within = id.chars().nth(MAX_CHARS).is_none();
    let has_digits = id.contains(|character: char| character.is_ascii_digit());
    let has_others = id.contains(|character: char| !character.is_ascii_digit());
    (is_within && has_digits && has_others && id.split(is_sign).all(is_of_code)).then_some(id)
}

fn is_sign(character: char) -> bool {
    matches!(character, '-' | '_' | '.' | '/' | '#' | ':')
}

/// Whether these are few groups of letters and digits.
fn is_of_code(between_signs: &str) -> bool {
    let characters: Vec<char> = between_signs.chars().collect();
    let parts: Vec<&[char]> =
        characters.chunk_by(|left, right| left.is_ascii_digit() == right.is_ascii_digit()).collect();
    let is_short = |part: &[char]| {
        let has_lower_case = part.iter().any(|character| character.is_lowercase());
        let longest = if has_lower_case { MAX_LOWER_CASE_LETTERS } else { MAX_DIGITS };
        part.len() <= longest && part.iter().all(|character| character.is_alphanumeric())
    };
    parts.len() <= MAX_PARTS && parts.into_iter().all(is_short)
}

#[cfg(test)]
mod tests {
    use super::known_id;

    #[test]
    fn code_is_a_known_id() {
        for id in [
            "T-7003",
            "t7003",
            "XK7702B",
            "2026-001",
            "INV-2026-0042",
            "HT-2026-03-001",
            "PROJ-123",
            "CONTRACT/2026/17",
            "kb_17",
            "合同2026-017",
            "#42",
            "20260315000123-1",
        ] {
            assert_eq!(known_id(id), Some(id));
        }
    }

    #[test]
    fn generated_id_number_and_word_are_no_known_ids() {
        for id in [
            "",
            "budget",
            "A-B",
            "7003",
            "1234567890123456789",
            "1234567890123456789-1",
            "7f0e3a52-6c4b-4e0e-9f57-0b8c7d1a2e3f",
            "7f0e3a526c4b4e0e9f570b8c7d1a2e3f",
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "507f1f77bcf86cd799439011",
            "4f8ac76",
            "news-12",
            "budget-2026",
            "T 7003",
            "mei@acme.example",
            "https://acme.example/1",
            "T-7003\0",
        ] {
            assert_eq!(known_id(id), None, "{id}");
        }
    }
}
