//! Detects a content's kind by its beginning, and text formats by name.

use std::{fmt, io::Cursor};

use zip::ZipArchive;

/// Format of a text, by its file's extension (`files.read_as`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum TextFormat {
    /// Plain text.
    #[default]
    Plain,
    /// Markdown.
    Markdown,
    /// HTML.
    Html,
}

impl TextFormat {
    pub(super) fn from_row(text: &str) -> Self {
        match text {
            "markdown" => Self::Markdown,
            "html" => Self::Html,
            _ => Self::Plain,
        }
    }
}

impl fmt::Display for TextFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Plain => "plain",
            Self::Markdown => "markdown",
            Self::Html => "html",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentFormat {
    Plain,
    Markdown,
    Html,
    Pdf,
    Word,
    Slides,
    OpenDocument,
    Xlsx,
    Xlsb,
    Xls,
    Other,
}

/// Bytes that suffice to detect a text.
pub(super) const LOOKED_AT: usize = 8 << 10;

const MAX_ENTRIES: usize = 20_000;

impl DocumentFormat {
    pub(super) fn of(content: &[u8], read_as: TextFormat) -> Self {
        let beginning = &content[..content.len().min(LOOKED_AT)];
        match Family::of(beginning) {
            Family::Pdf => Self::Pdf,
            Family::Archive => Self::in_archive(content),
            // The reader checks whether it contains a workbook.
            Family::Compound => Self::Xls,
            Family::Nothing => Self::Other,
            // An HTML declaration wins over the file's name.
            Family::Text if begins_as_html(beginning) => Self::Html,
            Family::Text => match read_as {
                TextFormat::Plain => Self::Plain,
                TextFormat::Markdown => Self::Markdown,
                TextFormat::Html => Self::Html,
            },
        }
    }

    fn in_archive(content: &[u8]) -> Self {
        let Ok(archive) = ZipArchive::new(Cursor::new(content)) else { return Self::Other };
        if archive.len() > MAX_ENTRIES {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Pdf,
    Archive,
    /// Office formats before 2007.
    Compound,
    Text,
    /// Pictures, audio, video, programs.
    Nothing,
}

impl Family {
    fn of(beginning: &[u8]) -> Self {
        if contains(&beginning[..beginning.len().min(1_024)], b"%PDF-") {
            return Self::Pdf;
        }
        if beginning.starts_with(b"PK\x03\x04") {
            return Self::Archive;
        }
        if beginning.starts_with(&[0xd0, 0xcf, 0x11, 0xe0]) {
            return Self::Compound;
        }
        if is_text(beginning) { Self::Text } else { Self::Nothing }
    }
}

/// Contents without text are not fetched.
pub(super) fn may_have_text(beginning: &[u8]) -> bool {
    !beginning.is_empty() && Family::of(&beginning[..beginning.len().min(LOOKED_AT)]) != Family::Nothing
}

/// Text has no other control characters, except as 2-byte characters after a byte order mark.
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
