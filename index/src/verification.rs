//! Background verification of an open index.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::checksum::ChecksumReader;
use crate::startup_check::note_verified;

/// Every segment has them.
const REQUIRED_KINDS: [&str; 6] = ["idx", "pos", "term", "store", "fast", "fieldnorm"];

/// Covers the files present at its start.
pub struct Verification {
    engine: tantivy::Index,
    root: PathBuf,
    remaining: Vec<PathBuf>,
    current: Option<(PathBuf, ChecksumReader)>,
}

impl Verification {
    pub(crate) fn new(engine: &tantivy::Index, root: PathBuf) -> Result<Self, Error> {
        let remaining = segment_files(engine)?;
        Ok(Self { engine: engine.clone(), root, remaining, current: None })
    }

    /// Reads about `bytes` more; true while files remain. Blocks on the disk.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] names a damaged or missing file; [`Error::Files`] if it cannot be read now.
    pub fn read_on(&mut self, bytes: u64) -> Result<bool, Error> {
        let mut room = bytes;
        while room > 0 {
            let Some((name, reader)) = self.next_file() else {
                note_verified(&self.root);
                return Ok(false);
            };
            let read = reader.and_then(|mut reader| {
                room = room.saturating_sub(reader.remaining.max(1));
                Ok(reader.read_on(bytes)?.then_some(reader))
            });
            match read {
                Ok(reader) => self.current = reader.map(|reader| (name, reader)),
                Err(_) if !self.has(&name)? => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn next_file(&mut self) -> Option<(PathBuf, Result<ChecksumReader, Error>)> {
        if let Some((name, reader)) = self.current.take() {
            return Some((name, Ok(reader)));
        }
        let name = self.remaining.pop()?;
        let reader = ChecksumReader::open(&self.root.join(&name));
        Some((name, reader))
    }

    /// Merges may have replaced the file.
    fn has(&self, name: &Path) -> Result<bool, Error> {
        let is_optional =
            name.extension().is_none_or(|kind| !REQUIRED_KINDS.iter().any(|required| kind == *required));
        let is_there = self.root.join(name).try_exists()?;
        Ok((is_there || !is_optional) && segment_files(&self.engine)?.iter().any(|file| file == name))
    }
}

fn segment_files(engine: &tantivy::Index) -> Result<Vec<PathBuf>, Error> {
    let description = engine.load_metas().map_err(Error::from_opening)?;
    Ok(description.list_segment_files().into_iter().collect())
}
