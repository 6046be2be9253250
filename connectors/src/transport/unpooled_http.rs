//! Requests over a new connection each.

use std::sync::Arc;

use reqwest::{Client, RequestBuilder, Response};
use url::{Host, Url};

use super::failure::TransportError;
use super::http::guarded;
use super::resolver::{NameLookups, PreresolvedNames, with_addresses};
use super::tls::HttpVersions;
use crate::addresses::AddressRules;
use crate::settings::SettingsError;

/// Sends requests to allowed addresses, each once over a connection of its own.
///
/// A pooled connection could close in use, and leave open whether the request arrived.
#[derive(Clone)]
pub(crate) struct UnpooledHttp {
    rules: AddressRules,
    lookups: NameLookups,
    listed: Client,
    unlisted: Client,
}

impl UnpooledHttp {
    pub(crate) fn new(rules: &AddressRules, lookups: NameLookups) -> Result<Self, SettingsError> {
        let client = |is_listed| {
            guarded(Arc::new(PreresolvedNames), (rules, is_listed), HttpVersions::Http1)?
                .pool_max_idle_per_host(0)
                .retry(reqwest::retry::never())
                .build()
                .map_err(|error| SettingsError::client(&error))
        };
        Ok(Self { rules: rules.clone(), lookups, listed: client(true)?, unlisted: client(false)? })
    }

    pub(crate) fn rules(&self) -> &AddressRules {
        &self.rules
    }

    /// Sends what `request` makes with the address's client; follows no redirect.
    ///
    /// The name lookup holds `permit` until it ends, even if this future is dropped. It must run on a tokio runtime.
    pub(crate) async fn send(
        &self,
        url: &Url,
        permit: impl Send + 'static,
        request: impl FnOnce(&Client) -> RequestBuilder,
    ) -> Result<Response, TransportError> {
        self.rules.check_url(url).map_err(TransportError::Forbidden)?;
        let addresses = match url.host() {
            Some(Host::Domain(name)) => self.lookups.find(name, permit).await?,
            _ => Vec::new(),
        };
        let client = if self.rules.lists(url) { &self.listed } else { &self.unlisted };
        Ok(with_addresses(addresses, request(client).send()).await?)
    }
}
