//! `demo.json`: credentials for callers and for the next start.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;

use super::PERSON;

const NAME: &str = "demo.json";

/// Credentials and time of a loaded demo.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Kept {
    pub(super) client_id: String,
    pub(super) client_secret: SecretString,
    pub(super) password: SecretString,
    /// When the content was loaded, epoch milliseconds.
    pub(super) loaded_at: i64,
}

pub(super) fn path(directory: &Path) -> PathBuf {
    directory.join(NAME)
}

impl Kept {
    /// `None` in a directory without a loaded demo.
    pub(super) fn read(directory: &Path) -> io::Result<Option<Self>> {
        match fs::read(path(directory)) {
            Ok(text) => serde_json::from_slice(&text).map(Some).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces the file, which its owner alone may read.
    pub(super) fn write(&self, directory: &Path, address: &str, token: &SecretString) -> io::Result<()> {
        let text = json!({
            "address": address,
            "login": PERSON,
            "password": self.password.expose_secret(),
            "token": token.expose_secret(),
            "clientId": self.client_id,
            "clientSecret": self.client_secret.expose_secret(),
            "loadedAt": self.loaded_at,
        });
        let path = path(directory);
        let aside = path.with_extension("new");
        let mut file =
            fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
        file.write_all(format!("{text:#}\n").as_bytes())?;
        file.sync_all()?;
        fs::rename(&aside, &path)
    }
}
