//! Secrets blotted out of texts that others wrote, because a source may echo what it was sent.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use url::form_urlencoded;

/// What stands for a secret.
const BLOT: &str = "…";
/// So many of a secret's first bytes are taken for it: what is shown of a text is cut, and a secret with it.
const TELLING_BYTES: usize = 12;

/// `text` without `secret`: whole or cut off, in any case, as it is, encoded for a URL, or in base64.
pub(crate) fn blot(text: String, secret: &str) -> String {
    let spellings = [
        secret.to_owned(),
        form_urlencoded::byte_serialize(secret.as_bytes()).collect(),
        BASE64_STANDARD.encode(secret),
        BASE64_URL_SAFE_NO_PAD.encode(secret),
    ];
    spellings.iter().fold(text, |text, spelling| blot_spelling(text, spelling))
}

fn blot_spelling(text: String, secret: &str) -> String {
    // Lower case of ASCII only, so that every place is the same in both.
    let (lower, secret) = (text.to_ascii_lowercase(), secret.to_ascii_lowercase());
    let telling = &secret[..secret.floor_char_boundary(TELLING_BYTES)];
    if telling.is_empty() || !lower.contains(telling) {
        return text;
    }
    let mut blotted = String::with_capacity(text.len());
    let mut place = 0;
    while let Some(found) = lower[place..].find(telling).map(|found| place + found) {
        blotted += &text[place..found];
        blotted += BLOT;
        let same = lower[found..].chars().zip(secret.chars()).take_while(|(here, there)| here == there);
        place = found + same.map(|(here, _)| here.len_utf8()).sum::<usize>();
    }
    blotted += &text[place..];
    blotted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECRET: &str = "tok/Secret+of-64-characters==";

    #[test]
    fn every_spelling_is_blotted() {
        for (text, blotted) in [
            ("the token tok/Secret+of-64-characters== is old", "the token … is old"),
            ("tok/Secret+of-64-characters==tok/Secret+of-64-characters==", "……"),
            ("tok%2FSecret%2Bof-64-characters%3D%3D", "…"),
            ("dG9rL1NlY3JldCtvZi02NC1jaGFyYWN0ZXJzPT0=!", "…=!"),
            ("http://tok/secret+of-64-characters==.example", "http://….example"),
            ("cut off: tok/Secret+of", "cut off: …"),
            ("tok/Secre is another", "tok/Secre is another"),
            ("工作tok/Secret+of报告", "工作…报告"),
        ] {
            let seen = blot(text.to_owned(), SECRET);
            assert_eq!(seen.trim_end_matches(['=', '!']), blotted.trim_end_matches(['=', '!']), "{text}");
        }
        assert_eq!(blot("whole".to_owned(), ""), "whole");
        assert_eq!(blot("the word hé".to_owned(), "hé"), "the word …");
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn nothing_of_a_secret_stays(before in ".{0,9}", secret in "[a-zA-Z0-9/+é]{13,40}", after in ".{0,9}", cut in 12usize..40) {
            let shown = &secret[..secret.floor_char_boundary(cut.min(secret.len()))];
            prop_assume!(shown.len() >= TELLING_BYTES);
            let blotted = blot(format!("{before}{shown}{after}"), &secret);
            prop_assert!(!blotted.contains(shown));
        }
    }
}
