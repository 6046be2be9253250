//! Reads the files of an index against their checksums, a piece at a time, so that damage is found before a search meets
//! it and reading takes no more of the machine than its caller allows.
//!
//! Files are read and not mapped: one that is shorter than it was would end the process.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crc32fast::Hasher;
use tantivy::HasLen;
use tantivy::directory::FileSlice;
use tantivy::directory::footer::Footer;

use crate::Error;
use crate::directory::note_verified;
use crate::index::unusable;

/// The most bytes of a file that its footer takes.
const LONGEST_FOOTER: u64 = 64 << 10;
/// The kinds of files that every segment has.
const NEEDED: [&str; 6] = ["idx", "pos", "term", "store", "fast", "fieldnorm"];
/// Bytes that are read at a time.
const PIECE: usize = 256 << 10;

/// A reading under way of all files that an index had when it began.
pub struct Verification {
    engine: tantivy::Index,
    root: PathBuf,
    /// Names of files that were not begun yet.
    left: Vec<PathBuf>,
    under_way: Option<(PathBuf, Reading)>,
}

impl Verification {
    pub(crate) fn of(engine: &tantivy::Index, root: PathBuf) -> Result<Self, Error> {
        let left = files_of(engine)?;
        Ok(Self { engine: engine.clone(), root, left, under_way: None })
    }

    /// Reads about so many bytes on, and answers whether anything is left. Blocks on the disk.
    ///
    /// # Errors
    /// [`Error::Unusable`] names the file that is damaged, or gone though the index has it; [`Error::Files`] when it cannot
    /// be read at the moment.
    pub fn read_on(&mut self, bytes: u64) -> Result<bool, Error> {
        let mut room = bytes;
        while room > 0 {
            let Some((name, reading)) = self.next_reading() else {
                note_verified(&self.root);
                return Ok(false);
            };
            let read = reading.and_then(|mut reading| {
                room = room.saturating_sub(reading.left.max(1));
                Ok(reading.read_on(bytes)?.then_some(reading))
            });
            match read {
                Ok(reading) => self.under_way = reading.map(|reading| (name, reading)),
                Err(_) if !self.has(&name)? => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// The file that is being read, or the next one.
    fn next_reading(&mut self) -> Option<(PathBuf, Result<Reading, Error>)> {
        if let Some((name, reading)) = self.under_way.take() {
            return Some((name, Ok(reading)));
        }
        let name = self.left.pop()?;
        let reading = Reading::open(&self.root.join(&name));
        Some((name, reading))
    }

    /// Whether the index still has the file: merges replace files while they are read here. One of a kind that its
    /// segment has none of is not there.
    fn has(&self, name: &Path) -> Result<bool, Error> {
        let is_optional = name.extension().is_none_or(|kind| !NEEDED.iter().any(|needed| kind == *needed));
        let is_there = self.root.join(name).try_exists()?;
        Ok((is_there || !is_optional) && files_of(&self.engine)?.iter().any(|file| file == name))
    }
}

fn files_of(engine: &tantivy::Index) -> Result<Vec<PathBuf>, Error> {
    let description = engine.load_metas().map_err(unusable)?;
    Ok(description.list_segment_files().into_iter().collect())
}

/// Reads a file whole against its checksum.
pub(crate) fn verify_file(path: &Path) -> Result<(), Error> {
    let mut reading = Reading::open(path)?;
    while reading.read_on(u64::MAX)? {}
    Ok(())
}

/// A file that is being read.
struct Reading {
    path: PathBuf,
    file: File,
    /// Bytes of its content that were not read yet.
    left: u64,
    expected: u32,
    hasher: Hasher,
}

impl Reading {
    fn open(path: &Path) -> Result<Self, Error> {
        let mut file = File::open(path).map_err(|error| unread(path, error))?;
        let (left, expected) = read_footer(&mut file).map_err(|error| unread(path, error))?;
        Ok(Self { path: path.to_owned(), file, left, expected, hasher: Hasher::new() })
    }

    /// Reads about so many bytes on, and answers whether anything is left.
    fn read_on(&mut self, bytes: u64) -> Result<bool, Error> {
        let mut room = bytes.min(self.left);
        let mut piece = vec![0; PIECE];
        while room > 0 {
            let wanted = usize::try_from(room).unwrap_or(PIECE).min(PIECE);
            self.file.read_exact(&mut piece[..wanted]).map_err(|error| unread(&self.path, error))?;
            self.hasher.update(&piece[..wanted]);
            room -= wanted as u64;
            self.left -= wanted as u64;
        }
        if self.left > 0 {
            return Ok(true);
        }
        if self.hasher.clone().finalize() == self.expected {
            Ok(false)
        } else {
            Err(damaged(&self.path, &"its checksum is another"))
        }
    }
}

/// How many bytes of content the file has, and their checksum; the file stands at its beginning after that.
fn read_footer(file: &mut File) -> std::io::Result<(u64, u32)> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LONGEST_FOOTER)))?;
    let mut end = Vec::new();
    file.take(LONGEST_FOOTER).read_to_end(&mut end)?;
    file.seek(SeekFrom::Start(0))?;
    let bytes = end.len();
    let (footer, content) = Footer::extract_footer(FileSlice::from(end))?;
    let footer_bytes = (bytes - content.len()) as u64;
    Ok((length.saturating_sub(footer_bytes), footer.crc))
}

/// What the system has no means for at the moment is no damage.
fn unread(path: &Path, error: std::io::Error) -> Error {
    let error = Error::Files(error);
    if error.is_passing() {
        return error;
    }
    let cause = std::error::Error::source(&error).map(ToString::to_string);
    damaged(path, &cause.unwrap_or_default())
}

fn damaged(path: &Path, what: &dyn std::fmt::Display) -> Error {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Error::Unusable(format!("{name} is damaged: {what}"))
}
