//! Removes echoed secrets from texts.

use std::collections::BTreeSet;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use url::form_urlencoded;

const REDACTED: &str = "…";
/// A prefix of this length counts as the secret, as quoted texts are cut.
const PREFIX_BYTES: usize = 12;

/// Shorter secrets stay in answers: they may be a word of any row.
const MIN_SECRET_BYTES: usize = 8;

/// Removes `secret`, whole or cut off, in any case and usual encoding.
pub(crate) fn redact(text: String, secret: &str) -> String {
    spellings(secret).into_iter().fold(text, |text, spelling| redact_spelling(text, &spelling))
}

/// Removes whole `secrets` from an answer before filters read it: they could respell them.
pub(crate) fn redact_answer(mut answer: Vec<u8>, secrets: &[SecretString]) -> Vec<u8> {
    let long =
        secrets.iter().map(ExposeSecret::expose_secret).filter(|secret| secret.len() >= MIN_SECRET_BYTES);
    for spelling in long.flat_map(spellings) {
        // Another encoding stays.
        if let Ok(text) = str::from_utf8(&answer)
            && text.contains(&spelling)
        {
            answer = text.replace(&spelling, REDACTED).into_bytes();
        }
    }
    answer
}

/// Plain, URL-encoded, in base64 and as texts of JSON, each once.
fn spellings(secret: &str) -> BTreeSet<String> {
    let quoted = Value::from(secret).to_string();
    let quoted = quoted.trim_matches('"');
    let encoded: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    BTreeSet::from([
        secret.to_owned(),
        encoded.replace('+', "%20"),
        encoded,
        BASE64_STANDARD.encode(secret),
        BASE64_URL_SAFE_NO_PAD.encode(secret),
        // PHP writes `/` so.
        quoted.replace('/', "\\/"),
        quoted.to_owned(),
    ])
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
            (r"tok\/Secret+of-64-characters==", "…"),
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
        assert_eq!(redact("?key=two%20words%2B.".to_owned(), "two words+"), "?key=….");
    }

    #[test]
    fn whole_secrets_alone_are_taken_from_answers() {
        let redact = |answer: &str| {
            let secrets = [SECRET, "knowledge-base-bot:tok", "short"].map(SecretString::from);
            String::from_utf8(redact_answer(answer.as_bytes().to_vec(), &secrets)).unwrap()
        };
        assert_eq!(redact(&format!("a {SECRET} b")), "a … b");
        assert_eq!(redact(r#"{"key": "tok\/Secret+of-64-characters=="}"#), r#"{"key": "…"}"#);
        for other in ["/knowledge-base/1", "tok/Secret+of", "a short text"] {
            assert_eq!(redact(other), other);
        }
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
