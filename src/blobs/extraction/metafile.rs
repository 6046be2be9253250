//! Words that pictures of Windows draw: EMF (MS-EMF, MS-EMFPLUS) and WMF (MS-WMF).
//!
//! Own: the crates at hand model every record, or draw the pictures.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
    io::Write,
    iter::from_fn,
};

use encoding_rs::{UTF_16LE, mem::decode_latin1};

use super::{
    Stop, TextWriter,
    encoding::{decode, of_charset},
};

/// The header by which a WMF file tells its size on a page.
const PLACEABLE: [u8; 4] = [0xd7, 0xcd, 0xc6, 0x9a];
const PLACEABLE_BYTES: usize = 22;
const HEADER_BYTES: usize = 18;

/// Records of EMF.
const COMMENT: u32 = 70;
const EXT_TEXT_OUT_A: u32 = 83;
const EXT_TEXT_OUT_W: u32 = 84;
const SMALL_TEXT_OUT: u32 = 108;

/// Records of EMF+.
const DRAW_STRING: u16 = 0x401c;
const DRAW_DRIVER_STRING: u16 = 0x4036;

/// Records of WMF.
const SELECT_OBJECT: u16 = 0x12d;
const DELETE_OBJECT: u16 = 0x1f0;
const CREATE_FONT: u16 = 0x2fb;
/// Palettes, brushes, patterns, pens, bitmaps and regions.
const CREATE_OTHER: [u16; 9] = [0xf7, 0xf8, 0x142, 0x1f9, 0x2fa, 0x2fc, 0x2fd, 0x6fe, 0x6ff];
const TEXT_OUT: u16 = 0x521;
const EXT_TEXT_OUT: u16 = 0xa32;

/// Options of a run: its characters are numbers of glyphs, its widths have two directions.
const GLYPHS: u32 = 0x10;
const TWO_WIDTHS: u32 = 0x2000;

/// The character set of fonts with signs instead of letters.
const SIGNS: i32 = 2;

/// Characters of a run.
enum Characters<'a> {
    Decoded(Cow<'a, str>),
    /// Their encoding is not stated.
    Encoded(&'a [u8]),
}

/// Characters that are drawn together, and where.
struct Run<'a> {
    characters: Characters<'a>,
    x: i64,
    y: i64,
    /// Its width, if it is stated.
    width: Option<i64>,
}

impl Run<'_> {
    fn is_empty(&self) -> bool {
        match &self.characters {
            Characters::Decoded(text) => text.is_empty(),
            Characters::Encoded(bytes) => bytes.is_empty(),
        }
    }

    /// The mean width of its letters.
    fn letter_width(&self, count: usize) -> i64 {
        self.width.unwrap_or_default() / i64::try_from(count.max(1)).unwrap_or(i64::MAX)
    }

    /// What separates it from the next one: a line, a space, or nothing within a word.
    ///
    /// `letter` is the wider of their letter widths: some words are drawn letter by letter.
    fn separator(&self, next: &Self, letter: i64) -> &'static str {
        if self.y != next.y {
            return "\n";
        }
        let Some(width) = self.width else { return " " };
        let gap = next.x.saturating_sub(self.x.saturating_add(width)).saturating_abs();
        if gap.saturating_mul(3) <= letter { "" } else { " " }
    }
}

pub(super) fn is_metafile(beginning: &[u8]) -> bool {
    is_emf(beginning)
        || beginning.starts_with(&PLACEABLE)
        || matches!(beginning, [1 | 2, 0, 9, 0, 0, 1 | 3, ..])
}

fn is_emf(beginning: &[u8]) -> bool {
    beginning.starts_with(&[1, 0, 0, 0]) && beginning.get(40..44) == Some(b" EMF")
}

pub(super) fn metafile<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    if !is_emf(content) {
        return push_runs(|| wmf_runs(content), text);
    }
    let runs = || records(content).filter_map(|(kind, record)| emf_run(kind, record));
    // Most files with records of EMF+ repeat their words in older ones.
    if runs().next().is_some() {
        push_runs(runs, text)
    } else {
        push_runs(|| records(content).flat_map(|(kind, record)| emf_plus_runs(kind, record)), text)
    }
}

