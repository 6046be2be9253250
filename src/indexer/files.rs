//! The directories of the index: opened, wiped, and put in each other's place.
//!
//! `index` is the index. `index.fresh` is one that is being filled to take its place, as its operator asked; one that is
//! found at the start was left by a server that was killed. `index.old` is what it took the place of. One lock covers all.

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use trawl_index::{Error, Index, MIN_THREAD_MEMORY_BYTES, Options, Writer};

/// The directory of the full-text index in the data directory.
const DIRECTORY: &str = "index";
const FRESH: &str = "index.fresh";
const OLD: &str = "index.old";
const LOCK: &str = "index.lock";

/// An open index.
pub(super) struct Engine {
    pub(super) index: Index,
    pub(super) writer: Writer,
}

/// What of the memory and the threads for indexing an index has; all that are open together have no more than there is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Share {
    Whole,
    /// What is enough to follow the change log.
    Least,
    /// What is left of the whole then.
    Rest,
}

/// The directories, locked for this process.
pub(super) struct IndexFiles {
    data: PathBuf,
    memory_bytes: usize,
    _lock: File,
}

impl IndexFiles {
    /// Those in this data directory; its indexes take so much memory for indexing, in bytes.
    ///
    /// # Errors
    /// [`Error::Locked`] where another server has them.
    pub(super) fn lock(data: &Path, memory_bytes: usize) -> Result<Self, Error> {
        let lock = File::create(data.join(LOCK))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { data: data.to_owned(), memory_bytes, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(Error::Locked),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }

    /// Puts right what a killed server left; answers whether it was filling a fresh index.
    pub(super) fn tidy(&self) -> io::Result<bool> {
        let [index, fresh, old] = self.paths();
        if is_there(&old)? {
            if !is_there(&index)? && is_there(&fresh)? {
                fs::rename(&fresh, &index)?;
            }
            wipe(&old)?;
        }
        let was_filling = is_there(&fresh)?;
        wipe(&fresh)?;
        Ok(was_filling)
    }

    /// Opens the index as it is.
    pub(super) fn open(&self, share: Share) -> Result<Engine, Error> {
        self.open_in(DIRECTORY, share)
    }

    /// Removes the index, and makes an empty one.
    pub(super) fn open_wiped(&self) -> Result<Engine, Error> {
        wipe(&self.data.join(DIRECTORY))?;
        self.open_in(DIRECTORY, Share::Whole)
    }

    /// Makes an empty index beside the other one.
    pub(super) fn open_fresh(&self) -> Result<Engine, Error> {
        wipe(&self.data.join(FRESH))?;
        self.open_in(FRESH, Share::Rest)
    }

    /// Puts the fresh index, closed, in the place of the other one. Whatever happens in between, [`Self::tidy`] finds a whole
    /// one in place.
    pub(super) fn swap(&self) -> io::Result<()> {
        let [index, fresh, old] = self.paths();
        wipe(&old)?;
        fs::rename(&index, &old)?;
        fs::rename(&fresh, &index)?;
        if let Err(error) = wipe(&old) {
            tracing::warn!(%error, "the index of before could not be removed; it is with the next start");
        }
        Ok(())
    }

    /// Whether there may be two indexes at once: there is memory for both, and the directories can change places.
    pub(super) fn has_room_beside(&self) -> bool {
        let device = |path: &Path| fs::symlink_metadata(path).map(|file| (file.dev(), file.is_dir()));
        let of_data = fs::metadata(&self.data).map(|data| (data.dev(), true));
        let can_move = device(&self.data.join(DIRECTORY))
            .is_ok_and(|of_index| of_data.is_ok_and(|of_data| of_index == of_data));
        can_move && self.memory_bytes >= 2 * MIN_THREAD_MEMORY_BYTES
    }

    /// The bytes that the index takes on the disk.
    pub(super) fn bytes(&self) -> u64 {
        let Ok(entries) = fs::read_dir(self.data.join(DIRECTORY)) else { return 0 };
        entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|file| file.len()).sum()
    }

    fn paths(&self) -> [PathBuf; 3] {
        [DIRECTORY, FRESH, OLD].map(|name| self.data.join(name))
    }

    fn open_in(&self, directory: &str, share: Share) -> Result<Engine, Error> {
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
        let (index, writer) = Index::open(&self.data.join(directory), &options)?;
        Ok(Engine { index, writer })
    }
}

fn is_there(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes what is there. A directory that is a file system of its own, or lies elsewhere, is emptied.
fn wipe(path: &Path) -> io::Result<()> {
    if !is_there(path)? {
        return Ok(());
    }
    if !path.is_dir() {
        return fs::remove_file(path);
    }
    // Of a link this would remove the link alone.
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
