//! Avatars: addresses, or images recognised by content.

use std::{
    borrow::Cow,
    io::{self, Read},
};

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine, prelude::BASE64_STANDARD};
use flate2::read::MultiGzDecoder;
use secrecy::ExposeSecret;
use serde::Deserialize;
use url::Url;

use crate::{
    auth::secrets,
    json,
    platform::shared::patch::{FieldValue, TextRule},
};

/// Path prefix of stored pictures.
pub const PATH: &str = "/storage/pictures/";

const ADDRESS_BYTES: usize = 2_048;
const FILE_NAME_BYTES: usize = 255;

/// Avatar to write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PictureParam {
    /// At most 255 bytes; ignored for the image type.
    pub file_name: Option<String>,
    /// http(s) address, at most 2,048 bytes, or base64 of a gzipped image. Images are PNG, JPEG, GIF or WebP; empty text
    /// removes the avatar.
    pub data: Option<String>,
    /// 1: address; 2: content.
    #[serde(rename = "type")]
    pub kind: Option<i64>,
}

impl FieldValue for PictureParam {
    fn expected() -> Cow<'static, str> {
        "an object {fileName, data, type}: two texts and an integer".into()
    }

    fn from_json(json: &str) -> Option<Self> {
        json::read_object(json.as_bytes()).ok()
    }
}

/// Avatar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Picture {
    /// No avatar.
    None,
    /// External address.
    Address(String),
    /// Uploaded image.
    Content(PictureContent),
}

/// Uploaded image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureContent {
    /// Unguessable part of the address.
    pub id: String,
    /// Recognised image type.
    pub content_type: &'static str,
    /// Bytes.
    pub content: Vec<u8>,
    /// SHA-256 of the bytes.
    pub digest: Vec<u8>,
}

impl PictureContent {
    /// Address without host.
    pub fn path(&self) -> String {
        format!("{PATH}{}", self.id)
    }
}

impl PictureParam {
    /// New avatar; `None`: no change.
    pub fn read(&self, most_bytes: usize) -> Result<Option<Picture>, String> {
        if let Some(name) = &self.file_name {
            TextRule::Line(FILE_NAME_BYTES).check("pictureParam.fileName", name)?;
        }
        let Some(data) = &self.data else { return Ok(None) };
        if data.is_empty() {
            return Ok(Some(Picture::None));
        }
        match self.kind {
            Some(1) => address(data).map(Picture::Address).map(Some),
            Some(2) => content(data, most_bytes).map(Picture::Content).map(Some),
            _ => Err("pictureParam.type: must be 1 (data is an address) or 2 (data is content)".to_owned()),
        }
    }
}

fn address(data: &str) -> Result<String, String> {
    let wrong = || {
        format!(
            "pictureParam.data: must be an http or https address without credentials, at most {ADDRESS_BYTES} bytes"
        )
    };
    if data.len() > ADDRESS_BYTES {
        return Err(wrong());
    }
    let url = Url::parse(data).map_err(|_| wrong())?;
    let is_fit = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none();
    // Normalised URLs contain no markup.
    Some(String::from(url)).filter(|text| is_fit && text.len() <= ADDRESS_BYTES).ok_or_else(wrong)
}

fn content(data: &str, most_bytes: usize) -> Result<PictureContent, String> {
    let wrong = || "pictureParam.data: must be base64 of gzip-compressed content".to_owned();
    let packed = BASE64_STANDARD.decode(data).map_err(|_| wrong())?;
    let content = read_at_most(MultiGzDecoder::new(packed.as_slice()), most_bytes).map_err(|_| wrong())?;
    let content = content
        .ok_or_else(|| format!("pictureParam.data: the picture must be at most {most_bytes} bytes"))?;
    let content_type = content_type(&content)
        .ok_or("pictureParam.data: must be a PNG, JPEG, GIF or WebP picture, whatever its name")?;
    let id = secrets::generate().map_err(|_| "pictureParam: could not be saved; try again")?;
    let digest = digest(&SHA256, &content).as_ref().to_vec();
    Ok(PictureContent { id: id.expose_secret().to_owned(), content_type, content, digest })
}

/// `None` if longer; reads at most one extra byte.
fn read_at_most(source: impl Read, most_bytes: usize) -> io::Result<Option<Vec<u8>>> {
    let mut content = Vec::new();
    let most = u64::try_from(most_bytes).unwrap_or(u64::MAX);
    source.take(most.saturating_add(1)).read_to_end(&mut content)?;
    Ok(Some(content).filter(|content| content.len() <= most_bytes))
}

/// Recognises a picture by magic bytes; no type that browsers execute.
fn content_type(content: &[u8]) -> Option<&'static str> {
    match content {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Avatar address; `public_url` prefixes stored ones.
pub fn public_address(public_url: &str, picture: &str) -> String {
    if picture.starts_with(PATH) { format!("{public_url}{picture}") } else { picture.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\nthe rest";

    fn packed(content: &[u8]) -> String {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content).unwrap();
        BASE64_STANDARD.encode(encoder.finish().unwrap())
    }

    fn read(data: &str, kind: i64) -> Result<Option<Picture>, String> {
        let parameter = PictureParam { file_name: None, data: Some(data.to_owned()), kind: Some(kind) };
        parameter.read(1_000)
    }

    #[test]
    fn image_type_follows_content() {
        for (content, expected) in [
            (PNG, "image/png"),
            (b"\xff\xd8\xff\xe0 rest", "image/jpeg"),
            (b"GIF89a rest", "image/gif"),
            (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        ] {
            let Ok(Some(Picture::Content(picture))) = read(&packed(content), 2) else {
                panic!("{expected} was refused")
            };
            assert_eq!((picture.content_type, picture.content.as_slice()), (expected, content));
            assert_eq!(picture.id.len(), 43);
        }
        for other in [&b"<svg xmlns='http://www.w3.org/2000/svg'/>"[..], b"<html>", b"", b"RIFF\0\0\0\0WAVE"]
        {
            assert!(read(&packed(other), 2).unwrap_err().contains("PNG"), "{other:?}");
        }
    }

    #[test]
    fn oversized_content_is_refused_while_inflating() {
        assert_eq!(read_at_most(io::repeat(0), 1_000).unwrap(), None);
        let bomb = packed(&[PNG, &vec![0; 50 << 20]].concat());
        assert!(read(&bomb, 2).unwrap_err().contains("at most 1000 bytes"));
        assert!(read(&packed(&[PNG, &[0; 984]].concat()), 2).is_ok());
        for broken in ["not base64!", &BASE64_STANDARD.encode(PNG), &packed(PNG)[..20]] {
            assert!(read(broken, 2).unwrap_err().contains("gzip"), "{broken}");
        }
    }

    #[test]
    fn only_stored_pictures_get_public_url() {
        assert_eq!(public_address("https://t", "/storage/pictures/a"), "https://t/storage/pictures/a");
        assert_eq!(public_address("https://t", "https://x/y"), "https://x/y");
    }
}
