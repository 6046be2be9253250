//! Memory-mapped files, written without waiting for the disk.
//!
//! The index is derived: after a loss it continues from its last checkpoint. A commit with `fsync` makes some fourteen of them and takes
//! tens of milliseconds; one without takes three to six. A killed process loses nothing. A crash of the machine may damage files, which
//! `startup_check` verifies.
//!
//! The engine's description of the index gets a checksum here. The engine rewrites its list of files for every new file, a millisecond each
//! on ext4; it is read from the directory instead.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, TerminatingWrite,
    WatchCallback, WatchHandle, WritePtr,
};

const FILE_LIST: &str = ".managed.json";
const SEGMENT_NAME_LEN: usize = 32;
const CHECKSUM_MARK: &[u8] = b"\ncrc32:";

#[derive(Debug, Clone)]
pub(crate) struct UnsyncedDirectory {
    mapped: MmapDirectory,
    root: PathBuf,
}

impl UnsyncedDirectory {
    pub(crate) fn new(mapped: MmapDirectory, root: &Path) -> Self {
        Self { mapped, root: root.to_owned() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Segment files as JSON, leftovers of a killed process included.
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
        // One thread writes each file, and the writer lock excludes others.
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

fn with_checksum(data: &[u8]) -> Vec<u8> {
    let checksum = format!("{:08x}", crc32fast::hash(data));
    [data, CHECKSUM_MARK, checksum.as_bytes()].concat()
}

/// `None` if it is missing or wrong.
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
