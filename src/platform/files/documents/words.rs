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
