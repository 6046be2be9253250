//! One endpoint's HTTP client: connections to allowed addresses only, and redirects that stay where they are.

use std::sync::Arc;

use reqwest::dns::Resolve;
use reqwest::header::{HeaderValue, LOCATION};
use reqwest::{Client, ClientBuilder, Method, Request, RequestBuilder, Response, StatusCode, redirect};
use url::Url;

use super::failure::broke_before_answer;
use super::names::{GuardedNames, SystemNames};
use super::{Endpoint, TransportError};
use crate::addresses::AddressRules;
use crate::settings::SettingsError;

/// How many redirects are followed one after another (decisions 7.4).
const MOST_REDIRECTS: usize = 3;
/// How much of a redirect's target is shown, in characters; a host's name may be of any length.
const SHOWN_TARGET_CHARACTERS: usize = 100;

/// The connections to one endpoint, and the rules that they keep.
pub(crate) struct Http {
    client: Client,
    url: Url,
    rules: AddressRules,
}

/// A client that connects to allowed addresses only; `is_listed` tells whether the operator lists the hosts that it is
/// used for. The text of an address is not its to check.
pub(crate) fn guarded(names: Arc<dyn Resolve>, is_listed: bool) -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("trawl/", env!("CARGO_PKG_VERSION")))
        // Ours go through the rules.
        .redirect(redirect::Policy::none())
        // No proxy from the environment: the addresses that are called are the ones that were allowed.
        .no_proxy()
        .dns_resolver(GuardedNames::new(names, is_listed))
        // Bodies are bounded before and after they are inflated, which is done here.
        .no_gzip()
}

impl Http {
    /// Connections to `url` as far as `rules` allow it, of which `max_idle` are kept for further requests.
    ///
    /// # Errors
    /// An address that may not be called, and an HTTP client that cannot be set up here.
    pub(crate) fn new(
        endpoint: Endpoint,
        url: &Url,
        rules: &AddressRules,
        max_idle: usize,
    ) -> Result<Self, SettingsError> {
        Self::with_names(endpoint, url, rules, max_idle, Arc::new(SystemNames))
    }

    /// The same with another resolver behind the guard.
    pub(super) fn with_names(
        endpoint: Endpoint,
        url: &Url,
        rules: &AddressRules,
        max_idle: usize,
        names: Arc<dyn Resolve>,
    ) -> Result<Self, SettingsError> {
        rules
            .check_url(url)
            .map_err(|refusal| SettingsError::Address { setting: endpoint.setting, refusal })?;
        let client = guarded(names, rules.lists(url))
            .pool_max_idle_per_host(max_idle)
            .build()
            .map_err(|error| SettingsError::Client(error.without_url().to_string()))?;
        Ok(Self { client, url: url.clone(), rules: rules.clone() })
    }

    /// A request to the endpoint's address, to be completed, built and sent.
    pub(crate) fn request(&self, method: Method) -> RequestBuilder {
        self.client.request(method, self.url.clone())
    }

    /// Sends the request that `make` makes, which must be one to the endpoint and safe to repeat: redirects within scheme,
    /// host and port are followed with method, headers and body, and what was sent over a connection that broke is sent
    /// once more.
    ///
    /// # Errors
    /// Every [`TransportError`] but those of a body.
    pub(crate) async fn send(
        &self,
        make: impl Fn() -> Result<Request, TransportError>,
    ) -> Result<Response, TransportError> {
        let mut target = None;
        for _ in 0..=MOST_REDIRECTS {
            let response = self.exchange(&make, target.as_ref()).await?;
            if !is_redirect(response.status()) {
                return Ok(response);
            }
            target = Some(self.read_target(&response)?);
        }
        Err(TransportError::Redirect(format!("there were more than {MOST_REDIRECTS} one after another")))
    }

    /// One request, and once more when a connection broke that may have been kept from an earlier one.
    async fn exchange(
        &self,
        make: impl Fn() -> Result<Request, TransportError>,
        target: Option<&Url>,
    ) -> Result<Response, TransportError> {
        let make = || {
            let mut request = make()?;
            if let Some(target) = target {
                request.url_mut().clone_from(target);
            }
            // The guard knows one host only, so no other is asked.
            if is_same_origin(request.url(), &self.url) {
                Ok(request)
            } else {
                Err(TransportError::Unsendable)
            }
        };
        let mut outcome = self.client.execute(make()?).await;
        if outcome.as_ref().is_err_and(broke_before_answer) {
            outcome = self.client.execute(make()?).await;
        }
        Ok(outcome?)
    }

    fn read_target(&self, response: &Response) -> Result<Url, TransportError> {
        let location = response.headers().get(LOCATION);
        find_target(&self.rules, response.url(), location)
            .map_err(|what| TransportError::Redirect(format!("HTTP {} {what}", response.status().as_u16())))
    }
}

/// Whether two addresses have the same scheme, host and port.
fn is_same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host() == other.host()
        && one.port_or_known_default() == other.port_or_known_default()
}

/// Whether a status asks to go elsewhere. A search changes nothing, so what the five say of the method does
/// not matter.
fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Where a redirect from `from` leads, or what is wrong with it.
pub(super) fn find_target(
    rules: &AddressRules,
    from: &Url,
    location: Option<&HeaderValue>,
) -> Result<Url, String> {
    let target = location
        .and_then(|location| std::str::from_utf8(location.as_bytes()).ok())
        .and_then(|location| from.join(location).ok())
        .ok_or("without a readable Location")?;
    if !is_same_origin(&target, from) {
        return Err(format!("to {}, which is not its own scheme, host and port", show_origin(&target)));
    }
    match rules.check_url(&target) {
        Ok(()) => Ok(target),
        Err(refusal) => Err(format!("to an address that {refusal}")),
    }
}

/// Scheme, host and port: the rest may hold what is nobody's business.
fn show_origin(url: &Url) -> String {
    let scheme = url.scheme();
    let host = url.host_str().filter(|host| !host.is_empty());
    let shown = match (host, url.port()) {
        (None, _) => format!("a {scheme}: address"),
        (Some(host), None) => format!("{scheme}://{host}"),
        (Some(host), Some(port)) => format!("{scheme}://{host}:{port}"),
    };
    shown.chars().filter(|character| !character.is_control()).take(SHOWN_TARGET_CHARACTERS).collect()
}
