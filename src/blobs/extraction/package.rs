//! Parts of an archive: packages of Office and `OpenDocument`, books, archives of files.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    io::{Cursor, Read, Write},
};

use quick_xml::events::BytesStart;
use zip::{ZipArchive, result::ZipError};

use super::{
    ENCRYPTED, Stop, TextWriter,
    encoding::{decode_marked_up, decode_names},
    xml::{attribute, each_element, root_name},
};

const MAX_ENTRIES: usize = 20_000;

/// Bytes of a part by which its kind is told.
const TOLD_BY: u64 = 4 << 10;

/// An archive whose names are compared as Office does: without case, by either slash.
pub(super) struct Package<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    names: Vec<String>,
    places: BTreeMap<String, usize>,
}

/// A relationship of a part, ECMA-376 part 2.
#[derive(Debug)]
pub(super) struct Relationship {
    pub(super) id: String,
    /// Last segment of its type.
    pub(super) kind: String,
    /// The target part's name.
    pub(super) target: String,
}

impl<'a> Package<'a> {
    pub(super) fn open(content: &'a [u8]) -> Result<Self, Stop> {
        let archive = ZipArchive::new(Cursor::new(content)).map_err(Stop::unreadable)?;
        if archive.len() > MAX_ENTRIES {
            return Err(Stop::Unreadable(format!("it holds more than {MAX_ENTRIES} parts")));
        }
        let names = decoded(&archive.file_names_raw().collect::<Vec<_>>());
        let places = names.iter().map(|name| comparable(name)).zip(0..).collect();
        Ok(Self { archive, names, places })
    }

    /// Names as they are compared.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// Places and written names of the files, without folders.
    pub(super) fn files(&self) -> Vec<(usize, String)> {
        (0..).zip(self.names.clone()).filter(|(_, name)| !name.ends_with(['/', '\\'])).collect()
    }

    /// A part's bytes, as far as its size is within bounds.
    pub(super) fn read<W: Write>(&mut self, name: &str, text: &mut TextWriter<W>) -> Result<Vec<u8>, Stop> {
        self.read_at(self.place(name)?, text)
    }

    pub(super) fn read_at<W: Write>(
        &mut self,
        place: usize,
        text: &mut TextWriter<W>,
    ) -> Result<Vec<u8>, Stop> {
        let most = text.inflatable();
        let mut bytes = Vec::new();
        let read = self.part(place)?.take(most).read_to_end(&mut bytes);
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        text.count_inflated(length);
        if length == most {
            text.note(format!("it decompresses to more than {} bytes", super::MAX_INFLATED_BYTES));
        }
        match read {
            Ok(_) => Ok(bytes),
            // A damaged part is good up to its damage.
            Err(error) if !bytes.is_empty() => {
                text.note(format!("a part is damaged: {error}"));
                Ok(bytes)
            }
            Err(error) => Err(Stop::unreadable(error)),
        }
    }

    /// The local name of a part's first element.
    pub(super) fn root_of(&mut self, name: &str) -> Option<String> {
        let mut beginning = Vec::new();
        let place = self.place(name).ok()?;
        let _damaged = self.part(place).ok()?.take(TOLD_BY).read_to_end(&mut beginning);
        root_name(&decode_marked_up(&beginning))
    }

    pub(super) fn relationships<W: Write>(
        &mut self,
        part: &str,
        text: &mut TextWriter<W>,
    ) -> Vec<Relationship> {
        let (folder, file) = part.rsplit_once('/').unwrap_or(("", part));
        let name = if folder.is_empty() {
            format!("_rels/{file}.rels")
        } else {
            format!("{folder}/_rels/{file}.rels")
        };
        if !self.has(&name) {
            return Vec::new();
        }
        let Ok(bytes) = self.read(&name, text) else { return Vec::new() };
        relationships_in(&decode_marked_up(&bytes), folder)
    }

