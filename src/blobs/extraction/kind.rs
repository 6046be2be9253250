//! Detects a content's kind by its beginning, and text formats by name.

use std::fmt;

use super::{
    encoding::{decode_marked_up, utf16_without_mark},
    metafile::is_metafile,
    package::Package,
};

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
    /// The format that a file's name tells, without its dot.
    pub fn of_extension(extension: &str) -> Self {
        match extension.to_ascii_lowercase().as_str() {
            "md" | "markdown" => Self::Markdown,
            "html" | "htm" | "xhtml" => Self::Html,
            _ => Self::Plain,
        }
    }

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
    RichText,
    Mail,
    Mailbox,
    Pdf,
    /// Word, Excel and `PowerPoint` since 2007.
    Office,
    OpenDocument,
    /// One piece of XML.
    FlatOffice,
    FlatOpenDocument,
    Book,
    Archive,
    /// Office and Outlook formats before 2007, and encrypted ones since.
    Compound,
    /// Excel 2 to 4.
    Worksheet,
    /// A picture of Windows that draws words.
    Metafile,
    Other,
}

/// Bytes that suffice to detect a text.
pub(super) const LOOKED_AT: usize = 8 << 10;

impl DocumentFormat {
    pub(super) fn of(content: &[u8], read_as: TextFormat) -> Self {
        let beginning = &content[..content.len().min(LOOKED_AT)];
        match Family::of(beginning) {
            Family::Pdf => Self::Pdf,
            Family::Archive => Self::in_archive(content),
            Family::Compound => Self::Compound,
            Family::Worksheet => Self::Worksheet,
            Family::Metafile => Self::Metafile,
            Family::Nothing => Self::Other,
            Family::Text => Self::of_text(&decode_marked_up(beginning), read_as),
        }
    }

    /// What a text declares wins over the file's name.
    fn of_text(beginning: &str, read_as: TextFormat) -> Self {
        if beginning.trim_start().starts_with("{\\rtf") {
            return Self::RichText;
        }
        let lines = beginning.trim_start();
        if let Some((_, message)) = lines.split_once('\n').filter(|_| lines.starts_with("From "))
            && mail_fields(message).iter().sum::<usize>() > 1
        {
            return Self::Mailbox;
        }
        // `.emlx` counts the bytes of its message first.
        let counted = lines.split_once('\n').filter(|(line, _)| line.trim_end().parse::<usize>().is_ok());
        let [by_people, by_programs] =
            mail_fields(counted.map_or(lines, |(_, message)| message.trim_start()));
        if by_programs > 0 && by_people + by_programs > 1 {
            return Self::Mail;
        }
        let markup = behind_prologue(beginning);
        if begins_with(markup, "<!doctype html") || begins_with(markup, "<html") {
            return Self::Html;
        }
        if begins_with(markup, "<office:document") {
            return Self::FlatOpenDocument;
        }
        let is_office = beginning.contains("<?mso-application") && beginning.starts_with("<?xml");
        if is_office || begins_with(markup, "<pkg:package") {
            return Self::FlatOffice;
        }
        // Pages that are named `.xls` and `.doc` begin so.
        let is_fragment = ["<table", "<meta", "<head", "<body", "<style", "<div"]
            .iter()
            .any(|tag| begins_with(markup, tag));
        match read_as {
            TextFormat::Plain if is_fragment => Self::Html,
            TextFormat::Plain => Self::Plain,
            TextFormat::Markdown => Self::Markdown,
            TextFormat::Html => Self::Html,
        }
    }

