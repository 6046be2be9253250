//! PDF text: glyphs line by line, then notes and values of each page.
//!
//! The outline, the properties and attached files follow.

mod collections;
mod lines;
mod notes;

use std::{io::Write, sync::Arc};

use hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps, InterpreterCache,
    InterpreterSettings, SoftMask, TransformExt,
    font::{Glyph, GlyphRun},
    hayro_cmap::{BfString, CMapName, WritingMode, load_embedded},
    hayro_syntax::{DecryptionError, LoadPdfError, Pdf},
    interpret_page,
    kurbo::{Affine, BezPath, Point, Rect, Vec2},
};

use self::{
    collections::CollectionFonts,
    lines::{Character, Lines},
};
use super::{ENCRYPTED, Stop, TextWriter, read_inner};

/// A gap above this share of the letter height is a space.
const SPACE: f64 = 0.15;

/// Mean difference of the ends, in letter heights, that tells which one is right.
const CERTAIN: f64 = 0.01;

/// Mean gap within a run, in letter heights, below which its glyphs meet.
const EXACT: f64 = 0.02;

/// Difference of the ratios of glyphs that are set alike.
const SAME_RATIO: f64 = 0.02;

/// Gaps of narrow letters are divided by this at least.
const MIN_NARROWNESS: f64 = 0.3;

/// A step across the line above this share is a line break.
const LINE: f64 = 0.5;

/// Glyph widths are in thousandths of the height.
const UNITS: f64 = 1_000.0;

/// Each code is its character: what `/ToUnicode /Identity-H` means.
const IDENTITY: &[u8] = b"begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange \
    1 beginbfrange <0000> <FFFF> <0000> endbfrange endcmap";

pub(super) fn pdf<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let pdf = Pdf::new(content.to_vec()).map_err(|error| {
        Stop::Unreadable(match error {
            LoadPdfError::Decryption(DecryptionError::UnsupportedAlgorithm) => {
                "its encryption is of an unknown kind".to_owned()
            }
            LoadPdfError::Decryption(_) => ENCRYPTED.to_owned(),
            // A password may keep even the list of pages from being read.
            LoadPdfError::Invalid if content.windows(8).any(|window| window == b"/Encrypt") => {
                ENCRYPTED.to_owned()
            }
            LoadPdfError::Invalid => "it is no PDF file, or damaged".to_owned(),
        })
    })?;
    let settings = InterpreterSettings {
        cmap_resolver: Arc::new(|name: CMapName<'_>| match name {
            CMapName::IdentityH | CMapName::IdentityV => Some(IDENTITY),
            name => load_embedded(name),
        }),
        ..InterpreterSettings::default()
    };
    let cache = InterpreterCache::new();
    let mut lines = Lines::default();
    for page in pdf.pages().iter() {
        let (width, height) = page.render_dimensions();
        let mut interpreting = Context::new(
            page.initial_transform(true).to_kurbo(),
            Rect::new(0.0, 0.0, f64::from(width), f64::from(height)),
            &cache,
            pdf.xref(),
            settings.clone(),
        );
        let fonts = CollectionFonts::of(page);
        let mut reader =
            PageReader { text, lines: &mut lines, fonts, before: None, choice: None, stopped: None };
        interpret_page(page, &mut interpreting, &mut reader);
        if let Some(stop) = reader.stopped {
            return Err(stop);
        }
        lines.break_line(text)?;
        notes::of_page(page).try_for_each(|note| text.push_line(&note))?;
        text.flush()?;
    }
    lines.end(text)?;
    notes::outline(&pdf).into_iter().try_for_each(|title| text.push_line(&title))?;
    notes::properties(&pdf).try_for_each(|property| text.push_line(&property))?;
    for (name, file) in notes::files(&pdf) {
        text.push_line(&name)?;
        let Ok(content) = file.decoded_data() else { continue };
        text.count_inflated(content.len() as u64);
        if text.inflatable() > 0 {
            read_inner(&name, &content, text)?;
        }
    }
    Ok(())
}

/// A glyph on its page.
#[derive(Debug)]
struct PlacedGlyph {
    text: Option<String>,
    begin: Point,
    /// Of the line.
    direction: Vec2,
    /// Where it ends: by its matrix, and by the letter height.
    ///
    /// The matrix may mislead: fonts that are not in the file are stretched to the stated widths. So may the height: words of
    /// scanned pages are set narrow.
    ends: [Point; 2],
    height: f64,
    /// Which of the ends is right, if that is known.
    choice: Option<EndChoice>,
}

impl PlacedGlyph {
    /// Its width by the matrix, as a share of the one by the height.
    fn ratio(&self) -> f64 {
        let [by_matrix, by_height] = self.ends.map(|end| (end - self.begin).hypot());
        if by_height > 0.0 { by_matrix / by_height } else { 1.0 }
    }

    /// The gap to the next glyph in letter heights.
    fn gap(&self, next: &Self) -> f64 {
        let height = next.height.max(self.height).max(f64::MIN_POSITIVE);
        let gaps = self.ends.map(|end| (next.begin - end).dot(next.direction) / height);
        match self.choice {
            Some(choice) => gaps[choice.end] / choice.narrowness,
            // The nearer one.
            None if gaps[0].abs() < gaps[1].abs() => gaps[0],
            None => gaps[1],
        }
    }
}

