//! What callers send, checked as far as that needs nobody else.

use serde::{Deserialize, Serialize};

use super::parts::{self, PartTag};
use crate::{
    config::Limits,
    error::{BusinessCode, Error, Result},
    platform::{
        common::{WHOLE_NUMBERS, check_id_of},
        directories::{
            access::ROOT,
            names::{self, Name},
        },
    },
    storage::{MOST_PARTS, SignedUpload},
};

/// What is known of a file that is to come. All of it may be left out; what is said is checked at once, and held to later.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignForm {
    /// SHA-256 of the content, in hex.
    pub file_hash: Option<String>,
    /// The file's name.
    pub file_name: Option<String>,
    /// Bytes of the content: no more can be sent, and so many are reserved of the quotas.
    #[schema(minimum = 0)]
    pub file_size: Option<i64>,
    /// The folder that it is for, or `root`. The quota of its subject counts the bytes; without it, that of one's own root does.
    pub dir_id: Option<String>,
}

/// What is known of a file that is to come in parts. All of it may be left out.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct StartForm {
    /// Bytes of the content: so many are reserved of the quotas, and no more can be committed.
    #[schema(minimum = 0)]
    #[param(minimum = 0)]
    pub file_size: Option<i64>,
    /// The folder that it is for, or `root`. The quota of its subject counts the bytes; without it, that of one's own root does.
    pub dir_id: Option<String>,
}

impl From<StartForm> for SignForm {
    fn from(StartForm { file_size, dir_id }: StartForm) -> Self {
        Self { file_size, dir_id, ..Self::default() }
    }
}

/// An upload that is to be begun.
#[derive(Clone, Debug)]
pub(super) struct Announced {
    pub(super) sha256: Option<String>,
    pub(super) name: Option<String>,
    pub(super) bytes: Option<i64>,
    /// [`ROOT`] where nothing is said.
    pub(super) directory_id: String,
}

impl SignForm {
    /// # Errors
    /// 400 that names the field.
    pub(super) fn checked(self) -> Result<Announced> {
        // What is said to be for nowhere counts as the person's own, so that nobody reserves what all share.
        let directory_id = self.dir_id.filter(|id| !id.is_empty()).unwrap_or_else(|| ROOT.to_owned());
        check_id_of("dirId", &directory_id).map_err(Error::bad_request)?;
        Ok(Announced {
            sha256: self.file_hash.map(|hash| check_hash(&hash)).transpose()?,
            name: self.file_name,
            bytes: self.file_size.map(check_size).transpose()?,
            directory_id,
        })
    }
}

/// Which part is to come.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PartForm {
    /// The upload.
    pub upload_id: String,
    /// The part's number.
    #[schema(minimum = 1, maximum = 10000)]
    pub part_number: i64,
    /// Bytes of the part: no more can be sent.
    #[schema(minimum = 0)]
    pub file_size: Option<i64>,
}

/// A part that is to come.
#[derive(Clone, Debug)]
pub(super) struct AnnouncedPart {
    pub(super) upload_id: String,
    pub(super) number: u32,
    pub(super) bytes: Option<i64>,
}

impl PartForm {
    /// # Errors
    /// 400 that names the field.
    pub(super) fn checked(self) -> Result<AnnouncedPart> {
        check_id_of("uploadId", &self.upload_id).map_err(Error::bad_request)?;
        let number = u32::try_from(self.part_number).ok().filter(|number| (1..=MOST_PARTS).contains(number));
        let number = number.ok_or_else(|| {
            Error::bad_request(format!("partNumber: must be 1 to {MOST_PARTS}, not {}", self.part_number))
        })?;
        Ok(AnnouncedPart {
            upload_id: self.upload_id,
            number,
            bytes: self.file_size.map(check_size).transpose()?,
        })
    }
}

/// What was sent, and where it is to be.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommitForm {
    /// The upload.
    pub upload_id: String,
    /// The folder, or `root`.
    pub dir_id: String,
    /// The file's name.
    pub file_name: String,
    /// Bytes of the content.
    #[schema(minimum = 0)]
    pub file_size: i64,
    /// Whether a file of this name gets a new version; default false: it is refused.
    pub ondup: Option<bool>,
    /// SHA-256 of the content, in hex.
    pub file_hash: Option<String>,
    /// The parts, as a text that holds a JSON array of objects with `eTag` and `partNumber`; for uploads in parts.
    #[serde(rename = "partETags")]
    pub part_e_tags: Option<String>,
}

/// Which upload is to be given up.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancelForm {
    /// The upload.
    pub upload_id: String,
}

impl CancelForm {
    /// # Errors
    /// 400 that names the field.
    pub(super) fn checked(self) -> Result<String> {
        check_id_of("uploadId", &self.upload_id).map_err(Error::bad_request)?;
        Ok(self.upload_id)
    }
}

/// How a content came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// To one address.
    Single,
    /// In parts.
    Multipart,
}

/// A file that is to be.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) upload_id: String,
    pub(super) directory_id: String,
    pub(super) name: String,
    pub(super) bytes: i64,
    pub(super) replaces: bool,
    pub(super) sha256: Option<String>,
    pub(super) way: Way,
    /// The parts that are named; none of a single upload.
    pub(super) parts: Vec<PartTag>,
}

impl CommitForm {
    /// # Errors
    /// 400 that names the field.
    pub(super) fn checked(self, way: Way) -> Result<Wanted> {
        check_id_of("uploadId", &self.upload_id).map_err(Error::bad_request)?;
        check_id_of("dirId", &self.dir_id).map_err(Error::bad_request)?;
        let parts = match (way, self.part_e_tags) {
            (Way::Multipart, Some(text)) => parts::read(&text).map_err(Error::bad_request)?,
            (Way::Multipart, None) | (Way::Single, _) => Vec::new(),
        };
        Ok(Wanted {
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

/// Which content is to be taken.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DownloadForm {
    /// The file.
    pub file_id: String,
    /// Which version of it; the newest where none is named.
    #[schema(minimum = 1)]
    pub version: Option<i64>,
}

impl DownloadForm {
    /// # Errors
    /// 400 that names the field.
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

/// Checks the files that are to be deleted: some, each once.
///
/// # Errors
/// 400 that names the place.
pub(super) fn check_deletion(ids: &[String], most: usize) -> Result<()> {
    if ids.is_empty() || ids.len() > most {
        return Err(Error::bad_request(format!("body: must hold 1 to {most} file ids, not {}", ids.len())));
    }
    let mut seen = std::collections::HashSet::new();
    for (place, id) in ids.iter().enumerate() {
        check_id_of(&format!("body: [{place}]"), id).map_err(Error::bad_request)?;
        if !seen.insert(id.as_str()) {
            return Err(Error::bad_request(format!("body: [{place}]: stands in it twice")));
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

/// Refuses a file that is larger than one may be (decisions 9.9).
pub(super) fn check_limit(bytes: i64, most: u64) -> Result<()> {
    if u64::try_from(bytes).is_ok_and(|bytes| bytes <= most) {
        return Ok(());
    }
    Err(general(format!("fileSize: a file has at most {most} bytes, not {bytes}")))
}

/// The name that a file is to have.
///
/// # Errors
/// 430005 where it is too long, else a general failure.
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

/// A business failure that the message alone tells.
pub(super) fn general(message: impl Into<String>) -> Error {
    Error::business(BusinessCode::General, message)
}

/// Where a content is to be sent (specification, "`UploadSignResult`").
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UploadSign {
    /// The address.
    pub url: String,
    /// The HTTP method.
    pub method: &'static str,
    /// Headers to send; null where none need be.
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
