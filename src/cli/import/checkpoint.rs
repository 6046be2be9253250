//! Stored progress of a file.
//!
//! Rows are upserts by id, so a checkpoint may lag behind but never run ahead.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use std::{fs, io};

use aws_lc_rs::digest;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::config;

#[derive(Debug, Clone, Copy)]
pub(super) struct ImportTarget<'a> {
    pub(super) server: &'a str,
    pub(super) client_id: &'a str,
    pub(super) enterprise: Option<&'a str>,
    pub(super) module: &'a str,
}

/// Another size or time means other rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileVersion {
    path: PathBuf,
    size: u64,
    /// Nanoseconds, as seconds would miss a quick rewrite.
    modified: u128,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResumePoint {
    /// Rows up to this number were sent or rejected.
    pub(super) row: u64,
    pub(super) rejected: u64,
}

#[derive(Serialize, Deserialize)]
struct StoredCheckpoint {
    file: FileVersion,
    #[serde(rename = "reached")]
    resume_point: ResumePoint,
}

#[derive(Debug)]
pub(super) struct Checkpoint {
    store: PathBuf,
    file: FileVersion,
}

impl Checkpoint {
    /// None for anything but a regular file, which cannot be read twice.
    pub(super) fn of(directory: &Path, target: ImportTarget, file: &Path) -> io::Result<Option<Self>> {
        let metadata = fs::metadata(file)?;
        if !metadata.is_file() {
            return Ok(None);
        }
        let path = fs::canonicalize(file)?;
        let modified = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let store = directory.join(format!("{}.json", checkpoint_name(target, &path)));
        Ok(Some(Self { store, file: FileVersion { path, size: metadata.len(), modified } }))
    }

    pub(super) fn load(&self) -> ResumePoint {
        let content = fs::read(&self.store)
            .ok()
            .and_then(|text| serde_json::from_slice::<StoredCheckpoint>(&text).ok());
        content
            .filter(|content| content.file == self.file)
            .map(|content| content.resume_point)
            .unwrap_or_default()
    }

    pub(super) fn save(&self, resume_point: ResumePoint) -> io::Result<()> {
        let directory = self.store.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(directory)?;
        let content = StoredCheckpoint { file: self.file.clone(), resume_point };
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(&serde_json::to_vec(&content)?)?;
        file.persist(&self.store)?;
        Ok(())
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        match fs::remove_file(&self.store) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

fn checkpoint_name(target: ImportTarget, path: &Path) -> String {
    let mut digest = digest::Context::new(&digest::SHA256);
    let path = path.as_os_str().as_encoded_bytes();
    let parts = [target.server, target.client_id, target.enterprise.unwrap_or_default(), target.module]
        .map(str::as_bytes);
    for part in parts.into_iter().chain([path]) {
        digest.update(&(part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    URL_SAFE_NO_PAD.encode(&digest.finish().as_ref()[..18])
}

pub(super) fn default_directory() -> Option<PathBuf> {
    Some(config::state_directory()?.join("trawl").join("import"))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    const TARGET: ImportTarget = ImportTarget {
        server: "http://127.0.0.1:8080/",
        client_id: "app",
        enterprise: None,
        module: "article",
    };

    fn touch(path: &Path, text: &str, time: SystemTime) {
        fs::write(path, text).unwrap();
        fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }

    #[test]
    fn checkpoint_is_loaded_until_removed() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("rows.jsonl");
        touch(&file, "{}", UNIX_EPOCH + Duration::from_secs(1));
        let kept = directory.path().join("state/import");
        let state = Checkpoint::of(&kept, TARGET, &file).unwrap().unwrap();
        assert_eq!(state.load(), ResumePoint::default());
        for row in [1000, 2000] {
            state.save(ResumePoint { row, rejected: 3 }).unwrap();
        }
        assert_eq!(state.load(), ResumePoint { row: 2000, rejected: 3 });
        assert_eq!(fs::read_dir(&kept).unwrap().count(), 1, "one file, no temporary one left");
        state.remove().unwrap();
        state.remove().unwrap();
        assert_eq!(state.load(), ResumePoint::default());
    }

    #[test]
    fn other_file_version_or_target_begins_anew() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("rows.jsonl");
        let time = UNIX_EPOCH + Duration::from_secs(1);
        touch(&file, "{}", time);
        let open = |target| Checkpoint::of(directory.path(), target, &file).unwrap().unwrap();
        let resume_point = ResumePoint { row: 9, rejected: 0 };
        open(TARGET).save(resume_point).unwrap();
        assert_eq!(open(TARGET).load(), resume_point);
        for other in [
            ImportTarget { server: "http://127.0.0.1:9/", ..TARGET },
            ImportTarget { client_id: "other", ..TARGET },
            ImportTarget { enterprise: Some("E1"), ..TARGET },
            ImportTarget { module: "news", ..TARGET },
        ] {
            assert_eq!(open(other).load(), ResumePoint::default(), "{other:?}");
        }
        touch(&file, "{}", time + Duration::from_nanos(1));
        assert_eq!(open(TARGET).load(), ResumePoint::default(), "rewritten");
        touch(&file, "{} ", time);
        assert_eq!(open(TARGET).load(), ResumePoint::default(), "grown");
        touch(&file, "{}", time);
        assert_eq!(open(TARGET).load(), resume_point);
    }

    #[test]
    fn damaged_checkpoint_is_the_beginning() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("rows.jsonl");
        fs::write(&file, "{}").unwrap();
        let state = Checkpoint::of(directory.path(), TARGET, &file).unwrap().unwrap();
        fs::write(&state.store, "{\"fil").unwrap();
        assert_eq!(state.load(), ResumePoint::default());
    }

    #[test]
    fn directory_has_no_checkpoint() {
        let directory = tempfile::tempdir().unwrap();
        assert!(Checkpoint::of(directory.path(), TARGET, directory.path()).unwrap().is_none());
        assert!(Checkpoint::of(directory.path(), TARGET, Path::new("/nonexistent/rows")).is_err());
    }
}
