//! A small file system in memory.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

pub(crate) struct SmallDisk {
    path: PathBuf,
    _directory: Option<TempDir>,
}

impl SmallDisk {
    /// Mounts a disk.
    ///
    /// Prints a line and returns `None` where that is not permitted.
    pub(crate) fn mount(mib: u32) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        Self::mount_there(path, Some(directory), mib)
    }

    pub(crate) fn mount_at(path: &Path, mib: u32) -> Option<Self> {
        Self::mount_there(path.to_owned(), None, mib)
    }

    fn mount_there(path: PathBuf, directory: Option<TempDir>, mib: u32) -> Option<Self> {
        let size = format!("size={mib}m");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&path).output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self { path, _directory: directory }),
            _ => {
                eprintln!("skipped: no file system can be mounted here (it takes root and mount)");
                None
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn resize(&self, mib: u32) {
        self.remount(&format!("size={mib}m"));
    }

    pub(crate) fn remount(&self, option: &str) {
        let options = format!("remount,{option}");
        assert!(Command::new("mount").args(["-o", &options]).arg(&self.path).status().unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a killed process may hold the disk for a moment.
        let _ = Command::new("umount").arg("-l").arg(&self.path).status();
    }
}
