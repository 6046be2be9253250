//! PDF text: the characters of its glyphs, in drawing order.

use std::io::Write;

use hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps, InterpreterCache,
    InterpreterSettings, SoftMask, TransformExt,
    font::{Glyph, GlyphRun},
    hayro_cmap::BfString,
    hayro_syntax::Pdf,
    interpret_page,
    kurbo::{Affine, BezPath, Point, Rect},
};

use super::{Stop, TextWriter};

/// A horizontal gap above this share of the letter height is a space.
const SPACE: f64 = 0.15;

/// A vertical step above this share is a line break.
const LINE: f64 = 0.5;

/// Glyph widths are in thousandths of the height.
const UNITS: f64 = 1_000.0;

pub(super) fn pdf<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let pdf = Pdf::new(content.to_vec()).map_err(|error| Stop::Unreadable(format!("{error:?}")))?;
    let cache = InterpreterCache::new();
    for page in pdf.pages().iter() {
        let (width, height) = page.render_dimensions();
        let mut interpreting = Context::new(
            page.initial_transform(true).to_kurbo(),
            Rect::new(0.0, 0.0, f64::from(width), f64::from(height)),
            &cache,
            pdf.xref(),
            InterpreterSettings::default(),
        );
        let mut reader = PageReader { text, end: None, stopped: None };
        interpret_page(page, &mut interpreting, &mut reader);
        if let Some(stop) = reader.stopped {
            return Err(stop);
        }
        text.push("\n")?;
        text.flush()?;
    }
    Ok(())
}

#[derive(Clone, Copy, Debug)]
struct End {
    at: Point,
    height: f64,
}

struct PageReader<'t, W: Write> {
    text: &'t mut TextWriter<W>,
    end: Option<End>,
    stopped: Option<Stop>,
}

impl<W: Write> PageReader<'_, W> {
    fn read(&mut self, glyph: &Glyph<'_>, transform: Affine) -> Result<(), Stop> {
        let Some(character) = glyph.as_unicode() else { return Ok(()) };
        let width = match glyph {
            Glyph::Outline(glyph) => glyph.advance_width(),
            Glyph::Type3(glyph) => glyph.advance_width(),
        };
        let at = transform * Point::ZERO;
        let next = transform * Point::new(f64::from(width.unwrap_or_default()), 0.0);
        let height = (transform * Point::new(0.0, UNITS) - at).hypot();
        if let Some(end) = self.end {
            let height = height.max(end.height);
            let step = at - end.at;
            if step.y.abs() > LINE * height {
                self.text.push("\n")?;
            } else if step.x.abs() > SPACE * height {
                self.text.push(" ")?;
            }
        }
        self.end = Some(End { at: next, height });
        match character {
            BfString::Char(character) => self.text.push(character.encode_utf8(&mut [0; 4])),
            BfString::String(characters) => self.text.push(&characters),
        }
    }
}

impl<'a, W: Write> Device<'a> for PageReader<'_, W> {
    fn draw_glyph_run(&mut self, glyph_run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, _: &DrawMode) {
        for glyph in glyph_run.glyphs() {
            if self.stopped.is_none()
                && let Err(stop) = self.read(glyph, props.transform * glyph.transform())
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
