//! Contents of files and their malware scanner.

use std::path::PathBuf;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use url::Url;

use super::is_plain_address;

/// Contents of files.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// Kind of store.
    pub kind: StorageKind,
    /// Directory of the local store; default `files` in `data`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Lifetime of a signed address, in seconds.
    pub address_seconds: u32,
    /// Age at which an uncommitted upload is removed.
    pub upload_hours: u32,
    /// Processor time for a content's text; six times that by the clock.
    pub text_seconds: u64,
    /// Time that a commit waits for the text.
    pub text_wait_ms: u64,
    /// Program that extracts texts, called as `PROGRAM extract-text`; default this program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_program: Option<PathBuf>,
    /// Settings of the S3-compatible store; required where `kind` is `s3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s3: Option<S3Settings>,
}

/// Kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StorageKind {
    /// Directory on the local disk.
    Local,
    /// S3-compatible store.
    S3,
    /// No contents of files.
    None,
}

/// An S3-compatible store.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct S3Settings {
    /// Address, also for clients; default Amazon's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Url>,
    /// An existing bucket.
    pub bucket: String,
    /// Region.
    pub region: String,
    /// Access key id.
    pub access_key_id: String,
    /// Secret access key.
    #[serde(serialize_with = "super::masked_secret")]
    pub secret_access_key: SecretString,
}

/// Malware scanner for files before they are committed.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ScannerSettings {
    /// Address of `clamd`: `127.0.0.1:3310` or `unix:/run/clamav/clamd.ctl`; none disables scanning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clamd: Option<String>,
    /// Concurrent scans; more wait.
    pub at_once: usize,
    /// Time without progress after which a scan fails.
    pub idle_seconds: u32,
}

impl Default for ScannerSettings {
    fn default() -> Self {
        Self { clamd: None, at_once: 4, idle_seconds: 120 }
    }
}

impl ScannerSettings {
    pub(super) fn check(&self) -> Result<(), String> {
        if !(1..=1_000).contains(&self.at_once) {
            return Err("scanner.at_once: must be 1 to 1000".to_owned());
        }
        if !(1..=3_600).contains(&self.idle_seconds) {
            return Err("scanner.idle_seconds: must be 1 to 3600".to_owned());
        }
        let Some(address) = &self.clamd else { return Ok(()) };
        let is_valid = match address.strip_prefix("unix:") {
            Some(path) => path.starts_with('/'),
            None => address.rsplit_once(':').is_some_and(|(host, port)| {
                !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
            }),
        };
        if is_valid {
            return Ok(());
        }
        Err("scanner.clamd: must be host:port, or unix: and the absolute path of a socket".to_owned())
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
    pub(super) fn check(&self) -> Result<(), String> {
        if !(1..=86_400).contains(&self.address_seconds) {
            return Err("storage.address_seconds: must be 1 to 86400".to_owned());
        }
        if !(1..=600).contains(&self.text_seconds) {
            return Err("storage.text_seconds: must be 1 to 600".to_owned());
        }
        if self.text_wait_ms > 10_000 {
            return Err("storage.text_wait_ms: must be at most 10000 (milliseconds)".to_owned());
        }
        let Some(s3) = &self.s3 else {
            return match self.kind {
                StorageKind::Local | StorageKind::None => Ok(()),
                StorageKind::S3 => Err("storage.s3: is required where storage.kind is s3".to_owned()),
            };
        };
        if s3.bucket.is_empty() {
            return Err("storage.s3.bucket: is required".to_owned());
        }
        if s3.endpoint.as_ref().is_some_and(|endpoint| !is_plain_address(endpoint)) {
            return Err(
                "storage.s3.endpoint: must be an http or https address without query and fragment".to_owned()
            );
        }
        Ok(())
    }
}
