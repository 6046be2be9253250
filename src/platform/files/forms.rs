//! Request forms of files. Checks fail with 400 and name the field.

use serde::{Deserialize, Serialize};

use super::parts::{self, PartTag};
use crate::{
    blobs::{MAX_PARTS, SignedUpload},
    config::Limits,
    error::{BusinessCode, Error, Result},
    platform::{
        folders::{
            access::ROOT,
            names::{self, Name},
        },
        shared::patch::{WHOLE_NUMBERS, check_id_of},
    },
};

/// The expected file, checked here and at the commit; all optional.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignForm {
    /// SHA-256 of the content, in hex.
    pub file_hash: Option<String>,
    /// The file's name.
    pub file_name: Option<String>,
    /// Size in bytes: the maximum, reserved of the quotas.
    #[schema(minimum = 0)]
    pub file_size: Option<i64>,
    /// The target folder, or `root`; default: the caller's root. Its quota counts the bytes.
    pub dir_id: Option<String>,
}

/// The expected file of a multipart upload; all fields are optional.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct StartForm {
    /// Size in bytes: the maximum, reserved of the quotas.
    #[schema(minimum = 0)]
    #[param(minimum = 0)]
    pub file_size: Option<i64>,
    /// The target folder, or `root`; default: the caller's root. Its quota counts the bytes.
    pub dir_id: Option<String>,
}

impl From<StartForm> for SignForm {
    fn from(StartForm { file_size, dir_id }: StartForm) -> Self {
        Self { file_size, dir_id, ..Self::default() }
    }
}

#[derive(Clone, Debug)]
pub(super) struct ValidatedUpload {
    pub(super) sha256: Option<String>,
    pub(super) name: Option<String>,
    pub(super) bytes: Option<i64>,
    pub(super) directory_id: String,
}

impl SignForm {
    pub(super) fn checked(self) -> Result<ValidatedUpload> {
        let directory_id = self.dir_id.filter(|id| !id.is_empty()).unwrap_or_else(|| ROOT.to_owned());
        check_id_of("dirId", &directory_id).map_err(Error::bad_request)?;
        Ok(ValidatedUpload {
            sha256: self.file_hash.map(|hash| check_hash(&hash)).transpose()?,
            name: self.file_name,
            bytes: self.file_size.map(check_size).transpose()?,
            directory_id,
        })
    }
}

/// The part to sign.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PartForm {
    /// The upload.
    pub upload_id: String,
    /// The part's number.
    #[schema(minimum = 1, maximum = 10000)]
    pub part_number: i64,
    /// Maximum size of the part in bytes.
    #[schema(minimum = 0)]
    pub file_size: Option<i64>,
}

#[derive(Clone, Debug)]
pub(super) struct AnnouncedPart {
    pub(super) upload_id: String,
    pub(super) number: u32,
    pub(super) bytes: Option<i64>,
}

impl PartForm {
    pub(super) fn checked(self) -> Result<AnnouncedPart> {
        check_id_of("uploadId", &self.upload_id).map_err(Error::bad_request)?;
        let number = u32::try_from(self.part_number).ok().filter(|number| (1..=MAX_PARTS).contains(number));
        let number = number.ok_or_else(|| {
            Error::bad_request(format!("partNumber: must be 1 to {MAX_PARTS}, not {}", self.part_number))
        })?;
        Ok(AnnouncedPart {
            upload_id: self.upload_id,
            number,
            bytes: self.file_size.map(check_size).transpose()?,
        })
    }
}

/// The uploaded content and its target.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommitForm {
    /// The upload.
    pub upload_id: String,
    /// The folder, or `root`.
    pub dir_id: String,
    /// The file's name.
    pub file_name: String,
    /// Size of the content in bytes.
    #[schema(minimum = 0)]
    pub file_size: i64,
    /// Whether a file of this name gets a new version; default: false.
    pub ondup: Option<bool>,
    /// SHA-256 of the content, in hex.
    pub file_hash: Option<String>,
    /// Parts of a multipart upload: a JSON array of `eTag` and `partNumber` objects.
    #[serde(rename = "partETags")]
    pub part_e_tags: Option<String>,
}

/// The upload to abort.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancelForm {
    /// The upload.
    pub upload_id: String,
}

