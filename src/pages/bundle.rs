//! The pages' files, hashed and compressed.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use aws_lc_rs::digest::{Context, SHA256};
use axum::http::{HeaderMap, header};
use brotli::{CompressorWriter, enc::BrotliEncoderParams};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use minijinja::{Environment, Value, context};
use rust_embed::RustEmbed;
use tokio::sync::OnceCell;

use crate::error::{Error, Result};

/// A script and a style sheet for each page, made by `npm run bundle --prefix src/pages/bundler`.
#[derive(RustEmbed)]
#[folder = "src/pages/bundled"]
struct Bundled;

/// Plain modules, read by debug builds.
///
/// Single ones for tests, all where `TRAWL_UNBUNDLED` is set.
#[cfg(debug_assertions)]
#[derive(RustEmbed)]
#[folder = "src/pages/assets"]
struct Sources;

/// Pages are templates outside the asset path.
const PAGE: &str = ".html";

const HASH_BYTES: usize = 8;

/// Brotli quality; 10 takes several times longer for 1 %.
const BROTLI_QUALITY: i32 = 9;

static BUNDLE: OnceCell<Result<Bundle, String>> = OnceCell::const_new();

pub(super) struct Bundle {
    hash: String,
    assets: BTreeMap<String, Encoded>,
    pages: BTreeMap<String, Encoded>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Brotli,
    Gzip,
    Identity,
}

pub(super) struct Encoded {
    pub(super) content_type: &'static str,
    hash: String,
    brotli: Bytes,
    gzip: Bytes,
    identity: Bytes,
}

impl Bundle {
    pub(super) async fn get() -> Result<&'static Self> {
        let make = async || {
            let made = tokio::task::spawn_blocking(Self::make).await.map_err(|error| error.to_string())?;
            made.map_err(|error| error.to_string())
        };
        BUNDLE.get_or_init(make).await.as_ref().map_err(|reason| Error::internal(reason.as_str()))
    }

    pub(super) fn hash(&self) -> &str {
        &self.hash
    }

    pub(super) fn asset(&self, path: &str) -> Option<&Encoded> {
        self.assets.get(path)
    }

    pub(super) fn page(&self, name: &str) -> Option<&Encoded> {
        self.pages.get(name)
    }

    fn make() -> Result<Self, io::Error> {
        let mut hash = Context::new(&SHA256);
        let mut templates = Environment::new();
        let (mut assets, mut pages) = (BTreeMap::new(), BTreeMap::new());
        for (name, data) in files() {
            if name.ends_with(PAGE) {
                let text = String::from_utf8(data).map_err(io::Error::other)?;
                templates.add_template_owned(name, text).map_err(io::Error::other)?;
                continue;
            }
            for part in [name.as_bytes(), &[0], &data, &[0]] {
                hash.update(part);
            }
            assets.insert(name.clone(), Encoded::make(&name, data)?);
        }
        let hash = hex::encode(&hash.finish().as_ref()[..HASH_BYTES]);
        // A proxy may add a path prefix.
        let address = Value::from_safe_string(format!("assets/{hash}"));
        for (name, template) in templates.templates() {
            let text = template.render(context! { assets => &address }).map_err(io::Error::other)?;
            pages.insert(name.to_owned(), Encoded::make(name, text.into_bytes())?);
        }
        Ok(Self { hash, assets, pages })
    }
}

/// Contents of the files by name.
fn files() -> BTreeMap<String, Vec<u8>> {
    #[cfg_attr(not(debug_assertions), expect(unused_mut, reason = "a debug build adds plain modules"))]
    let mut files = read::<Bundled>();
    #[cfg(debug_assertions)]
    {
        let is_unbundled = std::env::var_os("TRAWL_UNBUNDLED").is_some();
        for (name, data) in read::<Sources>() {
            if is_unbundled || !files.contains_key(&name) {
                files.insert(name, data);
            }
        }
    }
    files
}

fn read<F: RustEmbed>() -> BTreeMap<String, Vec<u8>> {
    F::iter()
        .filter_map(|name| F::get(&name).map(|file| (name.into_owned(), file.data.into_owned())))
        .collect()
}

