//! Verification of an index when it is opened.
//!
//! All files are read below 64 MiB, after a reboot, and after three unverified openings. Otherwise `verification` reads them in the
//! background.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::{Error, checksum};

const BOOT_FILE: &str = "boot";
/// Some tens of milliseconds.
const MAX_ALWAYS_VERIFIED_BYTES: u64 = 64 << 20;
static OPENED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
/// One byte for each opening since the last full verification.
const UNVERIFIED_FILE: &str = "unverified";
/// Damage may have ended these processes.
const MAX_UNVERIFIED_OPENINGS: usize = 3;
const BOOT_ID_FILE: &str = "/proc/sys/kernel/random/boot_id";

pub(crate) fn verify_on_open(root: &Path, index: &tantivy::Index) -> Result<(), Error> {
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let is_first = opened.insert(root.to_owned());
    drop(opened);
    verify_unless_trusted(root, index, MAX_ALWAYS_VERIFIED_BYTES, is_first)
}

/// Verifies all files, except of a trusted index above `small` bytes.
fn verify_unless_trusted(
    root: &Path,
    index: &tantivy::Index,
    small: u64,
    is_first: bool,
) -> Result<(), Error> {
    // Every opening may follow a reboot if there is no boot id.
    let boot = fs::read(BOOT_ID_FILE).ok();
    let noted = fs::read(root.join(BOOT_FILE)).ok();
    let files: Vec<PathBuf> =
        index.load_metas()?.list_segment_files().into_iter().map(|file| root.join(file)).collect();
    let bytes: u64 = files.iter().filter_map(|file| fs::metadata(file).ok()).map(|file| file.len()).sum();
    let openings = fs::read(root.join(UNVERIFIED_FILE)).map_or(0, |openings| openings.len());
    if boot.is_some() && noted == boot && bytes > small && (openings < MAX_UNVERIFIED_OPENINGS || !is_first) {
        if is_first {
            // A full disk must not prevent opening.
            let _ = fs::write(root.join(UNVERIFIED_FILE), vec![b'.'; openings + 1]);
        }
        return Ok(());
    }
    for file in files {
        // Missing files are found when the segment is opened.
        if file.try_exists()? {
            checksum::verify_file(&file)?;
        }
    }
    if let Some(boot) = boot {
        // If this fails, the next opening verifies again.
        let _ = fs::write(root.join(BOOT_FILE), boot);
    }
    note_verified(root);
    Ok(())
}

pub(crate) fn note_verified(root: &Path) {
    // If this fails, a later opening verifies again.
    let _ = fs::remove_file(root.join(UNVERIFIED_FILE));
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{BOOT_FILE, UNVERIFIED_FILE};
    use crate::{Error, Index, Options};
    use trawl_engine::{Change, Checkpoint};

    fn written(directory: &Path) {
        let (_, mut writer) = Index::open(directory, &Options::default()).unwrap();
        let put = |id: &str| Change::Put(crate::testing::sample_document(id, None));
        writer.apply(["a", "b", "c", "d", "e"].map(put).into()).unwrap();
        let checkpoint = Checkpoint { store: "s".to_owned(), position: 1, complete: true };
        writer.commit(&checkpoint).unwrap();
        writer.apply(vec![put("a")]).unwrap();
        writer.commit(&checkpoint).unwrap();
        writer.close().unwrap();
    }

    fn open(directory: &Path) -> Result<(), Error> {
        Index::open(directory, &Options::default()).map(|_| ())
    }

    #[test]
    fn leftover_segment_file_is_deleted_on_open() {
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
    fn large_index_is_verified_after_a_reboot_or_three_unverified_openings() {
        let directory = tempfile::tempdir().unwrap();
        written(directory.path());
        let index = crate::bare::open(directory.path()).unwrap();
        let verify = || super::verify_unless_trusted(directory.path(), &index, 0, true);
        verify().unwrap();
        let file = fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().path());
        let file = file.into_iter().find(|file| file.extension().is_some_and(|kind| kind == "pos")).unwrap();
        let mut content = fs::read(&file).unwrap();
        content[0] ^= 1;
        fs::write(&file, &content).unwrap();
        let opened: Vec<bool> = (0..3).map(|_| verify().is_ok()).collect();
        assert_eq!(opened, [true, true, false]);
        fs::remove_file(directory.path().join(UNVERIFIED_FILE)).unwrap();
        verify().unwrap();
        fs::write(directory.path().join(BOOT_FILE), "another boot").unwrap();
        assert!(matches!(verify(), Err(Error::Unusable(_))));
        content[0] ^= 1;
        fs::write(&file, &content).unwrap();
        assert!((0..20).all(|_| verify().is_ok()));
    }
}
