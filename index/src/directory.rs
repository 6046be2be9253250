//! A directory that leaves it to the operating system when files reach the disk.
//!
//! The index is derived: the store is the truth, and the commit's checkpoint says where to go on from. A commit that
//! waits for the disk makes some fourteen `fsync`s, tens of milliseconds beside other work; one that does not takes
//! three to six. A killed process loses nothing by it, for what was written is the operating system's. When the
//! machine itself goes down files can be damaged; so the directory notes on which boot it was last opened, and on
//! another one every checksum is verified before the index is trusted. A small index always is; a large one is read
//! in the background (`verification`). The description of the index, which the engine writes without a checksum, is
//! given one here.
//!
//! The engine's list of its own files, which it rewrites for every file that it makes, is read from the directory
//! itself: on ext4 each replacement of a file costs a millisecond, even unsynced.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, TerminatingWrite,
    WatchCallback, WatchHandle, WritePtr,
};

use crate::{Error, verification};

/// The file that holds the boot on which the directory was last opened.
const BOOT_FILE: &str = "boot";
/// The engine's list of its files.
const FILE_LIST: &str = ".managed.json";
/// The hexadecimal digits that the names of segment files begin with.
const SEGMENT_NAME_LEN: usize = 32;
/// The bytes of an index that is verified whenever it is opened: some tens of milliseconds.
const VERIFIED_WHEN_OPENED: u64 = 64 << 20;
/// The directories that this process opened.
static OPENED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
/// The file that holds a byte for each process that opened the index since all files were read last.
const UNVERIFIED_FILE: &str = "unverified";
/// An index that so many processes opened without having read it whole is verified before it is trusted: damage may be what
/// ended the processes before.
const MOST_UNVERIFIED_OPENINGS: usize = 3;
/// Before the checksum at the end of a description.
const CHECKSUM_MARK: &[u8] = b"\ncrc32:";
/// Where Linux says which boot this is.
const BOOT_SOURCE: &str = "/proc/sys/kernel/random/boot_id";

/// Memory-mapped files, written without waiting for the disk.
#[derive(Debug, Clone)]
pub(crate) struct UnsyncedDirectory {
    mapped: MmapDirectory,
    root: PathBuf,
}

impl UnsyncedDirectory {
    pub(crate) fn new(mapped: MmapDirectory, root: &Path) -> Self {
        Self { mapped, root: root.to_owned() }
    }

    /// Where the files are.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Fails where a file is damaged: of a small index, or where the machine went down since it was last opened.
    pub(crate) fn verify(&self, index: &tantivy::Index) -> Result<(), Error> {
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = opened.insert(self.root.clone());
        drop(opened);
        self.verify_above(index, VERIFIED_WHEN_OPENED, is_first)
    }

    /// The same, of an index that is small up to so many bytes; whether it is this process's first opening.
    fn verify_above(&self, index: &tantivy::Index, small: u64, is_first: bool) -> Result<(), Error> {
        // Where no boot can be told from another, every opening may be the first after one.
        let boot = fs::read(BOOT_SOURCE).ok();
        let noted = fs::read(self.root.join(BOOT_FILE)).ok();
        let files: Vec<PathBuf> =
            index.load_metas()?.list_segment_files().into_iter().map(|file| self.root.join(file)).collect();
        let bytes: u64 = files.iter().filter_map(|file| fs::metadata(file).ok()).map(|file| file.len()).sum();
        let openings = fs::read(self.root.join(UNVERIFIED_FILE)).map_or(0, |openings| openings.len());
        if boot.is_some()
            && noted == boot
            && bytes > small
            && (openings < MOST_UNVERIFIED_OPENINGS || !is_first)
        {
            if is_first {
                // Where there is no room for it, it is opened all the same.
                let _ = fs::write(self.root.join(UNVERIFIED_FILE), vec![b'.'; openings + 1]);
            }
            return Ok(());
        }
        for file in files {
            // Not every segment has a file of every kind; one that is missed shows when the segment is opened.
            if file.try_exists()? {
                verification::verify_file(&file)?;
            }
        }
        if let Some(boot) = boot {
            // Without the note the next opening verifies once more.
            let _ = fs::write(self.root.join(BOOT_FILE), boot);
        }
        note_verified(&self.root);
        Ok(())
    }

    /// The segment files that are there, those that a killed process left over included, as the engine lists them.
    fn file_list(&self) -> io::Result<Vec<u8>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.root)? {
            let name = entry?.file_name().into_string().unwrap_or_default();
            let segment = name.split('.').next().unwrap_or_default();
            if segment.len() == SEGMENT_NAME_LEN && segment.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                names.push(name);
            }
        }
        Ok(serde_json::to_vec(&names)?)
    }
}

impl Directory for UnsyncedDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.mapped.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.mapped.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.mapped.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let opened = OpenOptions::new().write(true).create_new(true).open(self.root.join(path));
        let file = opened.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => OpenWriteError::FileAlreadyExists(path.to_owned()),
            _ => OpenWriteError::wrap_io_error(error, path.to_owned()),
        })?;
        Ok(BufWriter::new(Box::new(UnsyncedFile(file))))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        if path == Path::new(FILE_LIST) {
            return self.file_list().map_err(|error| OpenReadError::wrap_io_error(error, path.to_owned()));
        }
        let content = self.mapped.atomic_read(path)?;
        let whole = without_checksum(&content).map(<[u8]>::to_vec);
        whole.ok_or_else(|| {
            let damaged = io::Error::new(io::ErrorKind::InvalidData, "its checksum is missing or wrong");
            OpenReadError::wrap_io_error(damaged, path.to_owned())
        })
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        if path == Path::new(FILE_LIST) {
            return Ok(());
        }
        let path = self.root.join(path);
        // The engine writes one of these files from one thread at a time, and the writer's lock keeps others out.
        let fresh = path.with_extension("fresh");
        fs::write(&fresh, with_checksum(data))?;
        fs::rename(fresh, path)
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.mapped.acquire_lock(lock)
    }

    fn watch(&self, watch_callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.mapped.watch(watch_callback)
    }
}

