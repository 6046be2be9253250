//! Compares files with the checksums in their footers.
//!
//! Files are read, not mapped: a truncated mapped file would end the process.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crc32fast::Hasher;
use tantivy::HasLen;
use tantivy::directory::FileSlice;
use tantivy::directory::footer::Footer;

use crate::Error;

const MAX_FOOTER_BYTES: u64 = 64 << 10;
const CHUNK_BYTES: usize = 256 << 10;

pub(crate) fn verify_file(path: &Path) -> Result<(), Error> {
    let mut reader = ChecksumReader::open(path)?;
    while reader.read_on(u64::MAX)? {}
    Ok(())
}

pub(crate) struct ChecksumReader {
    path: PathBuf,
    file: File,
    pub(crate) remaining: u64,
    expected: u32,
    hasher: Hasher,
}

impl ChecksumReader {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let mut file = File::open(path).map_err(|error| read_error(path, error))?;
        let (remaining, expected) = read_footer(&mut file).map_err(|error| read_error(path, error))?;
        Ok(Self { path: path.to_owned(), file, remaining, expected, hasher: Hasher::new() })
    }

    /// Reads about `bytes` more; true while bytes remain.
    pub(crate) fn read_on(&mut self, bytes: u64) -> Result<bool, Error> {
        let mut room = bytes.min(self.remaining);
        let mut chunk = vec![0; CHUNK_BYTES];
        while room > 0 {
            let length = usize::try_from(room).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
            self.file.read_exact(&mut chunk[..length]).map_err(|error| read_error(&self.path, error))?;
            self.hasher.update(&chunk[..length]);
            room -= length as u64;
            self.remaining -= length as u64;
        }
        if self.remaining > 0 {
            return Ok(true);
        }
        if self.hasher.clone().finalize() == self.expected {
            Ok(false)
        } else {
            Err(damaged(&self.path, &"its checksum differs"))
        }
    }
}

/// Content length and checksum; rewinds the file.
fn read_footer(file: &mut File) -> std::io::Result<(u64, u32)> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_FOOTER_BYTES)))?;
    let mut end = Vec::new();
    file.take(MAX_FOOTER_BYTES).read_to_end(&mut end)?;
    file.seek(SeekFrom::Start(0))?;
    let bytes = end.len();
    let (footer, content) = Footer::extract_footer(FileSlice::from(end))?;
    let footer_bytes = (bytes - content.len()) as u64;
    Ok((length.saturating_sub(footer_bytes), footer.crc))
}

fn read_error(path: &Path, error: std::io::Error) -> Error {
    let error = Error::Files(error);
    if error.is_transient() {
        return error;
    }
    let cause = std::error::Error::source(&error).map(ToString::to_string);
    damaged(path, &cause.unwrap_or_default())
}

fn damaged(path: &Path, what: &dyn std::fmt::Display) -> Error {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Error::Unusable(format!("{name} is damaged: {what}"))
}
