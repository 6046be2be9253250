//! Words that pictures of Windows draw: EMF (MS-EMF, MS-EMFPLUS) and WMF (MS-WMF).
//!
//! Own: the crates at hand model every record, or draw the pictures.

use std::{
    collections::{BTreeSet, HashMap},
    io::Write,
    iter::from_fn,
};

use encoding_rs::UTF_16LE;

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

/// Characters that are drawn together, and where.
struct DrawnText {
    text: String,
    x: i64,
    y: i64,
    /// Its width, if it is stated.
    width: Option<i64>,
}

impl DrawnText {
    /// What separates it from the next one: a line, a space, or nothing within a word.
    fn separator(&self, next: &Self) -> &'static str {
        if self.y != next.y {
            return "\n";
        }
        let Some(width) = self.width else { return " " };
        let letter = width / i64::try_from(self.text.chars().count().max(1)).unwrap_or(i64::MAX);
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
        return push_runs(wmf_runs(content), text);
    }
    let mut runs = records(content).filter_map(|(kind, record)| emf_run(kind, record)).peekable();
    // Most files with records of EMF+ repeat their words in older ones.
    if runs.peek().is_some() {
        push_runs(runs, text)
    } else {
        push_runs(records(content).flat_map(|(kind, record)| emf_plus_runs(kind, record)), text)
    }
}

fn push_runs<W: Write>(runs: impl Iterator<Item = DrawnText>, text: &mut TextWriter<W>) -> Result<(), Stop> {
    let mut last: Option<DrawnText> = None;
    for run in runs {
        text.push(last.map_or("", |last| last.separator(&run)))?;
        text.push(&run.text)?;
        last = Some(run);
    }
    text.push("\n")
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
fn emf_run(kind: u32, record: &[u8]) -> Option<DrawnText> {
    let signed = |at: usize| Some(i64::from(number(record, at)?.cast_signed()));
    let run = |x, y, options: u32, text, width| {
        (options & GLYPHS == 0).then_some(DrawnText { text, x, y, width }).filter(|run| !run.text.is_empty())
    };
    match kind {
        EXT_TEXT_OUT_A | EXT_TEXT_OUT_W => {
            let (count, options) = (place(record, 44)?, number(record, 52)?);
            let behind = record.get(place(record, 48)?..)?;
            let text = if kind == EXT_TEXT_OUT_W {
                wide(behind, count)?
            } else {
                decode(behind.get(..count)?, None).into()
            };
            let step = if options & TWO_WIDTHS == 0 { 4 } else { 8 };
            let widths = place(record, 72).filter(|at| *at > 0).and_then(|at| record.get(at..));
            let widths = widths.and_then(|widths| widths.get(..count.checked_mul(step)?));
            let width = widths.map(|widths| {
                widths.chunks_exact(step).filter_map(|width| number(width, 0)).map(i64::from).sum()
            });
            run(signed(36)?, signed(40)?, options, text, width)
        }
        SMALL_TEXT_OUT => {
            let (count, options) = (place(record, 16)?, number(record, 20)?);
            let (is_unbound, is_narrow) = (options & 0x100 != 0, options & 0x200 != 0);
            let behind = record.get(if is_unbound { 36 } else { 52 }..)?;
            let text =
                if is_narrow { decode(behind.get(..count)?, None).into() } else { wide(behind, count)? };
            run(signed(8)?, signed(12)?, options, text, None)
        }
        _ => None,
    }
}

/// The runs that records of EMF+ in a comment draw.
fn emf_plus_runs(kind: u32, record: &[u8]) -> impl Iterator<Item = DrawnText> {
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
        let text = wide(data.get(characters..)?, count)?;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a place beyond the picture is as good as its edge"
        )]
        let at = |at| Some(f32::from_bits(number(data, at)?) as i64);
        Some(DrawnText { text, x: at(place_at)?, y: at(place_at.checked_add(4)?)?, width: None })
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
fn wmf_runs(content: &[u8]) -> impl Iterator<Item = DrawnText> {
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
                let text = narrow(data.get(2..2 + count)?, charset)?;
                return Some(DrawnText {
                    text,
                    x: coordinate(data, behind + 2)?,
                    y: coordinate(data, behind)?,
                    width: None,
                });
            }
            EXT_TEXT_OUT => {
                let (count, options) = (usize::from(short(data, 4)?), u32::from(short(data, 6)?));
                let begin = if options & 6 == 0 { 8 } else { 16 };
                let text =
                    narrow(data.get(begin..begin + count)?, charset).filter(|_| options & GLYPHS == 0)?;
                let widths = data.get(begin + count.next_multiple_of(2)..)?.get(..2 * count);
                let width = widths
                    .map(|widths| widths.chunks_exact(2).filter_map(|width| coordinate(width, 0)).sum());
                return Some(DrawnText { text, x: coordinate(data, 2)?, y: coordinate(data, 0)?, width });
            }
            _ => {}
        }
        None
    })
}

/// Characters of one byte or two in a font's character set; those of signs are no words.
fn narrow(bytes: &[u8], charset: i32) -> Option<String> {
    let text = match of_charset(charset) {
        _ if charset == SIGNS => return None,
        Some(encoding) => encoding.decode_without_bom_handling(bytes).0,
        None => decode(bytes, None),
    };
    (!text.is_empty()).then(|| text.into_owned())
}

fn wide(bytes: &[u8], count: usize) -> Option<String> {
    let bytes = bytes.get(..count.checked_mul(2)?)?;
    Some(UTF_16LE.decode_without_bom_handling(bytes).0.into_owned())
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