/// Notes that every file was read and is whole.
pub(crate) fn note_verified(root: &Path) {
    // It need not be there; what cannot be removed has a later opening verify once more.
    let _ = fs::remove_file(root.join(UNVERIFIED_FILE));
}

fn with_checksum(data: &[u8]) -> Vec<u8> {
    let checksum = format!("{:08x}", crc32fast::hash(data));
    [data, CHECKSUM_MARK, checksum.as_bytes()].concat()
}

/// What was written; `None` where it is not what is read.
fn without_checksum(content: &[u8]) -> Option<&[u8]> {
    let end = content.len().checked_sub(CHECKSUM_MARK.len() + 8)?;
    let data = &content[..end];
    (with_checksum(data) == content).then_some(data)
}

struct UnsyncedFile(File);

impl Write for UnsyncedFile {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.0.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl TerminatingWrite for UnsyncedFile {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::BOOT_FILE;
    use crate::{Audience, Change, Checkpoint, Document, Error, Index, Options, Scope};

    fn written(directory: &Path) {
        let (_, mut writer) = Index::open(directory, &Options::default()).unwrap();
        let put = |id: &str| {
            Change::Put(Document {
                scope: Scope::new(1, "news"),
                id: id.to_owned(),
                display_time: 0,
                title: "text".to_owned(),
                title_is_name: false,
                other_names: Vec::new(),
                text: None,
                sub_title: String::new(),
                brief: String::new(),
                author: String::new(),
                audience: Audience::Tenant,
                item: "{}".to_owned(),
            })
        };
        writer.apply(["a", "b", "c", "d", "e"].map(put).into()).unwrap();
        let checkpoint = Checkpoint { store: "s".to_owned(), position: 1, complete: true };
        writer.commit(&checkpoint).unwrap();
        // The second commit deletes from the first's segment, so that there is a file of deletions too.
        writer.apply(vec![put("a")]).unwrap();
        writer.commit(&checkpoint).unwrap();
        writer.close().unwrap();
    }

    fn open(directory: &Path) -> Result<(), Error> {
        Index::open(directory, &Options::default()).map(|_| ())
    }

    #[test]
    fn what_a_killed_process_left_over_is_collected() {
        let directory = tempfile::tempdir().unwrap();
        written(directory.path());
        let left_over = directory.path().join(format!("{}.idx", "0123456789abcdef".repeat(2)));
        let foreign = directory.path().join("notes.txt");
        fs::write(&left_over, "half a segment").unwrap();
        fs::write(&foreign, "not ours").unwrap();
        open(directory.path()).unwrap();
        assert!(!left_over.exists());
        assert!(foreign.exists());
    }

    #[test]
    fn after_another_boot_damage_is_found() {
        let directory = tempfile::tempdir().unwrap();
        written(directory.path());
        let reboot = || fs::write(directory.path().join(BOOT_FILE), "another boot").unwrap();
        let kinds = ["idx", "pos", "term", "store", "fast", "fieldnorm", "del"];
        let files = fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().path());
        let files =
            files.filter(|file| kinds.iter().any(|kind| file.extension().is_some_and(|of| of == *kind)));
        let mut damaged_kinds = 0;
        for file in files {
            let whole = fs::read(&file).unwrap();
            let mut damaged = whole.clone();
            damaged[0] ^= 0x55;
            fs::write(&file, damaged).unwrap();
            reboot();
            assert!(matches!(open(directory.path()), Err(Error::Unusable(_))), "{}", file.display());
            fs::write(&file, whole).unwrap();
            damaged_kinds += 1;
        }
        assert!(damaged_kinds >= kinds.len(), "{damaged_kinds}");
        reboot();
        open(directory.path()).unwrap();
        // It is noted, so the next opening need not look.
        let noted = fs::read(directory.path().join(BOOT_FILE)).unwrap();
        assert_eq!(fs::read(super::BOOT_SOURCE).ok().unwrap_or_else(|| noted.clone()), noted);
    }

    /// As damage may end the process before it is found, again and again.
    #[test]
    fn a_large_index_that_was_never_read_whole_is_verified_in_the_end() {
        let directory = tempfile::tempdir().unwrap();
        written(directory.path());
        let mapped = super::MmapDirectory::open(directory.path()).unwrap();
        let unsynced = super::UnsyncedDirectory::new(mapped, directory.path());
        let index = tantivy::Index::open(unsynced.clone()).unwrap();
        unsynced.verify_above(&index, 0, true).unwrap();
        let file = fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().path());
        let file = file.into_iter().find(|file| file.extension().is_some_and(|kind| kind == "pos")).unwrap();
        let mut content = fs::read(&file).unwrap();
        content[0] ^= 1;
        fs::write(&file, &content).unwrap();
        let opened: Vec<bool> = (0..3).map(|_| unsynced.verify_above(&index, 0, true).is_ok()).collect();
        assert_eq!(opened, [true, true, false]);
        // Once it was read whole, the count begins anew.
        content[0] ^= 1;
        fs::write(&file, &content).unwrap();
        assert!((0..20).all(|_| unsynced.verify_above(&index, 0, true).is_ok()));
    }
}
