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
        let mut reader = PageReader { text, lines: &mut lines, fonts, end: None, stopped: None };
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

/// Where a glyph ends, by its matrix and by the letter height.
///
/// Fonts that are not in the file are stretched to the stated widths, so that the matrix may mislead.
#[derive(Clone, Copy, Debug)]
struct End {
    at: Point,
    by_matrix: Point,
    by_height: Point,
    height: f64,
}

struct PageReader<'t, 'a, W: Write> {
    text: &'t mut TextWriter<W>,
    lines: &'t mut Lines,
    fonts: CollectionFonts<'a>,
    end: Option<End>,
    stopped: Option<Stop>,
}

impl<W: Write> PageReader<'_, '_, W> {
    fn read(&mut self, glyph: &Glyph<'_>, transform: Affine, mode: WritingMode) -> Result<(), Stop> {
        let Some(character) = glyph.as_unicode().or_else(|| self.fonts.character_of(glyph)) else {
            return Ok(());
        };
        let character = match character {
            BfString::Char(character) => character.to_string(),
            BfString::String(characters) => characters,
        };
        let at = transform * Point::ZERO;
        let height = (transform * Point::new(0.0, UNITS) - at).hypot();
        let (direction, by_matrix, by_height) = if mode == WritingMode::Vertical {
            let down = transform * Point::new(0.0, -UNITS);
            (unit(down - at), down, down)
        } else {
            let width = match glyph {
                Glyph::Outline(glyph) => glyph.advance_width(),
                Glyph::Type3(glyph) => glyph.advance_width(),
            };
            let width = f64::from(width.unwrap_or_default());
            let direction = unit(transform * Point::new(UNITS, 0.0) - at);
            (direction, transform * Point::new(width, 0.0), at + direction * (width / UNITS * height))
        };
        let mut gap = 0.0;
        if let Some(end) = self.end {
            let height = height.max(end.height).max(f64::MIN_POSITIVE);
            if (at - end.at).cross(direction).abs() > LINE * height {
                self.lines.break_line(self.text)?;
            } else {
                let along = [end.by_matrix, end.by_height].map(|end| (at - end).dot(direction) / height);
                gap = if along[0].abs() < along[1].abs() { along[0] } else { along[1] };
            }
        }
        self.end = Some(End { at, by_matrix, by_height, height });
        let width = (by_height - at).dot(direction);
        self.lines.push(Character { text: character, at: at.to_vec2().dot(direction), width, height, gap });
        Ok(())
    }
}

fn unit(vector: Vec2) -> Vec2 {
    if vector.hypot() > 0.0 { vector / vector.hypot() } else { Vec2::new(1.0, 0.0) }
}

impl<'a, W: Write> Device<'a> for PageReader<'_, 'a, W> {
    fn draw_glyph_run(&mut self, glyph_run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, _: &DrawMode) {
        for glyph in glyph_run.glyphs() {
            if self.stopped.is_none()
                && let Err(stop) =
                    self.read(glyph, props.transform * glyph.transform(), glyph_run.writing_mode())
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
