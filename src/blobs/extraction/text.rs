//! The text output: bounded and without control characters.

use std::io::{BufWriter, Write};

use super::{MAX_INFLATED_BYTES, Stop};

/// Notes above which none are kept.
const MAX_NOTES: usize = 8;

const MAX_NOTE_BYTES: usize = 200;

/// Files within files that are read.
const MAX_INNER_FILES: usize = 1_000;

/// Levels of files within files.
const MAX_DEPTH: usize = 4;

/// Writes text up to a limit of UTF-8 bytes, and keeps notes of what it lacks.
#[derive(Debug)]
pub struct TextWriter<W: Write> {
    writer: BufWriter<W>,
    most_bytes: usize,
    left: usize,
    notes: Vec<String>,
    depth: usize,
    inner_files: usize,
    inflatable: u64,
}

impl<W: Write> TextWriter<W> {
    /// Limits the text to `most_bytes`.
    pub fn new(writer: W, most_bytes: usize) -> Self {
        Self {
            writer: BufWriter::new(writer),
            most_bytes,
            left: most_bytes,
            notes: Vec::new(),
            depth: 0,
            inner_files: 0,
            inflatable: MAX_INFLATED_BYTES,
        }
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
        if fitting.len() == piece.len() { Ok(()) } else { Err(Stop::Full(self.most_bytes)) }
    }

    /// Writes a piece as a line of its own.
    pub(super) fn push_line(&mut self, line: &str) -> Result<(), Stop> {
        self.push(line)?;
        self.push("\n")
    }

    /// Notes why the text is not whole, once.
    pub(super) fn note(&mut self, reason: impl Into<String>) {
        let mut reason = reason.into().replace(char::is_control, " ");
        reason.truncate(reason.floor_char_boundary(MAX_NOTE_BYTES));
        if self.notes.len() < MAX_NOTES && !self.notes.contains(&reason) {
            self.notes.push(reason);
        }
    }

    /// Notes what one part lacks, and goes on with the others.
    pub(super) fn pass(&mut self, part: &str, read: Result<(), Stop>) -> Result<(), Stop> {
        match read {
            Err(Stop::Unreadable(reason)) => {
                self.note(format!("{part}: {reason}"));
                Ok(())
            }
            read => read,
        }
    }

    /// Why the text is not whole.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Bytes that may still be inflated.
    pub(super) fn inflatable(&self) -> u64 {
        self.inflatable
    }

    pub(super) fn count_inflated(&mut self, bytes: u64) {
        self.inflatable = self.inflatable.saturating_sub(bytes);
    }

    /// Reads a file within the file, unless it lies too deep or is one too many.
    pub(super) fn descend(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        if self.depth >= MAX_DEPTH {
            self.note(format!("files within files are read to a depth of {MAX_DEPTH}"));
            return Ok(());
        }
        if self.inner_files >= MAX_INNER_FILES {
            self.note(format!("of the files within it, {MAX_INNER_FILES} are read"));
            return Ok(());
        }
        self.inner_files += 1;
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        self.pass(name, read)?;
        self.push("\n")
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
