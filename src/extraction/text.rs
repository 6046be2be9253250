//! A text as it is written down: bounded, and clean.

use std::io::{BufWriter, Write};

use super::Stop;

/// Takes a text piece by piece, up to so many bytes of UTF-8.
#[derive(Debug)]
pub struct Text<W: Write> {
    writer: BufWriter<W>,
    left: usize,
}

impl<W: Write> Text<W> {
    /// A text of at most so many bytes.
    pub fn new(writer: W, most_bytes: usize) -> Self {
        Self { writer: BufWriter::new(writer), left: most_bytes }
    }

    /// Adds a piece, or what there is room for of it.
    pub(super) fn push(&mut self, piece: &str) -> Result<(), Stop> {
        let fitting = &piece[..piece.floor_char_boundary(self.left)];
        self.left -= fitting.len();
        let mut clean = fitting.split(is_control);
        self.writer.write_all(clean.next().unwrap_or_default().as_bytes())?;
        for part in clean {
            self.writer.write_all(b" ")?;
            self.writer.write_all(part.as_bytes())?;
        }
        if fitting.len() == piece.len() { Ok(()) } else { Err(Stop::Full) }
    }

    /// Hands on what was written so far, so that it is there whatever comes of the rest.
    ///
    /// # Errors
    /// Nobody takes it.
    pub fn flush(&mut self) -> Result<(), Stop> {
        Ok(self.writer.flush()?)
    }
}

/// One byte each, so that a space takes the place of one.
fn is_control(character: char) -> bool {
    character.is_ascii_control() && !matches!(character, '\n' | '\t')
}
