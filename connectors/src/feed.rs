//! Conditional requests for feeds (RFC 9110 §13), one connection each.

use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE,
    IF_NONE_MATCH, LAST_MODIFIED, LOCATION,
};
use reqwest::{Response, StatusCode};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::addresses::AddressRules;
use crate::content_type::ContentType;
use crate::error::SourceError;
use crate::settings::SettingsError;
use crate::transport::{Endpoint, NameLookups, TransportError, UnpooledHttp, inflate_file, read_body};

const FEED: Endpoint = Endpoint { name: "the feed", setting: "url" };
/// Includes abandoned ones.
const MAX_LOOKUPS: usize = 32;
/// Longer validators are not sent back.
const MAX_VALIDATOR_BYTES: usize = 1 << 10;
const MEDIA_TYPES: &str = "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, \
                           application/json;q=0.9, */*;q=0.1";

/// The validators of a feed's last document, as its server sent them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Validators {
    /// The `ETag`.
    pub etag: Option<String>,
    /// The `Last-Modified`.
    pub last_modified: Option<String>,
}

/// The answer to one request for a feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedAnswer {
    /// A document.
    Document {
        /// Its bytes.
        bytes: Vec<u8>,
        /// The `charset` of its content type.
        charset: Option<String>,
        /// Its validators.
        validators: Validators,
    },
    /// HTTP 304.
    Unchanged,
    /// A redirect to an address that may be called.
    Moved(Url),
    /// HTTP 410.
    Gone,
}

/// Requests feeds.
#[derive(Clone)]
pub struct FeedClient(UnpooledHttp);

impl FeedClient {
    /// Calls what `rules` allow. Fails without an HTTP client on this machine.
    pub fn new(rules: &AddressRules) -> Result<Self, SettingsError> {
        Ok(Self(UnpooledHttp::new(rules, NameLookups::new(MAX_LOOKUPS))?))
    }

    /// Requests a feed unless it is as `validators` say; follows no redirect.
    ///
    /// The body has at most `max_bytes`, received and inflated. There is no time limit. It must run on a tokio runtime.
    ///
    /// # Errors
    /// See [`SourceError`].
    pub async fn fetch(
        &self,
        url: &Url,
        validators: &Validators,
        max_bytes: usize,
    ) -> Result<FeedAnswer, SourceError> {
        let failed = |error: TransportError| error.into_source_error(FEED);
        let exchange = self.0.send(url, (), |client| {
            client
                .get(url.clone())
                .header(ACCEPT, MEDIA_TYPES)
                .header(ACCEPT_ENCODING, "gzip")
                .headers(conditions(validators))
        });
        let response = exchange.await.map_err(failed)?;
        match response.status() {
            StatusCode::OK => {
                let (charset, validators) =
                    (read_charset(response.headers()), read_validators(response.headers()));
                let bytes = read_body(response, max_bytes).await;
                let bytes = bytes.and_then(|bytes| inflate_file(bytes, max_bytes)).map_err(failed)?;
                Ok(FeedAnswer::Document { bytes, charset, validators })
            }
            StatusCode::NOT_MODIFIED => Ok(FeedAnswer::Unchanged),
            StatusCode::GONE => Ok(FeedAnswer::Gone),
            StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT => self.read_target(url, &response),
            // A feed has no credentials to check.
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                Err(SourceError::Failed(format!("the feed answered with HTTP {}", status.as_u16())))
            }
            status => Err(FEED.describe_status(status, response.headers())),
        }
    }

    fn read_target(&self, url: &Url, response: &Response) -> Result<FeedAnswer, SourceError> {
        let refused = |why: String| {
            SourceError::Invalid(format!("the feed answered with a redirect that is not followed: {why}"))
        };
        let target = response
            .headers()
            .get(LOCATION)
            .and_then(|location| std::str::from_utf8(location.as_bytes()).ok())
            .and_then(|location| url.join(location).ok())
            .ok_or_else(|| refused("it has no readable Location".to_owned()))?;
        match self.0.rules().check_url(&target) {
            Ok(()) => Ok(FeedAnswer::Moved(target)),
            Err(refusal) => Err(refused(format!("its address {refusal}"))),
        }
    }
}

fn read_charset(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    ContentType::read(value).charset.map(str::to_owned)
}

fn read_validators(headers: &HeaderMap) -> Validators {
    let text = |name: HeaderName| {
        let value = headers.get(name)?.to_str().ok()?;
        (value.len() <= MAX_VALIDATOR_BYTES).then(|| value.to_owned())
    };
    Validators { etag: text(ETAG), last_modified: text(LAST_MODIFIED) }
}

fn conditions(Validators { etag, last_modified }: &Validators) -> HeaderMap {
    let given = [(IF_NONE_MATCH, etag), (IF_MODIFIED_SINCE, last_modified)];
    let values = given.into_iter().filter_map(|(name, text)| Some((name, text.as_deref()?.parse().ok()?)));
    values.collect::<HeaderMap<HeaderValue>>()
}
