//! HTTP client of one endpoint.

use std::sync::{Arc, OnceLock};

use reqwest::dns::Resolve;
use reqwest::header::{HeaderValue, LOCATION};
use reqwest::{Client, ClientBuilder, Method, Request, RequestBuilder, Response, StatusCode, redirect};
use url::Url;

use super::endpoint::Endpoint;
use super::failure::{TransportError, broke_before_answer};
use super::resolver::{GuardedResolver, SystemResolver};
use super::tls::{self, HttpVersions};
use crate::addresses::AddressRules;
use crate::settings::SettingsError;

/// Successive redirects that are followed (clause `redirect` of the contract).
const MAX_REDIRECTS: usize = 3;
const SHOWN_TARGET_CHARACTERS: usize = 100;

pub(crate) struct Http {
    client: Client,
    /// Opens a connection for each request. Made when an idle one broke.
    unpooled: OnceLock<Client>,
    url: Url,
    rules: AddressRules,
    names: Arc<dyn Resolve>,
}

/// Connects to allowed addresses only. The caller checks the text of the address.
pub(super) fn guarded(
    names: Arc<dyn Resolve>,
    (rules, is_listed): (&AddressRules, bool),
    versions: HttpVersions,
) -> Result<ClientBuilder, SettingsError> {
    let tls = tls::config(versions).map_err(|error| SettingsError::client(&error))?;
    let builder = Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("trawl/", env!("CARGO_PKG_VERSION")))
        // `Http::send` follows them.
        .redirect(redirect::Policy::none())
        // A proxy would resolve names without the guard.
        .no_proxy()
        .dns_resolver(GuardedResolver::new(names, rules, is_listed))
        // `body` bounds them before and after inflating.
        .no_gzip();
    Ok(match versions {
        HttpVersions::All => builder,
        HttpVersions::Http1 => builder.http1_only(),
    })
}

fn pooled(
    names: Arc<dyn Resolve>,
    rules: (&AddressRules, bool),
    max_idle: usize,
) -> Result<Client, SettingsError> {
    guarded(names, rules, HttpVersions::All)?
        .pool_max_idle_per_host(max_idle)
        .build()
        .map_err(|error| SettingsError::client(&error))
}

impl Http {
    /// Pools `max_idle` connections.
    pub(crate) fn new(
        endpoint: Endpoint,
        url: &Url,
        rules: &AddressRules,
        max_idle: usize,
    ) -> Result<Self, SettingsError> {
        Self::with_resolver(endpoint, url, rules, max_idle, Arc::new(SystemResolver))
    }

    pub(super) fn with_resolver(
        endpoint: Endpoint,
        url: &Url,
        rules: &AddressRules,
        max_idle: usize,
        names: Arc<dyn Resolve>,
    ) -> Result<Self, SettingsError> {
        rules
            .check_url(url)
            .map_err(|refusal| SettingsError::Address { setting: endpoint.setting, refusal })?;
        let client = pooled(Arc::clone(&names), (rules, rules.lists(url)), max_idle)?;
        Ok(Self { client, unpooled: OnceLock::new(), url: url.clone(), rules: rules.clone(), names })
    }

    pub(crate) fn request(&self, method: Method) -> RequestBuilder {
        self.client.request(method, self.url.clone())
    }

    /// Sends a request that `make` builds and that is safe to repeat.
    ///
    /// Redirects within the origin get method, headers and body again. A request on a connection that breaks is sent twice, the second time
    /// on a new one: servers close idle connections at any moment, and many at once.
    pub(crate) async fn send(
        &self,
        make: impl Fn() -> Result<Request, TransportError>,
    ) -> Result<Response, TransportError> {
        let mut target = None;
        for _ in 0..=MAX_REDIRECTS {
            let response = self.exchange(&make, target.as_ref()).await?;
            if !is_redirect(response.status()) {
                return Ok(response);
            }
            target = Some(self.read_target(&response)?);
        }
        Err(TransportError::Redirect(format!("there were more than {MAX_REDIRECTS} in a row")))
    }

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
            // The guard knows this host only.
            if is_same_origin(request.url(), &self.url) {
                Ok(request)
            } else {
                Err(TransportError::Unsendable)
            }
        };
        let mut outcome = self.client.execute(make()?).await;
        if outcome.as_ref().is_err_and(broke_before_answer) {
            outcome = self.unpooled()?.execute(make()?).await;
        }
        Ok(outcome?)
    }

    fn unpooled(&self) -> Result<&Client, TransportError> {
        if self.unpooled.get().is_none() {
            let client = pooled(Arc::clone(&self.names), (&self.rules, self.rules.lists(&self.url)), 0);
            // Another request may have made one meanwhile.
            let _kept = self.unpooled.set(client.map_err(|_| TransportError::Broken)?);
        }
        self.unpooled.get().ok_or(TransportError::Broken)
    }

    fn read_target(&self, response: &Response) -> Result<Url, TransportError> {
        let location = response.headers().get(LOCATION);
        find_target(&self.rules, response.url(), location)
            .map_err(|what| TransportError::Redirect(format!("HTTP {} {what}", response.status().as_u16())))
    }
}

fn is_same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host() == other.host()
        && one.port_or_known_default() == other.port_or_known_default()
}

/// A search is safe, so every kind keeps the method.
fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

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

/// The rest may hold secrets.
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
