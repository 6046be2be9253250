//! The store's directories, and durable changes to them.

use std::{
    fs::{self, DirEntry, File},
    io::{self, ErrorKind},
    iter, mem,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use crate::{
    blobs::{Stored, UploadPart, is_upload_id},
    error::{Error, Result, disk_full},
};

pub(super) const UNFINISHED: &str = ".";

const WHOLE: &str = "whole-";

/// Retry delay after running out of file descriptors.
const FULL_FOR: Duration = Duration::from_secs(1);

/// Attempts to remove a directory that others write into.
const TRIES: usize = 100;

#[derive(Clone, Debug)]
pub(super) struct DirectoryLayout {
    root: PathBuf,
}

impl DirectoryLayout {
    pub(super) fn make(root: &Path) -> io::Result<Self> {
        let layout = Self { root: root.to_owned() };
        for directory in [layout.uploads_directory(), layout.contents_directory()] {
            make_durably(&directory)?;
        }
        Ok(layout)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    fn uploads_directory(&self) -> PathBuf {
        self.root.join("uploads")
    }

    fn contents_directory(&self) -> PathBuf {
        self.root.join("contents")
    }

    pub(super) fn upload(&self, upload_id: &str) -> Result<PathBuf> {
        let is_fit = (1..=64).contains(&upload_id.len())
            && upload_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if is_fit {
            Ok(self.uploads_directory().join(upload_id))
        } else {
            Err(Error::internal(format!("{upload_id:?} is not the id of an upload")))
        }
    }

    pub(super) fn content(&self, store_key: &str) -> Result<PathBuf> {
        let (sha256, suffix) = store_key.split_once('-').unwrap_or((store_key, ""));
        if is_sha256(sha256) && suffix.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let (first, second) = (&store_key[..2], &store_key[2..4]);
            Ok(self.contents_directory().join(first).join(second).join(store_key))
        } else {
            Err(Error::internal(format!("{store_key:?} is not the key of a content")))
        }
    }

    pub(super) fn keep(&self, whole: &Path, store_key: &str) -> io::Result<()> {
        let path = self.content(store_key).map_err(io::Error::other)?;
        let directory = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(directory)?;
        match fs::rename(whole, &path) {
            Err(error) if error.kind() == ErrorKind::NotFound && path.exists() => {}
            renamed => renamed?,
        }
        // Includes existing directories: their creator may not have synced them yet.
        for directory in directory.ancestors().take(3) {
            sync_directory(directory)?;
        }
        Ok(())
    }

    pub(super) fn uploads(&self) -> io::Result<Vec<String>> {
        let entries = entries(&self.uploads_directory())?;
        Ok(entries.into_iter().filter_map(|entry| entry.file_name().into_string().ok()).collect())
    }

    pub(super) fn content_directories(&self) -> io::Result<Vec<PathBuf>> {
        let mut directories: Vec<PathBuf> =
            entries(&self.contents_directory())?.iter().map(DirEntry::path).collect();
        directories.sort_unstable();
        Ok(directories)
    }

    pub(super) fn remove_unfinished(&self) -> io::Result<()> {
        let uploads = entries(&self.uploads_directory())?;
        for upload in uploads.iter().filter(|upload| upload.file_name().to_str().is_some_and(is_upload_id)) {
            for entry in entries(&upload.path())? {
                if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                    remove(&entry.path())?;
                }
            }
            remove_wholes(&upload.path())?;
        }
        Ok(())
    }
}

