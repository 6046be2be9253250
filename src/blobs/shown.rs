//! Response headers that make browsers save contents and never run them.

use mime_guess::{Mime, mime};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Unescaped characters of an extended value (RFC 8187 §3.2.1, `attr-char`).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// Types that are safe to declare.
const PASSIVE: [&str; 12] = [
    "text/plain",
    "text/csv",
    "text/markdown",
    "text/calendar",
    "application/pdf",
    "application/rtf",
    "application/json",
    "application/zip",
    "application/gzip",
    "application/x-tar",
    "application/msword",
    "application/epub+zip",
];

/// Generic unless known to be passive.
pub(crate) fn content_type(name: &str) -> Mime {
    mime_guess::from_path(name).first().filter(is_passive).unwrap_or(mime::APPLICATION_OCTET_STREAM)
}

fn is_passive(kind: &Mime) -> bool {
    let is_xml = kind.suffix() == Some(mime::XML);
    let is_seen_or_heard = [mime::IMAGE, mime::AUDIO, mime::VIDEO, mime::FONT].contains(&kind.type_());
    let is_of_an_office = kind.type_() == mime::APPLICATION && kind.subtype().as_str().starts_with("vnd.");
    !is_xml && (is_seen_or_heard || is_of_an_office || PASSIVE.contains(&kind.essence_str()))
}

/// An attachment with an ASCII name and the exact name (RFC 6266).
pub(crate) fn disposition(name: &str) -> String {
    let fallback: String = name
        .chars()
        .map(|character| match character {
            // Some parsers decode what follows a percent sign.
            '"' | '\\' | '%' | '/' => '_',
            ' '..='~' => character,
            _ => '_',
        })
        .collect();
    let encoded = utf8_percent_encode(name, ENCODED);
    format!("attachment; filename=\"{fallback}\"; filename*=UTF-8''{encoded}")
}

#[cfg(test)]
mod tests {
    use percent_encoding::percent_decode_str;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_that_a_browser_runs_is_told_as_that() {
        let told = |name: &str| content_type(name).to_string();
        for name in [
            "a.html",
            "a.HTM",
            "a.xhtml",
            "a.svg",
            "a.svgz",
            "a.xml",
            "a.xsl",
            "a.js",
            "a.mjs",
            "a.css",
            "a.wasm",
            "a.swf",
            "a.xul",
            "a.mht",
            "a.hta",
            "a.rdf",
            "a.atom",
            "a",
            ".html",
            "",
            "a.unknown",
        ] {
            assert_eq!(told(name), "application/octet-stream", "{name}");
        }
        for (name, kind) in [
            ("a.TXT", "text/plain"),
            ("a.png", "image/png"),
            ("b/a.pdf", "application/pdf"),
            ("ü.mp4", "video/mp4"),
            ("a.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        ] {
            assert_eq!(told(name), kind, "{name}");
        }
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(500))]

        #[test]
        fn a_name_stays_in_its_place(name in any::<String>()) {
            let told = disposition(&name);
            let rest = told.strip_prefix("attachment; filename=\"").unwrap();
            let (fallback, encoded) = rest.split_once("\"; filename*=UTF-8''").unwrap();
            prop_assert!(fallback.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\'));
            prop_assert!(encoded.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"';,".contains(&byte)));
            prop_assert_eq!(percent_decode_str(encoded).decode_utf8().unwrap(), name.as_str());
        }
    }
}