fn push_runs<'a, W, R>(runs: impl Fn() -> R, text: &mut TextWriter<W>) -> Result<(), Stop>
where
    W: Write,
    R: Iterator<Item = Run<'a>>,
{
    let encoded = encoded_lines(runs());
    let decoded = decode(&encoded, None);
    let mut lines = decoded.split('\n');
    let mut last: Option<(Run<'a>, i64)> = None;
    for run in runs().filter(|run| !run.is_empty()) {
        let characters = match &run.characters {
            Characters::Decoded(text) => text,
            Characters::Encoded(_) => lines.next().unwrap_or_default(),
        };
        let letter = run.letter_width(characters.chars().count());
        text.push(last.map_or("", |(last, before)| last.separator(&run, before.max(letter))))?;
        text.push(characters)?;
        last = Some((run, letter));
    }
    text.push("\n")
}

/// The runs whose encoding is not stated, one in a line.
///
/// It is told from all of a picture together.
fn encoded_lines<'a>(runs: impl Iterator<Item = Run<'a>>) -> Vec<u8> {
    let mut lines = Vec::new();
    for run in runs.filter(|run| !run.is_empty()) {
        if let Characters::Encoded(bytes) = run.characters {
            lines.extend(bytes.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }));
            lines.push(b'\n');
        }
    }
    lines
}

/// Kinds and bytes of the records of an EMF file, up to one that is cut.
fn records(content: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    let mut rest = content;
    from_fn(move || {
        let (record, behind) = rest.split_at_checked(place(rest, 4)?.max(8))?;
        rest = behind;
        Some((number(record, 0)?, record))
    })
}

/// The run that a record of EMF draws.
fn emf_run(kind: u32, record: &[u8]) -> Option<Run<'_>> {
    let signed = |at: usize| Some(i64::from(number(record, at)?.cast_signed()));
    let run = |x, y, options: u32, characters, width| {
        (options & GLYPHS == 0).then_some(Run { characters, x, y, width }).filter(|run| !run.is_empty())
    };
    match kind {
        EXT_TEXT_OUT_A | EXT_TEXT_OUT_W => {
            let (count, options) = (place(record, 44)?, number(record, 52)?);
            let behind = record.get(place(record, 48)?..)?;
            let characters = if kind == EXT_TEXT_OUT_W {
                wide(behind, count)?
            } else {
                Characters::Encoded(behind.get(..count)?)
            };
            let step = if options & TWO_WIDTHS == 0 { 4 } else { 8 };
            let widths = place(record, 72).filter(|at| *at > 0).and_then(|at| record.get(at..));
            let widths = widths.and_then(|widths| widths.get(..count.checked_mul(step)?));
            let width = widths.map(|widths| {
                widths.chunks_exact(step).filter_map(|width| number(width, 0)).map(i64::from).sum()
            });
            run(signed(36)?, signed(40)?, options, characters, width)
        }
        SMALL_TEXT_OUT => {
            let (count, options) = (place(record, 16)?, number(record, 20)?);
            let (is_unbound, is_narrow) = (options & 0x100 != 0, options & 0x200 != 0);
            let behind = record.get(if is_unbound { 36 } else { 52 }..)?;
            // The lower halves of units of UTF-16.
            let latin = || Some(Characters::Decoded(decode_latin1(behind.get(..count)?)));
            let characters = if is_narrow { latin()? } else { wide(behind, count)? };
            run(signed(8)?, signed(12)?, options, characters, None)
        }
        _ => None,
    }
}

/// The runs that records of EMF+ in a comment draw.
fn emf_plus_runs(kind: u32, record: &[u8]) -> impl Iterator<Item = Run<'_>> {
    let is_emf_plus = kind == COMMENT && record.get(12..16) == Some(b"EMF+");
    let mut rest = record.get(16..).filter(|_| is_emf_plus).unwrap_or_default();
    let inner = from_fn(move || {
        let (record, behind) = rest.split_at_checked(place(rest, 4)?.max(12))?;
        rest = behind;
        Some(record)
    });
    inner.filter_map(|record| {
        let data = &record[12..];
        let (characters, count, place_at) = match short(record, 0)? {
            DRAW_STRING => (28, place(data, 8)?, 12),
            // Its first option: characters, not glyphs.
            DRAW_DRIVER_STRING if number(data, 4)? & 1 == 1 => {
                let count = place(data, 12)?;
                (16, count, count.checked_mul(2)?.checked_add(16)?)
            }
            _ => return None,
        };
        let characters = wide(data.get(characters..)?, count)?;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a place beyond the picture is as good as its edge"
        )]
        let at = |at| Some(f32::from_bits(number(data, at)?) as i64);
        Some(Run { characters, x: at(place_at)?, y: at(place_at.checked_add(4)?)?, width: None })
    })
}

