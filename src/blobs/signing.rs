//! Signed URLs of the embedded store, usable by any holder.

use aws_lc_rs::hmac;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::Deserialize;
use url::form_urlencoded;

use super::{Download, Expected};
use crate::error::{Error, Result};

/// Upload path; the upload's id and the part's number follow.
pub const UPLOADS: &str = "/storage/uploads";

/// Download path; the file's id and its version follow.
pub const FILES: &str = "/storage/files";

/// Signs and verifies URLs.
#[derive(Clone, Debug)]
pub struct Signer(hmac::Key);

/// Query of an upload URL; missing fields are empty.
#[derive(Clone, Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct UploadQuery {
    /// Maximum size in bytes
    size: String,
    /// Expiry, epoch seconds
    expires: String,
    /// Signature of the address
    signature: String,
}

/// Query of a download URL.
#[derive(Clone, Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct DownloadQuery {
    /// User the address was made for
    user: String,
    /// Expiry, epoch seconds
    expires: String,
    /// Signature of the address
    signature: String,
}

/// A part that a verified URL admits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedPart {
    /// The upload.
    pub upload_id: String,
    /// The part's number.
    pub part_number: u32,
    /// Maximum size.
    pub most_bytes: u64,
}

/// A content that a verified URL grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedFile {
    /// The file.
    pub file_id: String,
    /// The version.
    pub version: i64,
    /// The user id of the URL's requester.
    pub user_id: String,
}

impl Signer {
    /// Signs with this key.
    pub fn new(key: hmac::Key) -> Self {
        Self(key)
    }

    /// Path and query of an upload URL.
    pub fn sign_upload(&self, expected: Expected<'_>) -> String {
        let path = format!("{UPLOADS}/{}/{}", expected.upload_id, expected.part_number);
        let (size, expires) = (expected.most_bytes.to_string(), expected.expires_at.to_string());
        let signature = self.sign(&["PUT", &path, &size, &expires]);
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs([("size", &size), ("expires", &expires), ("signature", &signature)])
            .finish();
        format!("{path}?{query}")
    }

    /// Path and query of a download URL.
    pub fn sign_download(&self, download: &Download) -> String {
        let path = format!("{FILES}/{}/{}", download.file_id, download.version);
        let expires = download.expires_at.to_string();
        let signature = self.sign(&["GET", &path, &download.user_id, &expires]);
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs([("user", &download.user_id), ("expires", &expires), ("signature", &signature)])
            .finish();
        format!("{path}?{query}")
    }

    /// Verifies an upload URL at this time, epoch seconds.
    ///
    /// # Errors
    /// 403.
    pub fn check_upload(
        &self,
        upload_id: &str,
        part_number: &str,
        query: &UploadQuery,
        now: i64,
    ) -> Result<SignedPart> {
        let path = format!("{UPLOADS}/{upload_id}/{part_number}");
        self.check(&["PUT", &path, &query.size, &query.expires], &query.signature, &query.expires, now)?;
        Ok(SignedPart {
            upload_id: upload_id.to_owned(),
            part_number: part_number.parse().map_err(|_| refused())?,
            most_bytes: query.size.parse().map_err(|_| refused())?,
        })
    }

    /// Verifies a download URL at this time, epoch seconds.
    ///
    /// # Errors
    /// 403.
    pub fn check_download(
        &self,
        file_id: &str,
        version: &str,
        query: &DownloadQuery,
        now: i64,
    ) -> Result<SignedFile> {
        let path = format!("{FILES}/{file_id}/{version}");
        self.check(&["GET", &path, &query.user, &query.expires], &query.signature, &query.expires, now)?;
        Ok(SignedFile {
            file_id: file_id.to_owned(),
            version: version.parse().map_err(|_| refused())?,
            user_id: query.user.clone(),
        })
    }

    fn sign(&self, pieces: &[&str]) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(hmac::sign(&self.0, &message(pieces)))
    }

    fn check(&self, pieces: &[&str], signature: &str, expires: &str, now: i64) -> Result<()> {
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).map_err(|_| refused())?;
        hmac::verify(&self.0, &message(pieces), &signature).map_err(|_| refused())?;
        // Parsed only after the signature's check.
        let expires_at: i64 = expires.parse().map_err(|_| refused())?;
        if now < expires_at { Ok(()) } else { Err(refused()) }
    }
}

/// Length prefixes make the message unambiguous.
fn message(pieces: &[&str]) -> Vec<u8> {
    let mut message = Vec::new();
    for piece in pieces {
        message.extend_from_slice(&(piece.len() as u64).to_be_bytes());
        message.extend_from_slice(piece.as_bytes());
    }
    message
}

