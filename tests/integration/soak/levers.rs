//! Faults of a server's machine, by a library that is loaded before the C library.

use std::{
    fs::File,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    process::Command,
};

/// Places in the file that the library maps (`tests/soak/faults.c`).
#[derive(Clone, Copy, Debug)]
pub(super) enum Lever {
    /// Seconds that the clock is ahead.
    Clock,
    /// Microseconds that each sync takes.
    Disk,
    /// 1 while no name resolves.
    Names,
}

pub(super) struct Levers {
    library: PathBuf,
    path: PathBuf,
    file: File,
}

impl Levers {
    /// Builds the library in a directory.
    pub(super) fn new(directory: &Path) -> Self {
        let (library, path) = (directory.join("faults.so"), directory.join("levers"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/soak/faults.c");
        let built =
            Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).status();
        assert!(built.unwrap().success());
        let file = File::create(&path).unwrap();
        file.set_len(24).unwrap();
        Self { library, path, file }
    }

    /// Settings of a server's environment, which its processes do not get.
    pub(super) fn environment(&self) -> [(&'static str, String); 2] {
        [("LD_PRELOAD", &self.library), ("SOAK_LEVERS", &self.path)]
            .map(|(name, path)| (name, path.display().to_string()))
    }

    pub(super) fn set(&self, lever: Lever, value: i64) {
        self.file.write_all_at(&value.to_ne_bytes(), 8 * lever as u64).unwrap();
    }
}
