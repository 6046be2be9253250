//! Parts of a PDF file that are not drawn: notes, values, outline, properties, files.

use std::collections::HashSet;

use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use hayro_interpret::hayro_syntax::{
    Pdf,
    object::{Array, Dict, Name, Object, ObjectIdentifier, Stream, String as PdfString},
    page::Page,
};

/// Entries of an outline that are read.
const MAX_OUTLINE: usize = 10_000;

/// Attached files, and nodes of the tree of their names.
const MAX_FILES: usize = 1_000;

/// Fields above one from which it inherits.
const MAX_PARENTS: usize = 16;

/// Annotations that are not shown: hidden, without a view.
const UNSEEN: u32 = 1 << 1 | 1 << 5;

/// Texts of a page's annotations that are not drawn as glyphs.
pub(super) fn of_page(page: &Page<'_>) -> impl Iterator<Item = String> {
    let annotations = page.raw().get::<Array<'_>>(b"Annots");
    annotations
        .into_iter()
        .flat_map(|annotations| annotations.iter::<Dict<'_>>())
        .filter_map(|annotation| note(&annotation))
}

fn note(annotation: &Dict<'_>) -> Option<String> {
    let is_drawn = || annotation.get::<Dict<'_>>(b"AP").is_some_and(|drawn| drawn.contains_key(b"N"));
    if annotation.get::<u32>(b"F").unwrap_or_default() & UNSEEN != 0 {
        return None;
    }
    let kind = annotation.get::<Name<'_>>(b"Subtype")?;
    match kind.as_ref() {
        b"Popup" | b"Link" => None,
        b"Widget" | b"FreeText" if is_drawn() => None,
        b"Widget" => value_of(annotation),
        _ => {
            let text = text_of(annotation, b"Contents")?;
            Some(match text_of(annotation, b"T") {
                Some(author) => format!("{author}: {text}"),
                None => text,
            })
        }
    }
    .filter(|text| !text.trim().is_empty())
}

fn text_of(dictionary: &Dict<'_>, key: &[u8]) -> Option<String> {
    let text = decoded(&dictionary.get::<PdfString<'_>>(key)?);
    Some(text).filter(|text| !text.trim().is_empty())
}

/// The value of a field, or of one above it.
fn value_of(field: &Dict<'_>) -> Option<String> {
    let mut field = field.clone();
    for _ in 0..MAX_PARENTS {
        match field.get::<Object<'_>>(b"V") {
            Some(Object::String(value)) => return Some(decoded(&value)),
            Some(Object::Array(values)) => {
                let values: Vec<String> =
                    values.iter::<PdfString<'_>>().map(|value| decoded(&value)).collect();
                return Some(values.join("\n"));
            }
            // Names are states of buttons.
            Some(_) => return None,
            None => field = field.get::<Dict<'_>>(b"Parent")?,
        }
    }
    None
}

/// Titles of the outline, in its order.
pub(super) fn outline(pdf: &Pdf) -> Vec<String> {
    let catalog = pdf.xref().get::<Dict<'_>>(pdf.xref().root_id());
    let outlines = catalog.and_then(|catalog| catalog.get::<Dict<'_>>(b"Outlines"));
    let mut titles = Vec::new();
    let mut seen: HashSet<ObjectIdentifier> = HashSet::new();
    let mut open: Vec<Dict<'_>> = outlines.and_then(|outlines| outlines.get(b"First")).into_iter().collect();
    while let Some(entry) = open.pop() {
        if titles.len() >= MAX_OUTLINE || !entry.obj_id().is_none_or(|id| seen.insert(id)) {
            continue;
        }
        titles.extend(entry.get::<PdfString<'_>>(b"Title").map(|title| decoded(&title)));
        open.extend(entry.get::<Dict<'_>>(b"Next"));
        open.extend(entry.get::<Dict<'_>>(b"First"));
    }
    titles
}

/// Title, subject and keywords.
pub(super) fn properties(pdf: &Pdf) -> impl Iterator<Item = String> {
    let properties = pdf.metadata();
    [&properties.title, &properties.subject, &properties.keywords]
        .into_iter()
        .flatten()
        .map(|text| decoded(text))
}

/// Names and contents of attached files: the document's, then those of notes (ISO 32000-2, 7.11.4).
pub(super) fn files<'p>(pdf: &'p Pdf) -> Vec<(String, Stream<'p>)> {
    let catalog = pdf.xref().get::<Dict<'_>>(pdf.xref().root_id());
    let names = catalog.and_then(|catalog| catalog.get::<Dict<'_>>(b"Names"));
    let mut open: Vec<Dict<'_>> = names.and_then(|names| names.get(b"EmbeddedFiles")).into_iter().collect();
    let (mut specifications, mut read) = (Vec::new(), 0);
    while let Some(node) = open.pop().filter(|_| read < MAX_FILES) {
        read += 1;
        specifications.extend(dictionaries(&node, b"Names"));
        open.extend(dictionaries(&node, b"Kids"));
    }
    let notes = pdf.pages().iter().flat_map(|page| dictionaries(page.raw(), b"Annots"));
    specifications.extend(notes.filter_map(|note| note.get(b"FS")));
    let mut seen = HashSet::new();
    let file = |specification: Dict<'p>| {
        let content = specification.get::<Dict<'_>>(b"EF")?.get::<Stream<'_>>(b"F")?;
        let name = [&b"UF"[..], b"F"].iter().find_map(|key| text_of(&specification, key));
        seen.insert(content.obj_id()).then(|| (name.unwrap_or_default(), content))
    };
    specifications.into_iter().filter_map(file).take(MAX_FILES).collect()
}

/// The dictionaries of a list, between which other objects may stand.
fn dictionaries<'p>(of: &Dict<'p>, key: &[u8]) -> Vec<Dict<'p>> {
    let list = of.get::<Array<'_>>(key);
    let objects = list.iter().flat_map(Array::iter::<Object<'_>>);
    objects.filter_map(|object| if let Object::Dict(one) = object { Some(one) } else { None }).collect()
}

/// A text string, ISO 32000-2, 7.9.2.2.
fn decoded(bytes: &[u8]) -> String {
    let (encoding, begin) = match bytes {
        [0xfe, 0xff, ..] => (UTF_16BE, 2),
        [0xff, 0xfe, ..] => (UTF_16LE, 2),
        [0xef, 0xbb, 0xbf, ..] => (UTF_8, 3),
        _ => (WINDOWS_1252, 0),
    };
    encoding.decode_without_bom_handling(&bytes[begin..]).0.replace('\r', "\n")
}