pub(super) fn contents(directory: &Path) -> io::Result<Vec<Stored>> {
    let mut contents = Vec::new();
    for below in entries(directory)? {
        for entry in entries(&below.path())? {
            let Ok(store_key) = entry.file_name().into_string() else { continue };
            match entry.metadata() {
                Ok(metadata) => contents.push(Stored { store_key, size: metadata.len() }),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    contents.sort_unstable_by(|one, other| one.store_key.cmp(&other.store_key));
    Ok(contents)
}

pub(super) fn part_name(number: u32, size: u64, sha256: &str) -> String {
    format!("{number}-{size}-{sha256}")
}

pub(super) fn read_part_name(name: &str) -> Option<UploadPart> {
    let (number, rest) = name.split_once('-')?;
    let (size, e_tag) = rest.split_once('-')?;
    let part = UploadPart { number: number.parse().ok()?, size: size.parse().ok()?, e_tag: e_tag.to_owned() };
    is_sha256(e_tag).then_some(part)
}

/// The parts by number, and the files of replaced ones.
pub(super) fn look(directory: &Path) -> io::Result<(Vec<UploadPart>, Vec<PathBuf>)> {
    let mut parts: Vec<(UploadPart, PathBuf)> = entries(directory)?
        .iter()
        .filter_map(|entry| Some((read_part_name(entry.file_name().to_str()?)?, entry.path())))
        .collect();
    parts
        .sort_unstable_by(|(one, _), (other, _)| (one.number, &one.e_tag).cmp(&(other.number, &other.e_tag)));
    // A crash can leave two of one number; the newer counts.
    let mut listed: Vec<(UploadPart, PathBuf)> = Vec::with_capacity(parts.len());
    let mut superseded = Vec::new();
    for (part, path) in parts {
        match listed.last_mut() {
            Some(last) if last.0.number == part.number => {
                let older = if modified(&path) > modified(&last.1) {
                    mem::replace(last, (part, path)).1
                } else {
                    path
                };
                superseded.push(older);
            }
            _ => listed.push((part, path)),
        }
    }
    Ok((listed.into_iter().map(|(part, _)| part).collect(), superseded))
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

pub(super) fn whole(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{WHOLE}{name}"))
}

pub(super) fn entries(directory: &Path) -> io::Result<Vec<DirEntry>> {
    match fs::read_dir(directory) {
        Ok(entries) => entries.collect(),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}

/// Makes changes in a directory durable.
pub(super) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

pub(super) fn remove_durably(path: &Path) -> io::Result<()> {
    remove(path)?;
    match path.parent().map_or(Ok(()), sync_directory) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn remove_wholes(directory: &Path) -> io::Result<()> {
    for entry in entries(directory)? {
        if entry.file_name().to_string_lossy().starts_with(WHOLE) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

fn make_durably(directory: &Path) -> io::Result<()> {
    let missing = directory.ancestors().take_while(|above| !above.as_os_str().is_empty() && !above.exists());
    let missing: Vec<&Path> = missing.collect();
    fs::create_dir_all(directory)?;
    // Includes an existing directory, which may not be synced yet.
    for made in iter::once(directory).chain(missing) {
        sync_directory(made)?;
        match made.parent() {
            Some(above) if above.as_os_str().is_empty() => sync_directory(Path::new("."))?,
            Some(above) => sync_directory(above)?,
            None => {}
        }
    }
    Ok(())
}

/// Removes a directory even while others write into it.
pub(super) fn remove_directory(directory: &Path) -> io::Result<()> {
    let mut outcome = Ok(());
    for _ in 0..TRIES {
        outcome = fs::remove_dir_all(directory);
        match &outcome {
            Err(error) if error.kind() == ErrorKind::NotFound && !directory.exists() => return Ok(()),
            Err(error) if matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::NotFound) => {}
            _ => break,
        }
    }
    outcome
}

pub(super) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Maps an I/O error to a response.
pub(super) fn failed(error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => disk_full().caused_by(error),
        _ if is_out_of_descriptors(&error) => {
            Error::unavailable("too many files are open; try again shortly", FULL_FOR).caused_by(error)
        }
        _ => Error::internal(error),
    }
}

fn is_out_of_descriptors(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE]
        .iter()
        .any(|errno| code == Some(errno.raw_os_error()))
}
