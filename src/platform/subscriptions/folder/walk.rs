//! Files beneath a folder, without symbolic links on the way.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    },
    path::{Path, PathBuf},
};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, openat, statat};

use super::IgnoredNames;

/// A folder with more files is refused.
pub(super) const MAX_FILES: usize = 20_000;
const MAX_DEPTH: usize = 32;

const LINKED_OF_ANOTHER: &str =
    "it has hard links, and belongs to another user than its folder; copy it, or give both one owner";

/// A regular file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundFile {
    /// Relative to the folder.
    pub(super) path: PathBuf,
    pub(super) size: u64,
    /// Nanoseconds since 1970.
    pub(super) modified: i128,
}

/// The files beneath a folder.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Files in the order of their paths.
    pub(super) files: Vec<FoundFile>,
    /// Paths that cannot be read, and why.
    pub(super) unread: Vec<(PathBuf, WalkError)>,
    /// Files and folders whose names are ignored.
    pub(super) left_out: u64,
}

impl Found {
    fn is_full(&self) -> bool {
        self.files.len() + self.unread.len() >= MAX_FILES
    }
}

/// Why a folder cannot be walked.
#[derive(Debug, thiserror::Error)]
pub(super) enum WalkError {
    #[error("holds more than {MAX_FILES} files")]
    TooMany,
    #[error("lies more than {MAX_DEPTH} levels deep")]
    TooDeep,
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
}

impl From<rustix::io::Errno> for WalkError {
    fn from(error: rustix::io::Errno) -> Self {
        Self::Io(error.into())
    }
}

/// Opens a folder beneath one of these.
///
/// Symbolic links on the way are resolved before the comparison.
pub(super) fn open_root(folder: &Path, roots: &[PathBuf]) -> Result<OwnedFd, WalkError> {
    let folder = folder.canonicalize()?;
    let is_beneath =
        roots.iter().filter_map(|root| root.canonicalize().ok()).any(|root| folder.starts_with(root));
    if !is_beneath {
        return Err(
            io::Error::new(io::ErrorKind::PermissionDenied, "it leads out of the permitted folders").into()
        );
    }
    // The path has no links: one that has come meanwhile is refused.
    let mut directory = openat(CWD, "/", directory_flags(), Mode::empty())?;
    for name in folder.components().skip(1) {
        directory = openat(&directory, name.as_os_str(), directory_flags(), Mode::empty())?;
    }
    Ok(directory)
}

/// The files beneath; ignored and special ones are left out.
pub(super) fn walk(root: &OwnedFd, ignored: &IgnoredNames) -> Result<Found, WalkError> {
    let mut found = Found::default();
    visit_folder(root, Path::new(""), 0, ignored, &mut found)?;
    found.files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

fn visit_folder(
    directory: &OwnedFd,
    path: &Path,
    depth: usize,
    ignored: &IgnoredNames,
    found: &mut Found,
) -> Result<(), WalkError> {
    if depth > MAX_DEPTH {
        return Err(WalkError::TooDeep);
    }
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        if ignored.holds(&name.to_string_lossy()) {
            found.left_out += 1;
            continue;
        }
        let path = path.join(name);
        match visit(directory, name, &path, depth, ignored, found) {
            Ok(()) => {}
            Err(WalkError::TooMany) => return Err(WalkError::TooMany),
            // One that is gone meanwhile is as if it had never been there.
            Err(WalkError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) if found.is_full() => return Err(WalkError::TooMany),
            Err(error) => found.unread.push((path, error)),
        }
    }
    Ok(())
}

fn visit(
    directory: &OwnedFd,
    name: &OsStr,
    path: &Path,
    depth: usize,
    ignored: &IgnoredNames,
    found: &mut Found,
) -> Result<(), WalkError> {
    let status = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(status.st_mode) {
        FileType::Directory => {
            let inner = openat(directory, name, directory_flags(), Mode::empty())?;
            visit_folder(&inner, path, depth + 1, ignored, found)?;
        }
        FileType::RegularFile if found.is_full() => return Err(WalkError::TooMany),
        FileType::RegularFile => found.files.push(FoundFile {
            path: path.to_owned(),
            size: u64::try_from(status.st_size).unwrap_or_default(),
            modified: i128::from(status.st_mtime) * 1_000_000_000 + i128::from(status.st_mtime_nsec),
        }),
        _ => {}
    }
    Ok(())
}

/// Opens a found file.
pub(super) fn open(root: &OwnedFd, path: &Path) -> io::Result<File> {
    let mut directory = root.try_clone()?;
    for name in path.parent().into_iter().flat_map(Path::components) {
        directory = openat(&directory, name.as_os_str(), directory_flags(), Mode::empty())?;
    }
    let name = path.file_name().unwrap_or_default();
    // A file that became a pipe does not block.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(openat(&directory, name, flags, Mode::empty())?);
    let status = file.metadata()?;
    if !status.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // A user who may write to a folder can link a file into it without the right to read it.
    if status.nlink() > 1 && status.uid() != fstat(&directory)?.st_uid {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, LINKED_OF_ANOTHER));
    }
    Ok(file)
}

fn directory_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn links_and_hidden_files_are_left_out() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret.txt"), "secret").unwrap();
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("a/b")).unwrap();
        for path in ["a/b/one.txt", "two.txt", ".hidden"] {
            fs::write(root.path().join(path), path).unwrap();
        }
        symlink(outside.path(), root.path().join("linked")).unwrap();
        symlink(outside.path().join("secret.txt"), root.path().join("link.txt")).unwrap();
        let roots = [root.path().to_owned()];
        let opened = open_root(root.path(), &roots).unwrap();
        let ignored = IgnoredNames::new(&["*.tmp".to_owned(), "@eaDir".to_owned()]);
        for path in ["one.tmp", "a/@eaDir/two.txt"] {
            fs::create_dir_all(root.path().join(path).parent().unwrap()).unwrap();
            fs::write(root.path().join(path), path).unwrap();
        }
        let found = walk(&opened, &ignored).unwrap();
        assert_eq!(found.left_out, 3);
        assert!(found.unread.is_empty(), "{found:?}");
        let paths: Vec<_> = found.files.into_iter().map(|file| file.path).collect();
        assert_eq!(paths, [Path::new("a/b/one.txt"), Path::new("two.txt")]);
        assert_eq!(io::read_to_string(open(&opened, &paths[0]).unwrap()).unwrap(), "a/b/one.txt");
        for path in ["link.txt", "linked/secret.txt", "a"] {
            assert!(open(&opened, Path::new(path)).is_err(), "{path}");
        }
        for folder in [outside.path(), &root.path().join("linked")] {
            assert!(open_root(folder, &roots).is_err(), "{}", folder.display());
        }
        assert!(open_root(&root.path().join("a"), &roots).is_ok());
    }
}
