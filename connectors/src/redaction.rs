//! Removes echoed secrets from texts.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use url::form_urlencoded;

const REDACTED: &str = "…";
/// A prefix of this length counts as the secret, as quoted texts are cut.
const PREFIX_BYTES: usize = 12;

/// Removes `secret` in any case, whole or cut off, plain, URL-encoded or in base64.
pub(crate) fn redact(text: String, secret: &str) -> String {
    let spellings = [
        secret.to_owned(),
        form_urlencoded::byte_serialize(secret.as_bytes()).collect(),
        BASE64_STANDARD.encode(secret),
        BASE64_URL_SAFE_NO_PAD.encode(secret),
    ];
    spellings.iter().fold(text, |text, spelling| redact_spelling(text, spelling))
}

fn redact_spelling(text: String, secret: &str) -> String {
    // ASCII lower case keeps all byte positions.
    let (lower, secret) = (text.to_ascii_lowercase(), secret.to_ascii_lowercase());
    let prefix = &secret[..secret.floor_char_boundary(PREFIX_BYTES)];
    if prefix.is_empty() || !lower.contains(prefix) {
        return text;
    }
    let mut redacted = String::with_capacity(text.len());
    let mut place = 0;
    while let Some(found) = lower[place..].find(prefix).map(|found| place + found) {
        redacted += &text[place..found];
        redacted += REDACTED;
        let same = lower[found..].chars().zip(secret.chars()).take_while(|(here, there)| here == there);
        place = found + same.map(|(here, _)| here.len_utf8()).sum::<usize>();
    }
    redacted += &text[place..];
    redacted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECRET: &str = "tok/Secret+of-64-characters==";

    #[test]
    fn every_spelling_is_redacted() {
        for (text, redacted) in [
            ("the token tok/Secret+of-64-characters== is old", "the token … is old"),
            ("tok/Secret+of-64-characters==tok/Secret+of-64-characters==", "……"),
            ("tok%2FSecret%2Bof-64-characters%3D%3D", "…"),
            ("dG9rL1NlY3JldCtvZi02NC1jaGFyYWN0ZXJzPT0=!", "…=!"),
            ("http://tok/secret+of-64-characters==.example", "http://….example"),
            ("cut off: tok/Secret+of", "cut off: …"),
            ("tok/Secre is another", "tok/Secre is another"),
            ("工作tok/Secret+of报告", "工作…报告"),
        ] {
            let seen = redact(text.to_owned(), SECRET);
            assert_eq!(seen.trim_end_matches(['=', '!']), redacted.trim_end_matches(['=', '!']), "{text}");
        }
        assert_eq!(redact("whole".to_owned(), ""), "whole");
        assert_eq!(redact("the word hé".to_owned(), "hé"), "the word …");
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn no_prefix_of_a_secret_stays(before in ".{0,9}", secret in "[a-zA-Z0-9/+é]{13,40}", after in ".{0,9}", cut in 12usize..40) {
            let shown = &secret[..secret.floor_char_boundary(cut.min(secret.len()))];
            prop_assume!(shown.len() >= PREFIX_BYTES);
            let redacted = redact(format!("{before}{shown}{after}"), &secret);
            prop_assert!(!redacted.contains(shown));
        }
    }
}