    fn in_archive(content: &[u8]) -> Self {
        let Ok(package) = Package::open(content) else { return Self::Archive };
        let is_office = |name: &str| ["word/", "ppt/", "xl/"].iter().any(|folder| name.starts_with(folder));
        if package.has("content.xml") {
            Self::OpenDocument
        } else if package.has("_rels/.rels") || package.names().any(is_office) {
            Self::Office
        } else if package.has("meta-inf/container.xml") {
            Self::Book
        } else {
            Self::Archive
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Pdf,
    Archive,
    /// Office formats before 2007.
    Compound,
    Worksheet,
    Metafile,
    Text,
    /// Pictures, audio, video, programs.
    Nothing,
}

impl Family {
    fn of(beginning: &[u8]) -> Self {
        if beginning.starts_with(b"PK\x03\x04") || beginning.starts_with(b"PK\x05\x06") {
            return Self::Archive;
        }
        if beginning.starts_with(&[0xd0, 0xcf, 0x11, 0xe0]) {
            return Self::Compound;
        }
        if is_worksheet(beginning) {
            return Self::Worksheet;
        }
        if is_metafile(beginning) {
            return Self::Metafile;
        }
        // Behind the others, which may begin with a PDF file within them.
        if contains(&beginning[..beginning.len().min(1_024)], b"%PDF-") {
            return Self::Pdf;
        }
        if is_text(beginning) || declares_text(beginning) { Self::Text } else { Self::Nothing }
    }
}

/// Tells whether the first record is of Excel 2, 3 or 4.
fn is_worksheet(beginning: &[u8]) -> bool {
    matches!(
        beginning,
        [9, 0 | 2 | 4, 4 | 6, 0, _, _, 0x10 | 0x20 | 0x40, 0, ..] | [9, 4, 6, 0, _, _, 0, 1, ..]
    )
}

/// Contents without text are not fetched.
pub(super) fn may_have_text(beginning: &[u8]) -> bool {
    !beginning.is_empty() && Family::of(&beginning[..beginning.len().min(LOOKED_AT)]) != Family::Nothing
}

/// Text has no other control characters, except as 2-byte characters.
fn is_text(beginning: &[u8]) -> bool {
    if encoding_rs::Encoding::for_bom(beginning).is_some() || utf16_without_mark(beginning).is_some() {
        return true;
    }
    let is_odd =
        |byte: &u8| byte.is_ascii_control() && !matches!(byte, b'\n' | b'\r' | b'\t' | 0x0c | 0x1b | 0x1a);
    beginning.iter().filter(|byte| is_odd(byte)).count() * 100 <= beginning.len()
}

/// Whether a format of text is named, which may hold stray bytes.
fn declares_text(beginning: &[u8]) -> bool {
    let beginning = beginning.trim_ascii_start();
    let begins =
        |start: &[u8]| beginning.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start));
    [&b"{\\rtf"[..], b"<html", b"<!doctype html"].into_iter().any(begins)
}

/// Fields that people write, RFC 5322.
const MAIL_FIELDS: [&str; 6] = ["from", "to", "cc", "subject", "reply-to", "sender"];

/// Fields that programs write: a memo that a person typed has none.
const TRANSPORT_FIELDS: [&str; 10] = [
    "date",
    "message-id",
    "received",
    "return-path",
    "mime-version",
    "content-type",
    "content-transfer-encoding",
    "delivered-to",
    "dkim-signature",
    "x-mailer",
];

/// Known fields with which a text begins: those of people and of programs.
fn mail_fields(beginning: &str) -> [usize; 2] {
    let (mut by_people, mut by_programs) = (0, 0);
    for line in beginning.lines() {
        if line.starts_with([' ', '\t']) && by_people + by_programs > 0 {
            continue;
        }
        let Some((name, _)) = line.split_once(':').filter(|(name, _)| is_field_name(name)) else { break };
        let is_of = |fields: &[&str]| fields.iter().any(|field| field.eq_ignore_ascii_case(name));
        by_people += usize::from(is_of(&MAIL_FIELDS));
        by_programs += usize::from(is_of(&TRANSPORT_FIELDS));
    }
    [by_people, by_programs]
}

pub(super) fn is_field_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// The markup behind an XML declaration, instructions and comments.
fn behind_prologue(beginning: &str) -> &str {
    let mut rest = beginning.trim_start();
    loop {
        let end = if rest.starts_with("<?") {
            "?>"
        } else if rest.starts_with("<!--") {
            "-->"
        } else {
            return rest;
        };
        let Some((_, behind)) = rest.split_once(end) else { return rest };
        rest = behind.trim_start();
    }
}

fn begins_with(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start))
}

fn contains(content: &[u8], wanted: &[u8]) -> bool {
    content.windows(wanted.len()).any(|window| window == wanted)
}
