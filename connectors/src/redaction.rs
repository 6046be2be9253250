//! Removes echoed secrets from texts.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::Value;
use url::form_urlencoded;

const REDACTED: &str = "…";
/// A prefix of this length counts as the secret, as quoted texts are cut.
const PREFIX_BYTES: usize = 12;

/// Removes `secret`, whole or cut off, in any case and usual encoding.
pub(crate) fn redact(text: String, secret: &str) -> String {
    let quoted = Value::from(secret).to_string();
    let quoted = quoted.trim_matches('"');
    let spellings = [
        secret.to_owned(),
        form_urlencoded::byte_serialize(secret.as_bytes()).collect(),
        BASE64_STANDARD.encode(secret),
        BASE64_URL_SAFE_NO_PAD.encode(secret),
        quoted.to_owned(),
        // As PHP writes it.
        quoted.replace('/', "\\/"),
    ];
    spellings.iter().fold(text, |text, spelling| redact_spelling(text, spelling))
}

/// Removes `secret` from a body before filters read it: they could respell it.
///
/// A shorter one than [`PREFIX_BYTES`] stays, as it may be a word of any row.
pub(crate) fn redact_body(body: Vec<u8>, secret: &str) -> Vec<u8> {
    if secret.len() < PREFIX_BYTES {
        return body;
    }
    let text = String::from_utf8_lossy(&body).into_owned();
    let redacted = redact(text.clone(), secret);
    // Another encoding stays.
    if redacted == text { body } else { redacted.into_bytes() }
}

/// Like [`redact_body`].
pub(crate) fn redact_headers(headers: &mut HeaderMap, secret: &str) {
    for value in headers.values_mut() {
        let redacted = redact(String::from_utf8_lossy(value.as_bytes()).into_owned(), secret);
        if redacted.as_bytes() != value.as_bytes() {
            *value = HeaderValue::try_from(redacted).unwrap_or(HeaderValue::from_static(""));
        }
    }
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