impl CancelForm {
    pub(super) fn checked(self) -> Result<String> {
        check_id_of("uploadId", &self.upload_id).map_err(Error::bad_request)?;
        Ok(self.upload_id)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UploadKind {
    Single,
    Multipart,
}

#[derive(Clone, Debug)]
pub(super) struct ValidatedCommit {
    pub(super) upload_id: String,
    pub(super) directory_id: String,
    pub(super) name: String,
    pub(super) bytes: i64,
    pub(super) replaces: bool,
    pub(super) sha256: Option<String>,
    pub(super) way: UploadKind,
    pub(super) parts: Vec<PartTag>,
}

impl CommitForm {
    pub(super) fn checked(self, way: UploadKind) -> Result<ValidatedCommit> {
        check_id_of("uploadId", &self.upload_id).map_err(Error::bad_request)?;
        check_id_of("dirId", &self.dir_id).map_err(Error::bad_request)?;
        let parts = match (way, self.part_e_tags) {
            (UploadKind::Multipart, Some(text)) => parts::read(&text).map_err(Error::bad_request)?,
            (UploadKind::Multipart, None) | (UploadKind::Single, _) => Vec::new(),
        };
        Ok(ValidatedCommit {
            bytes: check_size(self.file_size)?,
            sha256: self.file_hash.map(|hash| check_hash(&hash)).transpose()?,
            upload_id: self.upload_id,
            directory_id: self.dir_id,
            name: self.file_name,
            replaces: self.ondup.unwrap_or(false),
            way,
            parts,
        })
    }
}

/// The content to download.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DownloadForm {
    /// The file.
    pub file_id: String,
    /// The version; default: the newest.
    #[schema(minimum = 1)]
    pub version: Option<i64>,
}

impl DownloadForm {
    pub(super) fn check(&self) -> Result<()> {
        check_id_of("fileId", &self.file_id).map_err(Error::bad_request)?;
        match self.version {
            Some(version) if version < 1 => {
                Err(Error::bad_request(format!("version: must be at least 1, not {version}")))
            }
            _ => Ok(()),
        }
    }
}

/// Refuses empty lists and duplicates.
pub(super) fn check_deletion(ids: &[String]) -> Result<()> {
    if ids.is_empty() {
        return Err(Error::bad_request("body: must hold at least one file id"));
    }
    let mut seen = std::collections::HashSet::new();
    for (place, id) in ids.iter().enumerate() {
        check_id_of(&format!("body: [{place}]"), id).map_err(Error::bad_request)?;
        if !seen.insert(id.as_str()) {
            return Err(Error::bad_request(format!("body: [{place}]: is given twice")));
        }
    }
    Ok(())
}

fn check_size(bytes: i64) -> Result<i64> {
    if (0..=*WHOLE_NUMBERS.end()).contains(&bytes) {
        return Ok(bytes);
    }
    Err(Error::bad_request(format!("fileSize: must be 0 to {}, not {bytes}", WHOLE_NUMBERS.end())))
}

pub(super) fn check_limit(bytes: i64, most: u64) -> Result<()> {
    if u64::try_from(bytes).is_ok_and(|bytes| bytes <= most) {
        return Ok(());
    }
    Err(general(format!("fileSize: a file has at most {most} bytes, not {bytes}")))
}

/// 430005 if too long.
pub(super) fn check_name(limits: &Limits, name: &str) -> Result<Name> {
    names::check_file(limits, name).map_err(|mut refusal| {
        refusal.message = refusal.message.replacen("name:", "fileName:", 1);
        refusal
    })
}

fn check_hash(hash: &str) -> Result<String> {
    if hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(hash.to_ascii_lowercase());
    }
    Err(Error::bad_request("fileHash: must be a SHA-256 in hex, 64 digits"))
}

pub(super) fn general(message: impl Into<String>) -> Error {
    Error::business(BusinessCode::General, message)
}

/// A signed upload URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UploadSign {
    /// The URL.
    pub url: String,
    /// The HTTP method.
    pub method: &'static str,
    /// Headers to send, or null.
    #[schema(required)]
    pub headers: Option<std::collections::BTreeMap<String, String>>,
    /// The upload, for its commit.
    pub upload_id: String,
}

impl UploadSign {
    pub(super) fn of(SignedUpload { url, method, headers }: SignedUpload, upload_id: String) -> Self {
        Self { url, method, headers, upload_id }
    }
}