/// Which end of glyphs is right.
#[derive(Clone, Copy, Debug)]
struct EndChoice {
    /// Its place among the ends.
    end: usize,
    /// The ratio of the glyphs that told it.
    ratio: f64,
    /// The share of their usual width that letters have; spaces between words are as narrow.
    narrowness: f64,
}

impl EndChoice {
    /// Chooses the end at which the glyphs of a run meet one another.
    fn of(run: &[PlacedGlyph]) -> Option<Self> {
        let (mut missed, mut count) = ([0.0; 2], 0.0);
        for pair in run.windows(2) {
            let height = pair[0].height.max(f64::MIN_POSITIVE);
            for (missed, end) in missed.iter_mut().zip(pair[0].ends) {
                // A gap between words counts for both ends alike.
                *missed += ((pair[1].begin - end).hypot() / height).min(1.0);
            }
            count += 1.0;
        }
        if count == 0.0 || (missed[0] - missed[1]).abs() <= CERTAIN * count {
            return None;
        }
        let (end, ratio) = (usize::from(missed[1] < missed[0]), run[0].ratio());
        let is_set_narrow = end == 0 && missed[0] <= EXACT * count;
        let narrowness = if is_set_narrow { ratio.clamp(MIN_NARROWNESS, 1.0) } else { 1.0 };
        Some(Self { end, ratio, narrowness })
    }

    /// Whether it holds for a glyph that alone tells nothing.
    fn fits(&self, glyph: &PlacedGlyph) -> bool {
        (glyph.ratio() - self.ratio).abs() <= SAME_RATIO * self.ratio
    }
}

struct PageReader<'t, 'a, W: Write> {
    text: &'t mut TextWriter<W>,
    lines: &'t mut Lines,
    fonts: CollectionFonts<'a>,
    before: Option<PlacedGlyph>,
    /// The last one that a run has told.
    choice: Option<EndChoice>,
    stopped: Option<Stop>,
}

impl<W: Write> PageReader<'_, '_, W> {
    fn place(&mut self, glyph: &Glyph<'_>, transform: Affine, mode: WritingMode) -> PlacedGlyph {
        let text = glyph.as_unicode().or_else(|| self.fonts.character_of(glyph)).map(|text| match text {
            BfString::Char(character) => character.to_string(),
            BfString::String(characters) => characters,
        });
        let begin = transform * Point::ZERO;
        let height = (transform * Point::new(0.0, UNITS) - begin).hypot();
        if mode == WritingMode::Vertical {
            let down = transform * Point::new(0.0, -UNITS);
            return PlacedGlyph {
                text,
                begin,
                direction: unit(down - begin),
                ends: [down, down],
                height,
                choice: None,
            };
        }
        let width = match glyph {
            Glyph::Outline(glyph) => glyph.advance_width(),
            Glyph::Type3(glyph) => glyph.advance_width(),
        };
        let width = f64::from(width.unwrap_or_default());
        let direction = unit(transform * Point::new(UNITS, 0.0) - begin);
        let ends = [transform * Point::new(width, 0.0), begin + direction * (width / UNITS * height)];
        PlacedGlyph { text, begin, direction, ends, height, choice: None }
    }

    fn read(&mut self, mut glyph: PlacedGlyph) -> Result<(), Stop> {
        let Some(text) = glyph.text.take() else { return Ok(()) };
        let mut gap = 0.0;
        if let Some(before) = &self.before {
            let height = glyph.height.max(before.height).max(f64::MIN_POSITIVE);
            if (glyph.begin - before.begin).cross(glyph.direction).abs() > LINE * height {
                self.lines.break_line(self.text)?;
            } else {
                gap = before.gap(&glyph);
            }
        }
        let at = glyph.begin.to_vec2().dot(glyph.direction);
        let end = glyph.ends[glyph.choice.map_or(1, |choice| choice.end)];
        let width = (end - glyph.begin).dot(glyph.direction);
        self.lines.push(Character { text, at, width, height: glyph.height, gap });
        self.before = Some(glyph);
        Ok(())
    }
}

fn unit(vector: Vec2) -> Vec2 {
    if vector.hypot() > 0.0 { vector / vector.hypot() } else { Vec2::new(1.0, 0.0) }
}

impl<'a, W: Write> Device<'a> for PageReader<'_, 'a, W> {
    fn draw_glyph_run(&mut self, glyph_run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, _: &DrawMode) {
        let mode = glyph_run.writing_mode();
        let glyphs = glyph_run.glyphs().iter();
        let mut run: Vec<_> =
            glyphs.map(|glyph| self.place(glyph, props.transform * glyph.transform(), mode)).collect();
        let told = EndChoice::of(&run);
        self.choice = told.or(self.choice);
        for glyph in &mut run {
            glyph.choice = told.or(self.choice.filter(|choice| choice.fits(glyph)));
        }
        for glyph in run {
            if self.stopped.is_none()
                && let Err(stop) = self.read(glyph)
            {
                self.stopped = Some(stop);
            }
        }
    }

    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'a>, _: &DrawMode) {}
    fn push_clip_path(&mut self, _: &ClipPath) {}
    fn push_clip_rect(&mut self, _: &Rect) {}
    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {}
    fn draw_image(&mut self, _: Image<'a, '_>, _: ImageDrawProps<'a>) {}
    fn pop_clip(&mut self) {}
    fn pop_transparency_group(&mut self) {}
    fn draw_rect(&mut self, _: &Rect, _: DrawProps<'a>, _: &DrawMode) {}
}