/// The objects of a WMF file: what is created takes the first place that is free.
#[derive(Default)]
struct GraphicsObjects {
    /// Character sets of fonts.
    fonts: HashMap<usize, i32>,
    free: BTreeSet<usize>,
    count: usize,
}

impl GraphicsObjects {
    fn create(&mut self, charset: Option<i32>) {
        let place = self.free.pop_first().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        self.fonts.extend(charset.map(|charset| (place, charset)));
    }

    fn delete(&mut self, place: usize) {
        if place < self.count {
            self.free.insert(place);
            self.fonts.remove(&place);
        }
    }
}

/// The runs of a WMF file.
fn wmf_runs(content: &[u8]) -> impl Iterator<Item = Run<'_>> {
    let begin = HEADER_BYTES + if content.starts_with(&PLACEABLE) { PLACEABLE_BYTES } else { 0 };
    let mut rest = content.get(begin..).unwrap_or_default();
    let records = from_fn(move || {
        let (record, behind) = rest.split_at_checked(place(rest, 0)?.max(3).checked_mul(2)?)?;
        rest = behind;
        Some(record)
    });
    let (mut objects, mut charset) = (GraphicsObjects::default(), 0);
    records.filter_map(move |record| {
        let data = &record[6..];
        match short(record, 4)? {
            CREATE_FONT => objects.create(Some(data.get(13).copied().unwrap_or_default().into())),
            function if CREATE_OTHER.contains(&function) => objects.create(None),
            SELECT_OBJECT => charset = objects.fonts.get(&short(data, 0)?.into()).copied().unwrap_or(charset),
            DELETE_OBJECT => objects.delete(short(data, 0)?.into()),
            TEXT_OUT => {
                let count = usize::from(short(data, 0)?);
                let behind = 2 + count.next_multiple_of(2);
                return Some(Run {
                    characters: narrow(data.get(2..2 + count)?, charset)?,
                    x: coordinate(data, behind + 2)?,
                    y: coordinate(data, behind)?,
                    width: None,
                });
            }
            EXT_TEXT_OUT => {
                let (count, options) = (usize::from(short(data, 4)?), u32::from(short(data, 6)?));
                let begin = if options & 6 == 0 { 8 } else { 16 };
                let characters =
                    narrow(data.get(begin..begin + count)?, charset).filter(|_| options & GLYPHS == 0)?;
                let widths = data.get(begin + count.next_multiple_of(2)..)?.get(..2 * count);
                let width = widths
                    .map(|widths| widths.chunks_exact(2).filter_map(|width| coordinate(width, 0)).sum());
                return Some(Run { characters, x: coordinate(data, 2)?, y: coordinate(data, 0)?, width });
            }
            _ => {}
        }
        None
    })
}

/// Characters of one byte or two in a font's character set.
fn narrow(bytes: &[u8], charset: i32) -> Option<Characters<'_>> {
    match of_charset(charset) {
        _ if charset == SIGNS => None,
        Some(encoding) => Some(Characters::Decoded(encoding.decode_without_bom_handling(bytes).0)),
        None => Some(Characters::Encoded(bytes)),
    }
}

fn wide(bytes: &[u8], count: usize) -> Option<Characters<'_>> {
    let bytes = bytes.get(..count.checked_mul(2)?)?;
    Some(Characters::Decoded(UTF_16LE.decode_without_bom_handling(bytes).0))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn place(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(number(bytes, at)?).ok()
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn coordinate(bytes: &[u8], at: usize) -> Option<i64> {
    Some(short(bytes, at)?.cast_signed().into())
}
