//! Files within documents, as OLE embeds them (MS-OLEDS).

use std::{collections::BTreeSet, io::Write};

use encoding_rs::UTF_16LE;
use office_oxide::cfb::{DirEntry, EntryType};

use super::Compound;
use crate::blobs::extraction::{
    NO_READER, Stop, TextWriter,
    encoding::decode_names,
    kind::{DocumentFormat, TextFormat},
    read_inner,
};

/// Streams with a whole file, of Office and of `LibreOffice`.
const WHOLE_FILES: [&str; 3] = ["Package", "EmbeddedOdf", "package_stream"];

/// The stream of Acrobat and of `WordPad`, whose name others give to formats of their own.
const CONTENTS: &str = "CONTENTS";

pub(super) const UNNAMED: &str = "an embedded file";

/// Place of the first entry's child in a directory.
const CHILD: usize = 76;

/// A file that another embeds.
pub(super) fn file<W: Write>(file: &mut Compound<'_>, text: &mut TextWriter<W>) -> Result<(), Stop> {
    let is_document = |content: &Vec<u8>| {
        let format = DocumentFormat::of(content, TextFormat::Plain);
        matches!(format, DocumentFormat::Pdf | DocumentFormat::RichText)
    };
    let whole = WHOLE_FILES.iter().find_map(|name| file.open_stream(name).ok());
    if let Some(content) = whole.or_else(|| file.open_stream(CONTENTS).ok().filter(is_document)) {
        return read_inner(UNNAMED, &content, text);
    }
    let native = file.open_stream("\u{1}Ole10Native").map_err(|_| Stop::Unreadable(NO_READER.to_owned()))?;
    read_native(&native, text)
}

/// Returns the files that a document's pool or a workbook holds.
pub(super) fn files<W: Write>(
    content: &[u8],
    file: &Compound<'_>,
    text: &mut TextWriter<W>,
) -> Result<(), Stop> {
    let entries = file.entries();
    let root = entries_from(entries, entries.first().map_or(u32::MAX, |root| root.child));
    let pools = root.iter().filter(|entry| entry.name == "ObjectPool");
    let pooled = pools.flat_map(|pool| entries_from(entries, pool.child));
    let of_workbook = root.iter().copied().filter(|entry| entry.name.starts_with("MBD"));
    let mut storages: Vec<&DirEntry> =
        pooled.chain(of_workbook).filter(|entry| entry.entry_type == EntryType::Storage).collect();
    storages.sort_by_key(|storage| &storage.name);
    for storage in storages {
        if let Some(inner) = rooted(content, file, storage.child) {
            read_inner(UNNAMED, &inner, text)?;
        }
    }
    Ok(())
}

/// A file in the hexadecimal digits of RTF: version, kind, class, topic, item, then its bytes.
pub(in crate::blobs::extraction) fn object<W: Write>(
    digits: &[u8],
    text: &mut TextWriter<W>,
) -> Result<(), Stop> {
    let data = hex::decode(&digits[..digits.len() / 2 * 2]).unwrap_or_default();
    let class_and_bytes = || {
        let (class, rest) = counted(data.get(8..)?, 1)?;
        let (_topic, rest) = counted(rest, 1)?;
        let (_item, rest) = counted(rest, 1)?;
        Some((class, rest))
    };
    match class_and_bytes() {
        Some((class, native)) if class.starts_with(b"Package") && native_file(native).is_some() => {
            read_native(native, text)
        }
        Some((_, native)) => read_inner(UNNAMED, native.get(4..).unwrap_or_default(), text),
        None => Ok(()),
    }
}

/// Entries of a storage; their links may form a circle.
fn entries_from(entries: &[DirEntry], first: u32) -> Vec<&DirEntry> {
    let (mut found, mut seen, mut open) = (Vec::new(), BTreeSet::new(), vec![first]);
    while let Some(number) = open.pop() {
        let entry = usize::try_from(number).ok().and_then(|number| entries.get(number));
        if let Some(entry) = entry.filter(|_| seen.insert(number)) {
            open.extend([entry.left_sibling, entry.right_sibling]);
            found.push(entry);
        }
    }
    found
}

/// The compound file with one of its storages as the root.
fn rooted(content: &[u8], file: &Compound<'_>, child: u32) -> Option<Vec<u8>> {
    let header = file.header();
    let root = usize::try_from(header.sector_offset(header.first_dir_sector)).ok()?;
    let mut content = content.to_vec();
    content.get_mut(root.checked_add(CHILD)?..)?.first_chunk_mut().map(|link| *link = child.to_le_bytes())?;
    Some(content)
}

/// A file that Windows packaged, behind its name.
fn read_native<W: Write>(stream: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let Some((name, content)) = native_file(stream) else {
        return Err(Stop::Unreadable(NO_READER.to_owned()));
    };
    text.push_line(&name)?;
    read_inner(&name, content, text)
}

/// Label and bytes of a file in an `Ole10Native` stream: MS-OLEDS 2.3.6 and the packager's format.
///
/// Behind the bytes, newer programs repeat the label in Unicode.
fn native_file(stream: &[u8]) -> Option<(String, &[u8])> {
    let (label, rest) = split_at_zero(stream.get(6..)?)?;
    let (_path, rest) = split_at_zero(rest)?;
    let (_command, rest) = counted(rest.get(4..)?, 1)?;
    let content = rest.get(4..)?;
    let (content, behind) = counted(rest, 1).unwrap_or((content, &[]));
    let in_unicode = counted(behind, 2).and_then(|(_command, rest)| counted(rest, 2));
    let label = match in_unicode.filter(|(label, _)| !label.is_empty()) {
        Some((label, _)) => UTF_16LE.decode_without_bom_handling(label).0,
        None => decode_names(label),
    };
    Some((label.trim_end_matches('\0').to_owned(), content))
}

/// Splits behind a number of units and that many units.
fn counted(bytes: &[u8], unit: usize) -> Option<(&[u8], &[u8])> {
    let (count, rest) = bytes.split_first_chunk()?;
    let count = usize::try_from(u32::from_le_bytes(*count)).ok()?;
    rest.split_at_checked(count.checked_mul(unit)?)
}

fn split_at_zero(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}