/// 403 without telling a changed URL from an expired one.
fn refused() -> Error {
    Error::forbidden("this address is invalid or expired; ask for a new one")
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::hmac::{HMAC_SHA256, Key};
    use proptest::prelude::*;
    use url::Url;

    use super::*;

    fn signer(key: u8) -> Signer {
        Signer::new(Key::new(HMAC_SHA256, &[key; 32]))
    }

    fn download(user_id: &str) -> Download {
        Download {
            file_id: "f".to_owned(),
            version: 3,
            name: "a.txt".to_owned(),
            user_id: user_id.to_owned(),
            tenant_id: 1,
            store_key: String::new(),
            expires_at: 100,
        }
    }

    fn taken_apart<T: serde::de::DeserializeOwned>(address: &str) -> ([String; 2], T) {
        let url = Url::parse("http://t").unwrap().join(address).unwrap();
        let mut segments = url.path_segments().unwrap().skip(2).map(str::to_owned);
        let query = serde_html_form::from_str(url.query().unwrap()).unwrap();
        ([segments.next().unwrap(), segments.next().unwrap()], query)
    }

    fn is_refused<T: std::fmt::Debug>(outcome: Result<T>) -> bool {
        outcome.unwrap_err().message == refused().message
    }

    #[test]
    fn an_address_says_what_it_is_good_for_until_it_expires() {
        let expected = Expected { upload_id: "u-1", part_number: 7, most_bytes: 12, expires_at: 100 };
        let ([upload, number], query) = taken_apart::<UploadQuery>(&signer(1).sign_upload(expected));
        let part = SignedPart { upload_id: "u-1".to_owned(), part_number: 7, most_bytes: 12 };
        assert_eq!(signer(1).check_upload(&upload, &number, &query, 99).unwrap(), part);
        assert!(is_refused(signer(1).check_upload(&upload, &number, &query, 100)));
        assert!(is_refused(signer(2).check_upload(&upload, &number, &query, 99)), "another key");

        let ([file, version], query) =
            taken_apart::<DownloadQuery>(&signer(1).sign_download(&download("m&i=1 é")));
        let signed = SignedFile { file_id: "f".to_owned(), version: 3, user_id: "m&i=1 é".to_owned() };
        assert_eq!(signer(1).check_download(&file, &version, &query, 99).unwrap(), signed);
        assert!(is_refused(signer(1).check_download(&file, &version, &query, 100)));
    }

    /// Equal fields do not make an upload URL a download URL.
    #[test]
    fn the_method_and_the_path_are_signed() {
        let ([file, version], query) =
            taken_apart::<DownloadQuery>(&signer(1).sign_download(&download("12")));
        let DownloadQuery { user, expires, signature } = query;
        let query = UploadQuery { size: user, expires, signature };
        assert!(is_refused(signer(1).check_upload(&file, &version, &query, 0)));
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(500))]

        #[test]
        fn any_changed_piece_of_an_upload_address_fails(
            piece in 0..5_usize, other in "[0-9a-zA-Z_=+-]{0,44}", at in 0..44_usize, flips in any::<bool>(),
        ) {
            let expected = Expected { upload_id: "u-1", part_number: 7, most_bytes: 12, expires_at: 4_000_000_000 };
            let ([upload, number], query) = taken_apart::<UploadQuery>(&signer(1).sign_upload(expected));
            let mut pieces = [upload, number, query.size, query.expires, query.signature];
            let before = pieces.clone();
            pieces[piece] = if flips { changed_at(&pieces[piece], at) } else { other };
            prop_assume!(pieces != before);
            let [upload, number, size, expires, signature] = pieces;
            let query = UploadQuery { size, expires, signature };
            prop_assert!(is_refused(signer(1).check_upload(&upload, &number, &query, 0)));
        }

        #[test]
        fn any_changed_piece_of_a_download_address_fails(
            piece in 0..5_usize, other in "[0-9a-zA-Z_=+-]{0,44}", at in 0..44_usize, flips in any::<bool>(),
        ) {
            let address = signer(1).sign_download(&Download { expires_at: 4_000_000_000, ..download("mei") });
            let ([file, version], query) = taken_apart::<DownloadQuery>(&address);
            let mut pieces = [file, version, query.user, query.expires, query.signature];
            let before = pieces.clone();
            pieces[piece] = if flips { changed_at(&pieces[piece], at) } else { other };
            prop_assume!(pieces != before);
            let [file, version, user, expires, signature] = pieces;
            let query = DownloadQuery { user, expires, signature };
            prop_assert!(is_refused(signer(1).check_download(&file, &version, &query, 0)));
        }
    }

    fn changed_at(text: &str, at: usize) -> String {
        let at = at % text.len();
        let other = if &text[at..=at] == "A" { "B" } else { "A" };
        format!("{}{other}{}", &text[..at], &text[at + 1..])
    }
}
