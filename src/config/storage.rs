//! Where the contents of files are, and what looks for harm in them.

use std::path::PathBuf;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use url::Url;

/// Where the contents of files are (decisions 10.3).
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// Which store has them.
    pub kind: StorageKind,
    /// The directory of the embedded store; `files` in the data directory where none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// How long a signed address is good for, in seconds.
    pub address_seconds: u32,
    /// Uploads that nobody commits are removed after so many hours (decisions 10.4).
    pub upload_hours: u32,
    /// The S3-compatible store, where that is the kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s3: Option<S3>,
}

/// Which store has the contents of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StorageKind {
    /// The embedded one, on the local disk.
    Local,
    /// An S3-compatible one.
    S3,
}

/// An S3-compatible store.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct S3 {
    /// Its address, which clients reach too; Amazon's where none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Url>,
    /// The bucket, which has to be there.
    pub bucket: String,
    /// The region.
    pub region: String,
    /// The key's id.
    pub access_key_id: String,
    /// The key.
    #[serde(serialize_with = "super::masked_secret")]
    pub secret_access_key: SecretString,
}

/// What looks for harm in files before they are committed (decisions 10.6).
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scanner {
    /// The `clamd` that scans: `127.0.0.1:3310`, or `unix:/run/clamav/clamd.ctl`; without it nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clamd: Option<String>,
}

impl Default for Storage {
    fn default() -> Self {
        Self { kind: StorageKind::Local, path: None, address_seconds: 900, upload_hours: 24, s3: None }
    }
}

impl Storage {
    /// # Errors
    /// A message for the operator that names the setting.
    pub(super) fn check(&self) -> Result<(), String> {
        if !(1..=86_400).contains(&self.address_seconds) {
            return Err("storage.address_seconds must be 1 to 86400".to_owned());
        }
        if self.upload_hours == 0 {
            return Err("storage.upload_hours must be at least 1".to_owned());
        }
        match (self.kind, &self.s3) {
            (StorageKind::S3, None) => Err("storage.s3 must be there where storage.kind is s3".to_owned()),
            _ => Ok(()),
        }
    }
}