    fn place(&self, name: &str) -> Result<usize, Stop> {
        let place = self.places.get(&comparable(name)).copied();
        place.ok_or_else(|| Stop::Unreadable("there is no such part".to_owned()))
    }

    fn part(&mut self, place: usize) -> Result<impl Read, Stop> {
        self.archive.by_index(place).map_err(|error| match error {
            ZipError::InvalidPassword | ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => {
                Stop::Unreadable(ENCRYPTED.to_owned())
            }
            error => Stop::unreadable(error),
        })
    }
}

/// Ends quietly at damage.
fn relationships_in(xml: &str, folder: &str) -> Vec<Relationship> {
    let mut found = Vec::new();
    each_element(xml, |name, element| {
        if name == "Relationship" && found.len() < MAX_ENTRIES {
            let read = |name: &str| attribute(element, name).unwrap_or_default();
            found.push(Relationship {
                id: read("Id"),
                kind: read("Type").rsplit('/').next().unwrap_or_default().to_owned(),
                target: resolve(folder, &read("Target")),
            });
        }
    });
    found
}

/// Decodes names of files, those that are no UTF-8 together.
fn decoded(names: &[&[u8]]) -> Vec<String> {
    let is_utf8 = |name: &[u8]| std::str::from_utf8(name).is_ok();
    let damaged = names.iter().filter(|name| !is_utf8(name)).count();
    let sound = names.iter().filter(|name| is_utf8(name) && !name.is_ascii()).count();
    // A short name may be valid in UTF-8 by chance.
    let is_other = |name: &[u8]| !is_utf8(name) || (damaged > sound && !name.is_ascii());
    let together: Vec<&[u8]> = names.iter().copied().filter(|name| is_other(name)).collect();
    let together = together.join(&b'\n');
    let together = decode_names(&together);
    let mut told = together.split('\n');
    let decoded = |name: &&[u8]| {
        if is_other(name) {
            told.next().unwrap_or_default().to_owned()
        } else {
            String::from_utf8_lossy(name).into_owned()
        }
    };
    names.iter().map(decoded).collect()
}

fn comparable(name: &str) -> String {
    name.replace('\\', "/").trim_start_matches('/').to_lowercase()
}

/// The name of a target that is relative to the part's folder, or absolute.
pub(super) fn resolve(folder: &str, target: &str) -> String {
    let target: Cow<'_, str> = percent_encoding::percent_decode_str(target).decode_utf8_lossy();
    let target = target.replace('\\', "/");
    let from = if target.starts_with('/') { "" } else { folder };
    let mut parts: Vec<&str> = Vec::new();
    for part in from.split('/').chain(target.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/").to_lowercase()
}

/// The part that an element names by its prefixed attribute `id`.
pub(super) fn relationship_of<'p>(
    element: &BytesStart<'_>,
    parts: &'p [Relationship],
) -> Option<&'p Relationship> {
    let mut attributes = element.attributes();
    attributes.with_checks(false);
    let id = attributes
        .filter_map(Result::ok)
        .find(|attribute| attribute.key.prefix().is_some() && attribute.key.local_name().as_ref() == "id")?;
    parts.iter().find(|part| *part.id == *id.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_is_relative_to_the_folder_or_absolute() {
        for (folder, target, name) in [
            ("", "word/document2.xml", "word/document2.xml"),
            ("xl", "worksheets/Sheet1.xml", "xl/worksheets/sheet1.xml"),
            ("xl/worksheets", "../comments1.xml", "xl/comments1.xml"),
            ("xl", "/xl/styles.xml", "xl/styles.xml"),
            ("ppt", "slides\\slide1.xml", "ppt/slides/slide1.xml"),
            ("xl", "%e8%a1%a8.xml", "xl/表.xml"),
            ("xl", "../../../x.xml", "x.xml"),
        ] {
            assert_eq!(resolve(folder, target), name, "{folder} {target}");
        }
    }
}
