//! A server's data directory: options of commands on it, and its rights.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    process::ExitCode,
};

use rustix::{fs::Mode, process::umask};

use super::exit::{WRONG_USAGE, fail};
use crate::config::{Config, Flags};

/// Settings and data directory.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct DataDirectory {
    /// Settings file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Data directory of the server
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

impl DataDirectory {
    /// # Errors
    /// The exit code, after printing the reason.
    pub(super) fn load_config(self) -> Result<Config, ExitCode> {
        let flags = Flags { data: self.data, listen: None };
        let config =
            Config::load(self.config.as_deref(), &flags).map_err(|reason| fail(WRONG_USAGE, reason))?;
        config.check_shared_store().map_err(|reason| fail(1, reason))?;
        Ok(config)
    }
}

/// Rights of group and others.
const OTHERS_RIGHTS: u32 = 0o077;

/// The bit of directories that several users share, such as `/tmp`.
const STICKY: u32 = 0o1000;

/// Files that the process makes from now on are its user's alone.
pub(super) fn keep_new_files_private() {
    umask(Mode::RWXG | Mode::RWXO);
}

/// Entries of a data directory that group or others had rights on.
#[derive(Debug, Default)]
pub(super) struct ExposedEntries {
    /// Have no such rights any more.
    pub(super) mended: usize,
    /// Of other users, or on a file system without rights.
    pub(super) left: usize,
}

/// Creates the data directory, or makes it and its entries private.
///
/// What lies deeper is behind directories that nobody else may enter. A directory that users share stays as it is.
pub(super) fn open(data: &Path) -> io::Result<ExposedEntries> {
    fs::create_dir_all(data)?;
    let mut exposed = ExposedEntries::default();
    if fs::metadata(data)?.mode() & STICKY != 0 {
        return Ok(exposed);
    }
    exposed.mend(data)?;
    for entry in fs::read_dir(data)? {
        match exposed.mend(&entry?.path()) {
            // A temporary file, or a link that leads nowhere.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            mended => mended?,
        }
    }
    Ok(exposed)
}

impl ExposedEntries {
    fn mend(&mut self, path: &Path) -> io::Result<()> {
        let mode = fs::metadata(path)?.mode();
        if mode & OTHERS_RIGHTS == 0 {
            return Ok(());
        }
        match fs::set_permissions(path, Permissions::from_mode(mode & !OTHERS_RIGHTS)) {
            Ok(()) => self.mended += 1,
            Err(_) => self.left += 1,
        }
        Ok(())
    }
}
