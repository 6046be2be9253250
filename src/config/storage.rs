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
    /// How much processor time the text of one content may take to be read, in seconds. By the clock it may be six times that.
    pub text_seconds: u64,
    /// How long a commit waits for the text of its content, in milliseconds.
    pub text_wait_ms: u64,
    /// The program that reads texts, called as `extract-text` of this one is; this one where none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_program: Option<PathBuf>,
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
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scanner {
    /// The `clamd` that scans: `127.0.0.1:3310`, or `unix:/run/clamav/clamd.ctl`; without it nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clamd: Option<String>,
    /// Contents that are scanned at once; others wait.
    pub at_once: usize,
    /// A `clamd` that takes nothing, or has everything and does not answer, is given up after so many seconds.
    pub idle_seconds: u32,
}

impl Default for Scanner {
    fn default() -> Self {
        Self { clamd: None, at_once: 4, idle_seconds: 120 }
    }
}

impl Scanner {
    /// # Errors
    /// A message for the operator that names the setting.
    pub(super) fn check(&self) -> Result<(), String> {
        if !(1..=1_000).contains(&self.at_once) {
            return Err("scanner.at_once must be 1 to 1000".to_owned());
        }
        if !(1..=3_600).contains(&self.idle_seconds) {
            return Err("scanner.idle_seconds must be 1 to 3600".to_owned());
        }
        let Some(address) = &self.clamd else { return Ok(()) };
        let is_named = match address.strip_prefix("unix:") {
            Some(path) => path.starts_with('/'),
            None => address.rsplit_once(':').is_some_and(|(host, port)| {
                !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
            }),
        };
        if is_named {
            return Ok(());
        }
        Err("scanner.clamd must be host:port, or unix: and the whole path of a socket".to_owned())
    }
}

impl Default for Storage {
    fn default() -> Self {
        Self {
            kind: StorageKind::Local,
            path: None,
            address_seconds: 900,
            upload_hours: 24,
            text_seconds: 10,
            text_wait_ms: 1_000,
            text_program: None,
            s3: None,
        }
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
        if !(1..=600).contains(&self.text_seconds) {
            return Err("storage.text_seconds must be 1 to 600".to_owned());
        }
        if self.text_wait_ms > 10_000 {
            return Err("storage.text_wait_ms must be at most 10000 (milliseconds)".to_owned());
        }
        let Some(s3) = &self.s3 else {
            return match self.kind {
                StorageKind::Local => Ok(()),
                StorageKind::S3 => Err("storage.s3 must be there where storage.kind is s3".to_owned()),
            };
        };
        if s3.bucket.is_empty() {
            return Err("storage.s3.bucket must name a bucket".to_owned());
        }
        let is_address = |endpoint: &Url| {
            matches!(endpoint.scheme(), "http" | "https")
                && endpoint.query().is_none()
                && endpoint.fragment().is_none()
        };
        if s3.endpoint.as_ref().is_some_and(|endpoint| !is_address(endpoint)) {
            return Err(
                "storage.s3.endpoint must be an http or https address without query and fragment".to_owned()
            );
        }
        Ok(())
    }
}
