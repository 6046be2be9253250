//! Office and `OpenDocument` files: archives of XML.

use std::{
    collections::BTreeMap,
    io::{BufReader, Cursor, Read, Write},
};

use quick_xml::{Reader, XmlVersion, events::Event};
use zip::ZipArchive;

use super::{Stop, TextWriter};

const MAX_INFLATED: u64 = 64 << 20;

type Archive<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// A document's body, then headers, footers and notes.
pub(super) fn word<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let mut parts = Parts::open(content)?;
    parts.read("word/document.xml", &OFFICE, text)?;
    for beginning in ["word/header", "word/footer", "word/footnotes", "word/endnotes", "word/comments"] {
        parts.read_numbered(beginning, &OFFICE, text)?;
    }
    Ok(())
}

/// The slides, then all notes.
pub(super) fn slides<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let mut parts = Parts::open(content)?;
    parts.read_numbered("ppt/slides/slide", &OFFICE, text)?;
    parts.read_numbered("ppt/notesSlides/notesSlide", &OFFICE, text)
}

pub(super) fn open_document<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    Parts::open(content)?.read("content.xml", &OPEN_DOCUMENT, text)
}

struct ElementNames {
    texts: &'static [&'static [u8]],
    lines: &'static [&'static [u8]],
    spaces: &'static [&'static [u8]],
    /// Elements whose text also appears elsewhere.
    repeated: &'static [&'static [u8]],
}

const OFFICE: ElementNames = ElementNames {
    texts: &[b"t"],
    lines: &[b"p", b"br", b"cr"],
    spaces: &[b"tab"],
    repeated: &[b"Fallback"],
};

const OPEN_DOCUMENT: ElementNames = ElementNames {
    texts: &[b"p", b"h"],
    lines: &[b"p", b"h", b"line-break"],
    spaces: &[b"s", b"tab"],
    repeated: &[b"tracked-changes"],
};

struct Parts<'a> {
    archive: Archive<'a>,
    left: u64,
}

impl<'a> Parts<'a> {
    fn open(content: &'a [u8]) -> Result<Self, Stop> {
        let archive = ZipArchive::new(Cursor::new(content)).map_err(Stop::unreadable)?;
        Ok(Self { archive, left: MAX_INFLATED })
    }

    /// Reads parts named by prefix, number and `.xml`, by number.
    fn read_numbered<W: Write>(
        &mut self,
        beginning: &str,
        vocabulary: &ElementNames,
        text: &mut TextWriter<W>,
    ) -> Result<(), Stop> {
        let number = |name: &str| {
            let digits = name.strip_prefix(beginning)?.strip_suffix(".xml")?;
            if digits.is_empty() { Some(0) } else { digits.parse::<u32>().ok() }
        };
        let names = self.archive.file_names().filter_map(Result::ok);
        let numbered: BTreeMap<u32, String> =
            names.filter_map(|name| Some((number(&name)?, name.into_owned()))).collect();
        for name in numbered.values() {
            self.read(name, vocabulary, text)?;
        }
        Ok(())
    }

    fn read<W: Write>(
        &mut self,
        name: &str,
        vocabulary: &ElementNames,
        text: &mut TextWriter<W>,
    ) -> Result<(), Stop> {
        let part = self.archive.by_name(name).map_err(Stop::unreadable)?;
        let mut bounded = part.take(self.left);
        let read = read_xml(&mut bounded, vocabulary, text);
        self.left = bounded.limit();
        if self.left == 0 {
            return Err(Stop::Unreadable("it decompresses to more than the limit".to_owned()));
        }
        read?;
        text.push("\n")?;
        text.flush()
    }
}

fn read_xml<W: Write>(
    part: impl Read,
    vocabulary: &ElementNames,
    text: &mut TextWriter<W>,
) -> Result<(), Stop> {
    let mut reader = Reader::from_reader(BufReader::new(part));
    // Unclosed elements must not use memory.
    reader.config_mut().check_end_names = false;
    let mut buffer = Vec::new();
    let (mut texts, mut repeated) = (0_usize, 0_usize);
    loop {
        buffer.clear();
        let is_shown = texts > 0 && repeated == 0;
        match reader.read_event_into(&mut buffer).map_err(Stop::unreadable)? {
            Event::Start(element) => {
                let name = element.local_name();
                let name = name.as_ref().as_bytes();
                texts += usize::from(vocabulary.texts.contains(&name));
                repeated += usize::from(vocabulary.repeated.contains(&name));
            }
            Event::End(element) => {
                let name = element.local_name();
                let name = name.as_ref().as_bytes();
                texts = texts.saturating_sub(usize::from(vocabulary.texts.contains(&name)));
                repeated = repeated.saturating_sub(usize::from(vocabulary.repeated.contains(&name)));
                if vocabulary.lines.contains(&name) {
                    text.push("\n")?;
                }
            }
            Event::Empty(element) => {
                let name = element.local_name();
                let name = name.as_ref().as_bytes();
                if vocabulary.lines.contains(&name) {
                    text.push("\n")?;
                } else if vocabulary.spaces.contains(&name) {
                    text.push(" ")?;
                }
            }
            Event::Text(piece) if is_shown => text.push(&piece.xml_content(XmlVersion::Implicit1_0))?,
            Event::CData(piece) if is_shown => text.push(&piece.xml_content(XmlVersion::Implicit1_0))?,
            Event::GeneralRef(reference) if is_shown => {
                let character = match reference.resolve_char_ref().map_err(Stop::unreadable)? {
                    Some(character) => Some(character.to_string()),
                    None => quick_xml::escape::resolve_predefined_entity(&reference.xml10_content())
                        .map(str::to_owned),
                };
                text.push(&character.unwrap_or_default())?;
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}
