//! The text output: bounded and without control characters.

use std::io::{BufWriter, Write};

use super::Stop;

/// Writes text up to a limit of UTF-8 bytes.
#[derive(Debug)]
pub struct TextWriter<W: Write> {
    writer: BufWriter<W>,
    left: usize,
}

impl<W: Write> TextWriter<W> {
    /// Limits the text to `most_bytes`.
    pub fn new(writer: W, most_bytes: usize) -> Self {
        Self { writer: BufWriter::new(writer), left: most_bytes }
    }

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

    /// Flushes, so that a later crash loses nothing.
    ///
    /// # Errors
    /// The receiver is gone.
    pub fn flush(&mut self) -> Result<(), Stop> {
        Ok(self.writer.flush()?)
    }
}

/// One byte each, so that a space can replace it.
fn is_control(character: char) -> bool {
    character.is_ascii_control() && !matches!(character, '\n' | '\t')
}
