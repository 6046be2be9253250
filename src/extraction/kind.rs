//! What a content is, by how it begins; a name only tells texts from each other.

use std::io::Cursor;

use zip::ZipArchive;

/// How a content is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Markdown,
    Html,
    Pdf,
    Word,
    Slides,
    /// Texts, slides and sheets.
    OpenDocument,
    Xlsx,
    Xlsb,
    Xls,
    /// There is no text in it, as far as is known here.
    Other,
}

/// What tells a text from something else stands in so many bytes.
const LOOKED_AT: usize = 8 << 10;

/// Entries of an archive at the most.
const MOST_ENTRIES: usize = 20_000;

impl Kind {
    pub(super) fn of(content: &[u8], extension: &str) -> Self {
        let beginning = &content[..content.len().min(LOOKED_AT)];
        if contains(&beginning[..beginning.len().min(1_024)], b"%PDF-") {
            return Self::Pdf;
        }
        if content.starts_with(b"PK\x03\x04") {
            return Self::of_archive(content);
        }
        if content.starts_with(&[0xd0, 0xcf, 0x11, 0xe0]) {
            return if matches!(extension, "xls" | "xlt" | "et") { Self::Xls } else { Self::Other };
        }
        if !is_text(beginning) {
            return Self::Other;
        }
        match extension {
            "md" | "markdown" => Self::Markdown,
            "html" | "htm" | "xhtml" => Self::Html,
            _ if begins_as_html(beginning) => Self::Html,
            _ => Self::Plain,
        }
    }

    fn of_archive(content: &[u8]) -> Self {
        let Ok(archive) = ZipArchive::new(Cursor::new(content)) else { return Self::Other };
        if archive.len() > MOST_ENTRIES {
            return Self::Other;
        }
        let has = |name: &str| archive.index_for_name(name).is_some();
        [
            ("word/document.xml", Self::Word),
            ("ppt/presentation.xml", Self::Slides),
            ("xl/workbook.xml", Self::Xlsx),
            ("xl/workbook.bin", Self::Xlsb),
            ("content.xml", Self::OpenDocument),
        ]
        .into_iter()
        .find(|(name, _)| has(name))
        .map_or(Self::Other, |(_, kind)| kind)
    }
}

/// Text has no control characters but these. What begins with a byte order mark may be of two bytes a character.
fn is_text(beginning: &[u8]) -> bool {
    if encoding_rs::Encoding::for_bom(beginning).is_some() {
        return true;
    }
    let is_odd =
        |byte: &u8| byte.is_ascii_control() && !matches!(byte, b'\n' | b'\r' | b'\t' | 0x0c | 0x1b | 0x1a);
    !beginning.contains(&0) && beginning.iter().filter(|byte| is_odd(byte)).count() * 100 <= beginning.len()
}

fn begins_as_html(beginning: &[u8]) -> bool {
    let beginning = beginning.trim_ascii_start();
    [&b"<!doctype html"[..], b"<html"]
        .iter()
        .any(|start| beginning.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start)))
}

fn contains(content: &[u8], wanted: &[u8]) -> bool {
    content.windows(wanted.len()).any(|window| window == wanted)
}