impl Encoded {
    fn make(name: &str, bytes: Vec<u8>) -> io::Result<Self> {
        let content_type = match name.rsplit_once('.').map(|(_, extension)| extension) {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some("png") => "image/png",
            _ => return Err(io::Error::other(format!("{name}: has an unknown media type"))),
        };
        let mut hash = Context::new(&SHA256);
        hash.update(&bytes);
        let hash = hex::encode(&hash.finish().as_ref()[..HASH_BYTES]);
        let parameters = BrotliEncoderParams { quality: BROTLI_QUALITY, ..Default::default() };
        let mut brotli = CompressorWriter::with_params(Vec::new(), bytes.len().max(1), &parameters);
        brotli.write_all(&bytes)?;
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(&bytes)?;
        let (brotli, gzip) = (brotli.into_inner().into(), gzip.finish()?.into());
        Ok(Self { content_type, hash, brotli, gzip, identity: bytes.into() })
    }

    pub(super) fn bytes(&self, encoding: Encoding) -> Bytes {
        match encoding {
            Encoding::Brotli => self.brotli.clone(),
            Encoding::Gzip => self.gzip.clone(),
            Encoding::Identity => self.identity.clone(),
        }
    }

    pub(super) fn tag(&self, encoding: Encoding) -> String {
        format!("\"{}-{}\"", self.hash, encoding.name().unwrap_or("plain"))
    }
}

impl Encoding {
    pub(super) fn accepted(headers: &HeaderMap) -> Self {
        let lines = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
        let accepted: Vec<&str> = lines.flat_map(|line| line.split(',')).filter_map(wanted).collect();
        let takes = |name: &str| accepted.iter().any(|known| known.eq_ignore_ascii_case(name));
        match () {
            () if takes("br") => Self::Brotli,
            () if takes("gzip") => Self::Gzip,
            () => Self::Identity,
        }
    }

    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Self::Brotli => Some("br"),
            Self::Gzip => Some("gzip"),
            Self::Identity => None,
        }
    }
}

fn wanted(element: &str) -> Option<&str> {
    let (name, parameters) = element.split_once(';').unwrap_or((element, ""));
    let weight = parameters.trim().strip_prefix("q=").map(|weight| weight.trim().parse::<f32>());
    match weight {
        Some(Ok(weight)) if weight <= 0.0 => None,
        Some(Err(_)) => None,
        _ => Some(name.trim()),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn the_smallest_form_that_is_taken_is_sent() {
        let accepted = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(text));
            Encoding::accepted(&headers)
        };
        assert_eq!(accepted("gzip, deflate, br, zstd"), Encoding::Brotli);
        assert_eq!(accepted("GZIP;q=0.5"), Encoding::Gzip);
        assert_eq!(accepted("br;q=0, gzip"), Encoding::Gzip);
        assert_eq!(accepted("br;q=0.0,gzip;q=0"), Encoding::Identity);
        assert_eq!(accepted("br;q=x"), Encoding::Identity);
        assert_eq!(accepted("identity"), Encoding::Identity);
        assert_eq!(Encoding::accepted(&HeaderMap::new()), Encoding::Identity);
    }

    #[tokio::test]
    async fn the_bundle_is_made_once() {
        use futures::FutureExt;

        let made: *const Bundle = Bundle::get().await.unwrap();
        let again = Bundle::get().now_or_never().expect("it is waited for").unwrap();
        assert!(std::ptr::eq(made, again));
    }

    #[test]
    fn every_encoding_is_of_the_same_bytes() {
        let bytes = b"const a = 1;\n".repeat(100);
        let file = Encoded::make("a.js", bytes.clone()).unwrap();
        let mut inflated = Vec::new();
        brotli::BrotliDecompress(&mut &file.brotli[..], &mut inflated).unwrap();
        assert_eq!(inflated, bytes);
        let mut inflated = Vec::new();
        io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&file.gzip[..]), &mut inflated).unwrap();
        assert_eq!(inflated, bytes);
        assert!(file.brotli.len() < bytes.len() && file.gzip.len() < bytes.len());
        assert_ne!(file.tag(Encoding::Brotli), file.tag(Encoding::Gzip));
    }
}
