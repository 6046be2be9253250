/// Splits `Budget2026v2`, whose parts prefix search would not find.
pub(super) fn parts(name: &str) -> String {
    let mut parts = String::new();
    for word in name.split(|character: char| !character.is_ascii_alphanumeric()) {
        let borders = borders(word);
        if borders.is_empty() {
            continue;
        }
        let mut start = 0;
        for border in borders.into_iter().chain([word.len()]) {
            if !parts.is_empty() {
                parts.push(' ');
            }
            parts.push_str(&word[start..border]);
            start = border;
        }
    }
    parts
}

fn borders(word: &str) -> Vec<usize> {
    let bytes = word.as_bytes();
    let is_border = |pair: &[u8]| {
        let [left, right] = [pair[0], pair[1]];
        left.is_ascii_digit() != right.is_ascii_digit()
            || left.is_ascii_lowercase() && right.is_ascii_uppercase()
    };
    bytes.windows(2).zip(1..).filter(|(pair, _)| is_border(pair)).map(|(_, place)| place).collect()
}

pub(super) fn beginning(text: &str, characters: usize) -> Option<String> {
    let mut shown = String::new();
    let mut left = characters;
    for word in text.split_whitespace() {
        if !shown.is_empty() {
            shown.push(' ');
        }
        match word.char_indices().nth(left) {
            None => shown.push_str(word),
            Some((end, _)) => {
                shown.push_str(&word[..end]);
                return Some(format!("{}…", shown.trim_end()));
            }
        }
        left = left.saturating_sub(word.chars().count() + 1);
    }
    (!shown.is_empty()).then_some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_stand_together_are_taken_apart() {
        for (name, expected) in [
            ("Q3_report-final.PDF", "Q 3"),
            ("Budget2026v2.xlsx", "Budget 2026 v 2"),
            ("QuarterlyReport.docx", "Quarterly Report"),
            ("report.pdf", ""),
            ("2026年合同v2.docx", "v 2"),
            ("PDFs", ""),
            ("", ""),
        ] {
            assert_eq!(parts(name), expected, "{name}");
        }
    }

    #[test]
    fn a_beginning_is_one_line_of_so_many_characters() {
        for (text, expected) in [
            ("", None),
            (" \n\t ", None),
            (" high\n\n tide ", Some("high tide")),
            ("high tide at noon", Some("high tide a…")),
            ("high tides! at noon", Some("high tides!…")),
            ("high-tide-at-noon", Some("high-tide-a…")),
            ("潮水在中午的时候很高高高", Some("潮水在中午的时候很高高…")),
            ("high tides!", Some("high tides!")),
        ] {
            assert_eq!(beginning(text, 11).as_deref(), expected, "{text}");
        }
    }
}
