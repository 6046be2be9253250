//! The index directories: opening, wiping, and swapping.
//!
//! `index` is the index in use. `index.fresh` is a rebuild beside it; one found at the start was left by a killed
//! server. `index.old` is the replaced index.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::{Error, Index, MIN_THREAD_MEMORY_BYTES, Options, Writer};

const DIRECTORY: &str = "index";
const FRESH: &str = "index.fresh";
const OLD: &str = "index.old";

/// An index's share of indexing memory and threads; open indexes never exceed the total.
#[derive(Clone, Copy, Debug)]
pub(super) enum Share {
    Whole,
    /// Enough to follow the change log.
    Least,
    /// The total less [`Self::Least`].
    Rest,
}

/// The directories in a data directory that one process uses.
#[derive(Clone)]
pub(super) struct Directories {
    pub(super) data: PathBuf,
    /// Shared by the indexes.
    pub(super) memory_bytes: usize,
}

impl Directories {
    /// Cleans up after a killed server. Returns whether it was building a fresh index.
    pub(super) fn tidy(&self) -> io::Result<bool> {
        let [index, fresh, old] = self.paths();
        if is_there(&old)? {
            if !is_there(&index)? && is_there(&fresh)? {
                fs::rename(&fresh, &index)?;
            }
            wipe(&old)?;
        }
        let was_rebuilding = is_there(&fresh)?;
        wipe(&fresh)?;
        Ok(was_rebuilding)
    }

    pub(super) fn open(&self, share: Share) -> Result<(Index, Writer), Error> {
        self.open_in(DIRECTORY, share)
    }

    pub(super) fn open_wiped(&self) -> Result<(Index, Writer), Error> {
        wipe(&self.data.join(DIRECTORY))?;
        self.open_in(DIRECTORY, Share::Whole)
    }

    /// Creates an empty index beside the present one.
    pub(super) fn open_fresh(&self) -> Result<(Index, Writer), Error> {
        wipe(&self.data.join(FRESH))?;
        self.open_in(FRESH, Share::Rest)
    }

    /// Replaces the index by the fresh one, which must be closed. [`Self::tidy`] repairs a crash halfway.
    pub(super) fn swap(&self) -> io::Result<()> {
        let [index, fresh, old] = self.paths();
        wipe(&old)?;
        fs::rename(&index, &old)?;
        fs::rename(&fresh, &index)?;
        if let Err(error) = wipe(&old) {
            tracing::warn!(%error, "the previous index could not be removed; the next start removes it");
        }
        Ok(())
    }

    /// Whether two indexes can coexist: memory suffices for both, and the directories can be renamed.
    pub(super) fn has_room_beside(&self) -> bool {
        let device = |path: &Path| fs::symlink_metadata(path).map(|file| (file.dev(), file.is_dir()));
        let of_data = fs::metadata(&self.data).map(|data| (data.dev(), true));
        let can_move = device(&self.data.join(DIRECTORY))
            .is_ok_and(|of_index| of_data.is_ok_and(|of_data| of_index == of_data));
        can_move && self.memory_bytes >= 2 * MIN_THREAD_MEMORY_BYTES
    }

    pub(super) fn bytes(&self) -> u64 {
        bytes_in(&self.data.join(DIRECTORY))
    }

    fn paths(&self) -> [PathBuf; 3] {
        [DIRECTORY, FRESH, OLD].map(|name| self.data.join(name))
    }

    fn open_in(&self, directory: &str, share: Share) -> Result<(Index, Writer), Error> {
        let whole = Options { writer_memory_bytes: self.memory_bytes, ..Options::default() };
        let options = match share {
            Share::Whole => whole,
            Share::Least => {
                Options { writer_memory_bytes: MIN_THREAD_MEMORY_BYTES, merge_threads: 1, ..whole }
            }
            Share::Rest => Options {
                writer_memory_bytes: self.memory_bytes.saturating_sub(MIN_THREAD_MEMORY_BYTES),
                merge_threads: whole.merge_threads.saturating_sub(1),
                ..whole
            },
        };
        Index::open(&self.data.join(directory), &options)
    }
}

/// Size of the files in a directory.
pub(crate) fn bytes_in(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|file| file.len()).sum()
}

fn is_there(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes a path. Mount points and linked directories are emptied instead.
fn wipe(path: &Path) -> io::Result<()> {
    if !is_there(path)? {
        return Ok(());
    }
    if !path.is_dir() {
        return fs::remove_file(path);
    }
    let is_link = fs::symlink_metadata(path)?.is_symlink();
    if !is_link && fs::remove_dir_all(path).is_ok() {
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
