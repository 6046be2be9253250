//! PDF text: the characters of its glyphs line by line, then notes, values of forms and the outline.

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

/// Difference of two ends above this share of the letter height tells which one is right.
const CERTAIN: f64 = 0.01;

/// Narrower letters than this share of their usual width are hardly text.
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
            PageReader { text, lines: &mut lines, fonts, before: None, true_end: None, stopped: None };
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
    /// Fonts that are not in the file are stretched to the stated widths, so that the matrix may mislead. Words that are set
    /// narrow, as in texts of scanned pages, are less wide than their height tells.
    ends: [Point; 2],
    height: f64,
}

impl PlacedGlyph {
    /// Its width as a share of what its height tells; letters set wide count as usual ones.
    fn narrowness(&self) -> f64 {
        let [by_matrix, by_height] = self.ends.map(|end| (end - self.begin).hypot());
        if by_height > 0.0 { (by_matrix / by_height).clamp(MIN_NARROWNESS, 1.0) } else { 1.0 }
    }

    /// The place among the ends where most glyphs of a run meet the next one.
    fn true_end(run: &[Self]) -> Option<usize> {
        let mut met = [0_usize; 2];
        for pair in run.windows(2) {
            let [by_matrix, by_height] = pair[0].ends.map(|end| (pair[1].begin - end).hypot());
            if (by_matrix - by_height).abs() > CERTAIN * pair[0].height {
                met[usize::from(by_height < by_matrix)] += 1;
            }
        }
        let [by_matrix, by_height] = met;
        (by_matrix != by_height).then_some(usize::from(by_height > by_matrix))
    }
}

struct PageReader<'t, 'a, W: Write> {
    text: &'t mut TextWriter<W>,
    lines: &'t mut Lines,
    fonts: CollectionFonts<'a>,
    before: Option<PlacedGlyph>,
    /// The last one that a run told.
    true_end: Option<usize>,
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
            return PlacedGlyph { text, begin, direction: unit(down - begin), ends: [down, down], height };
        }
        let width = match glyph {
            Glyph::Outline(glyph) => glyph.advance_width(),
            Glyph::Type3(glyph) => glyph.advance_width(),
        };
        let width = f64::from(width.unwrap_or_default());
        let direction = unit(transform * Point::new(UNITS, 0.0) - begin);
        let ends = [transform * Point::new(width, 0.0), begin + direction * (width / UNITS * height)];
        PlacedGlyph { text, begin, direction, ends, height }
    }

    fn read(&mut self, mut glyph: PlacedGlyph) -> Result<(), Stop> {
        let Some(text) = glyph.text.take() else { return Ok(()) };
        let mut gap = 0.0;
        if let Some(before) = &self.before {
            let height = glyph.height.max(before.height).max(f64::MIN_POSITIVE);
            if (glyph.begin - before.begin).cross(glyph.direction).abs() > LINE * height {
                self.lines.break_line(self.text)?;
            } else {
                let gaps = before.ends.map(|end| (glyph.begin - end).dot(glyph.direction) / height);
                let nearer = usize::from(gaps[1].abs() <= gaps[0].abs());
                gap = gaps[self.true_end.unwrap_or(nearer)];
                if self.true_end == Some(0) {
                    gap /= before.narrowness();
                }
            }
        }
        let at = glyph.begin.to_vec2().dot(glyph.direction);
        let width = (glyph.ends[self.true_end.unwrap_or(1)] - glyph.begin).dot(glyph.direction);
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
        let run: Vec<_> =
            glyphs.map(|glyph| self.place(glyph, props.transform * glyph.transform(), mode)).collect();
        let true_end = PlacedGlyph::true_end(&run).or(self.true_end);
        for (place, glyph) in run.into_iter().enumerate() {
            // The gap before the first one is told by the run before.
            if place == 1 {
                self.true_end = true_end;
            }
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
