//! Shows of `PowerPoint` before 2007 (MS-PPT).

use std::{
    collections::HashSet,
    io::{Cursor, Read, Write},
};

use encoding_rs::{UTF_16LE, WINDOWS_1252};
use flate2::read::ZlibDecoder;
use office_oxide::ppt::{PptDocument, PptError};

use super::{Compound, embedded::UNNAMED, encrypted, note_incomplete};
use crate::blobs::extraction::{Stop, TextWriter, read_inner};

/// Kinds of records.
const DOCUMENT: u16 = 0x3e8;
const SLIDE: u16 = 0x3ee;
const TEXTS: u16 = 0xff0;
const WIDE_TEXT: u16 = 0xfa0;
const NARROW_TEXT: u16 = 0xfa8;
const OBJECT: u16 = 0x1011;
/// Containers around a comment on a slide.
const COMMENT: [u16; 4] = [0x1388, 0x138a, 0x138b, 0x2ee0];
const STRING: u16 = 0xfba;

pub(super) fn slides<W: Write>(
    content: &[u8],
    file: &mut Compound<'_>,
    text: &mut TextWriter<W>,
) -> Result<(), Stop> {
    let show = PptDocument::from_reader(Cursor::new(content)).map_err(|error| match error {
        PptError::Encrypted => encrypted(),
        error => Stop::unreadable(error),
    })?;
    note_incomplete(show.text_complete(), text);
    let stream = file.open_stream("PowerPoint Document").unwrap_or_default();
    let runs = show.slides.iter().flat_map(|slide| &slide.text_runs).chain(&show.master_text);
    let mut shown = HashSet::new();
    for run in runs {
        shown.insert(words(&run.text));
        push(&run.text, text)?;
    }
    // The library loses texts behind an empty placeholder.
    for piece in texts(&stream).into_iter().chain(comments(&stream)) {
        if shown.insert(words(&piece)) {
            push(&piece, text)?;
        }
    }
    text.flush()?;
    records(&stream).filter(|record| record.kind == OBJECT).try_for_each(|object| read_object(&object, text))
}

/// Lines end by these two characters.
fn push<W: Write>(piece: &str, text: &mut TextWriter<W>) -> Result<(), Stop> {
    text.push_line(&piece.replace(['\r', '\u{b}'], "\n"))
}

fn words(piece: &str) -> String {
    piece.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the texts that the outline of the slides holds.
fn texts(stream: &[u8]) -> Vec<String> {
    let document = records(stream).filter(|record| record.kind == DOCUMENT).last();
    let lists = document.iter().flat_map(|document| records(document.data));
    let of_slides = lists.filter(|list| list.kind == TEXTS && list.instance == 0);
    of_slides.flat_map(|list| records(list.data)).filter_map(|record| record.text()).collect()
}

fn comments(stream: &[u8]) -> Vec<String> {
    let mut comments: Vec<Record<'_>> = records(stream).filter(|record| record.kind == SLIDE).collect();
    for kind in COMMENT {
        let inner = comments.iter().flat_map(|outer| records(outer.data));
        comments = inner.filter(|inner| inner.kind == kind).collect();
    }
    let strings = |comment: &Record<'_>| {
        let strings = records(comment.data).filter(|string| string.kind == STRING && string.instance < 2);
        strings.filter_map(|string| string.text()).collect::<Vec<_>>().join(": ")
    };
    comments.iter().map(strings).collect()
}

/// An embedded file, as it is or deflated behind its length.
fn read_object<W: Write>(object: &Record<'_>, text: &mut TextWriter<W>) -> Result<(), Stop> {
    if object.instance == 0 {
        return read_inner(UNNAMED, object.data, text);
    }
    let mut inflated = Vec::new();
    let (length, deflated) = object.data.split_first_chunk().unwrap_or((&[u8::MAX; 4], &[]));
    let read = ZlibDecoder::new(deflated).take(text.inflatable()).read_to_end(&mut inflated);
    // Some end without the mark of their end.
    if read.is_err() && (inflated.len() as u64) < u64::from(u32::from_le_bytes(*length)) {
        text.note("an embedded file is damaged");
    }
    text.count_inflated(inflated.len() as u64);
    read_inner(UNNAMED, &inflated, text)
}

struct Record<'s> {
    kind: u16,
    instance: u16,
    data: &'s [u8],
}

impl Record<'_> {
    fn text(&self) -> Option<String> {
        let encoding = match self.kind {
            WIDE_TEXT | STRING => UTF_16LE,
            NARROW_TEXT => WINDOWS_1252,
            _ => return None,
        };
        Some(encoding.decode_without_bom_handling(self.data).0.into_owned())
    }
}

/// Records one behind the other, up to one that is cut.
fn records(stream: &[u8]) -> impl Iterator<Item = Record<'_>> {
    let mut rest = stream;
    std::iter::from_fn(move || {
        let ([version, instance, kind @ .., a, b, c, d], behind) = rest.split_first_chunk::<8>()?;
        let length = usize::try_from(u32::from_le_bytes([*a, *b, *c, *d])).ok()?;
        let (data, behind) = behind.split_at_checked(length)?;
        rest = behind;
        // The lowest four bits are a version.
        let instance = u16::from_le_bytes([*version, *instance]) >> 4;
        Some(Record { kind: u16::from_le_bytes(*kind), instance, data })
    })
}
