//! A search as an HTTP request that can be sent again.

use std::fmt::Write as _;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method as HttpMethod, Request};
use serde::Serialize;
use url::{Url, form_urlencoded};

use crate::content_type::CONTRACT_TYPE;
use crate::credentials::SourceCredential;
use crate::settings::Method;

/// Default limit of the contract.
pub(crate) const DEFAULT_LIMIT: usize = 10;

const JSON_IN_UTF8: HeaderValue = HeaderValue::from_static(CONTRACT_TYPE);

/// Parameters of the contract.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct ContractParameters<'p> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keyword: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cursor: Option<&'p str>,
    /// Whether each byte of the keyword is escaped (RFC 3986 §2.4).
    #[serde(skip)]
    pub(crate) escapes_keyword: bool,
}

impl<'p> ContractParameters<'p> {
    pub(crate) fn first_page(keyword: &'p str, limit: usize) -> Self {
        Self { keyword: Some(keyword), limit: Some(limit), ..Self::default() }
    }
}

fn escape_keyword(url: &mut Url, keyword: &str) {
    let plain = form_urlencoded::byte_serialize(keyword.as_bytes()).collect::<String>().replace('+', "%20");
    let mut escaped = String::with_capacity(3 * keyword.len());
    for byte in keyword.bytes() {
        let _ = write!(escaped, "%{byte:02X}");
    }
    let query = url.query().unwrap_or_default();
    let query = query.replacen(&format!("keyword={plain}"), &format!("keyword={escaped}"), 1);
    url.set_query(Some(&query));
}

/// Appends parameters to a query. A space is `%20`, as not every system reads `+` so.
pub(crate) fn append_query(
    url: &mut Url,
    pairs: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
) {
    // A plus of a value is `%2B`, so that each `+` is a space.
    let added =
        form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish().replace('+', "%20");
    if added.is_empty() {
        return;
    }
    let query = match url.query() {
        Some(own) if !own.is_empty() => format!("{own}&{added}"),
        _ => added,
    };
    url.set_query(Some(&query));
}

/// A search request without credentials.
#[derive(Clone, Debug)]
pub(crate) struct SearchRequest {
    pub(crate) method: HttpMethod,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    /// JSON.
    pub(crate) body: Option<Vec<u8>>,
}

impl SearchRequest {
    /// Builds the contract's request; `url` keeps its own query.
    pub(crate) fn for_contract(url: &Url, method: Method, parameters: ContractParameters<'_>) -> Self {
        let mut url = url.clone();
        let (method, body) = match method {
            Method::Get => {
                let ContractParameters { keyword, limit, cursor, escapes_keyword } = parameters;
                let limit = limit.map(|limit| limit.to_string());
                let fields = [("keyword", keyword), ("limit", limit.as_deref()), ("cursor", cursor)];
                let given = fields.into_iter().filter_map(|(name, value)| Some((name, value?)));
                append_query(&mut url, given);
                if escapes_keyword {
                    escape_keyword(&mut url, keyword.unwrap_or_default());
                }
                (HttpMethod::GET, None)
            }
            Method::Post => (HttpMethod::POST, serde_json::to_vec(&parameters).ok()),
        };
        Self { method, url, headers: HeaderMap::new(), body }
    }

    /// Asks for nothing but a response.
    pub(crate) fn head(url: &Url) -> Self {
        Self { method: HttpMethod::HEAD, url: url.clone(), headers: HeaderMap::new(), body: None }
    }

    pub(crate) fn with<'c>(&self, credentials: impl IntoIterator<Item = &'c SourceCredential>) -> Request {
        const JSON: HeaderValue = HeaderValue::from_static("application/json");
        const GZIP: HeaderValue = HeaderValue::from_static("gzip");
        let mut request = Request::new(self.method.clone(), self.url.clone());
        let headers = request.headers_mut();
        headers.clone_from(&self.headers);
        headers.insert(ACCEPT, JSON);
        headers.insert(ACCEPT_ENCODING, GZIP);
        if let Some(body) = &self.body {
            headers.insert(CONTENT_TYPE, JSON_IN_UTF8);
            *request.body_mut() = Some(body.clone().into());
        }
        credentials.into_iter().for_each(|credential| credential.write(&mut request));
        request
    }
}
