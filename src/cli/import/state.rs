//! Remembers how far a file has been imported, so that an import that was stopped goes on where it was.
//!
//! A repeated batch is harmless (rows are upserts by id), so what is kept may lag behind, but never run ahead.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use std::{fs, io};

use aws_lc_rs::digest;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

/// Into what a file is imported, and as whom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) server: &'a str,
    pub(super) client_id: &'a str,
    pub(super) enterprise: Option<&'a str>,
    pub(super) module: &'a str,
}

/// The file as it was when the import began. Another size or time means other rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    path: PathBuf,
    size: u64,
    /// Nanoseconds since the epoch: a coarser time would not show that a file was rewritten at once.
    modified: u128,
}

/// How far a file has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reached {
    /// Every row up to this number has been taken or rejected.
    pub(super) row: u64,
    /// How many of them were rejected.
    pub(super) rejected: u64,
}

#[derive(Serialize, Deserialize)]
struct Content {
    file: Version,
    reached: Reached,
}

/// The state of one file's import into one target.
#[derive(Debug)]
pub(super) struct State {
    store: PathBuf,
    file: Version,
}

impl State {
    /// The state of this file, kept below `directory`; none for what is no regular file and cannot be read twice.
    pub(super) fn of(directory: &Path, target: Target, file: &Path) -> io::Result<Option<Self>> {
        let metadata = fs::metadata(file)?;
        if !metadata.is_file() {
            return Ok(None);
        }
        let path = fs::canonicalize(file)?;
        let modified = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let store = directory.join(format!("{}.json", name_of(target, &path)));
        Ok(Some(Self { store, file: Version { path, size: metadata.len(), modified } }))
    }

    /// How far this version of the file has come; the beginning, if nothing fit is kept.
    pub(super) fn load(&self) -> Reached {
        let content =
            fs::read(&self.store).ok().and_then(|text| serde_json::from_slice::<Content>(&text).ok());
        content.filter(|content| content.file == self.file).map(|content| content.reached).unwrap_or_default()
    }

    /// Keeps how far it has come. The file is replaced whole, so that no reader ever meets half of it.
    pub(super) fn save(&self, reached: Reached) -> io::Result<()> {
        let directory = self.store.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(directory)?;
        let content = Content { file: self.file.clone(), reached };
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(&serde_json::to_vec(&content)?)?;
        file.persist(&self.store)?;
        Ok(())
    }

    /// Forgets it, since the file is done or begins anew.
    pub(super) fn remove(&self) -> io::Result<()> {
        match fs::remove_file(&self.store) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// A short name that differs whenever the target or the path does.
fn name_of(target: Target, path: &Path) -> String {
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

/// `$XDG_STATE_HOME/trawl/import`, or below `~/.local/state`; none without a home directory.
pub(super) fn default_directory() -> Option<PathBuf> {
    // The specification of these variables has relative ones ignored.
    let base = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let base = base.or_else(|| Some(std::env::home_dir()?.join(".local/state")))?;
    Some(base.join("trawl").join("import"))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    const TARGET: Target =
        Target { server: "http://127.0.0.1:8080/", client_id: "app", enterprise: None, module: "article" };

    fn touch(path: &Path, text: &str, time: SystemTime) {
        fs::write(path, text).unwrap();
        fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }

    #[test]
    fn what_was_saved_is_loaded_until_it_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("rows.jsonl");
        touch(&file, "{}", UNIX_EPOCH + Duration::from_secs(1));
        let kept = directory.path().join("state/import");
        let state = State::of(&kept, TARGET, &file).unwrap().unwrap();
        assert_eq!(state.load(), Reached::default());
        for row in [1000, 2000] {
            state.save(Reached { row, rejected: 3 }).unwrap();
        }
        assert_eq!(state.load(), Reached { row: 2000, rejected: 3 });
        assert_eq!(fs::read_dir(&kept).unwrap().count(), 1, "one file, no temporary one left");
        state.remove().unwrap();
        state.remove().unwrap();
        assert_eq!(state.load(), Reached::default());
    }

    #[test]
    fn another_version_or_target_begins_anew() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("rows.jsonl");
        let time = UNIX_EPOCH + Duration::from_secs(1);
        touch(&file, "{}", time);
        let open = |target| State::of(directory.path(), target, &file).unwrap().unwrap();
        let reached = Reached { row: 9, rejected: 0 };
        open(TARGET).save(reached).unwrap();
        assert_eq!(open(TARGET).load(), reached);
        for other in [
            Target { server: "http://127.0.0.1:9/", ..TARGET },
            Target { client_id: "other", ..TARGET },
            Target { enterprise: Some("E1"), ..TARGET },
            Target { module: "news", ..TARGET },
        ] {
            assert_eq!(open(other).load(), Reached::default(), "{other:?}");
        }
        touch(&file, "{}", time + Duration::from_nanos(1));
        assert_eq!(open(TARGET).load(), Reached::default(), "rewritten");
        touch(&file, "{} ", time);
        assert_eq!(open(TARGET).load(), Reached::default(), "grown");
        touch(&file, "{}", time);
        assert_eq!(open(TARGET).load(), reached);
    }

    #[test]
    fn a_damaged_state_is_the_beginning() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("rows.jsonl");
        fs::write(&file, "{}").unwrap();
        let state = State::of(directory.path(), TARGET, &file).unwrap().unwrap();
        fs::write(&state.store, "{\"fil").unwrap();
        assert_eq!(state.load(), Reached::default());
    }

    #[test]
    fn what_cannot_be_read_twice_has_no_state() {
        let directory = tempfile::tempdir().unwrap();
        assert!(State::of(directory.path(), TARGET, directory.path()).unwrap().is_none());
        assert!(State::of(directory.path(), TARGET, Path::new("/nonexistent/rows")).is_err());
    }
}
