//! Callbacks, each sent once over its own connection.

use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use tokio::time::timeout;
use url::Url;

use crate::addresses::AddressRules;
use crate::error::SourceError;
use crate::settings::SettingsError;
use crate::transport::{Endpoint, NameLookups, TransportError, UnpooledHttp};

const CALLBACK: Endpoint = Endpoint { name: "the callback", setting: "the address of the callback" };
/// Includes abandoned ones.
const MAX_LOOKUPS: usize = 128;

/// Failure of a callback, safe to show.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallbackError {
    /// No response in time.
    #[error("the callback did not answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// A status outside of 2xx.
    #[error("the callback answered with HTTP {0}")]
    Status(u16),
    /// A redirect, not followed, as the call must happen once.
    #[error("the callback answered with a redirect (HTTP {0}), which is not followed")]
    Redirect(u16),
    /// No connection, or no HTTP on it.
    ///
    /// Callers choose the address, and must not learn of the network.
    #[error("the callback cannot be reached, or does not answer in HTTP")]
    Unreachable(String),
    /// A refused address.
    #[error("{0}")]
    Failed(String),
}

impl CallbackError {
    /// The cause of the failure, for operators alone.
    pub fn cause(&self) -> String {
        match self {
            Self::Unreachable(cause) => cause.clone(),
            other => other.to_string(),
        }
    }

    fn of(error: TransportError, within: Duration) -> Self {
        match error.into_source_error(CALLBACK) {
            SourceError::Timeout => Self::Timeout(within),
            refused @ SourceError::Forbidden(_) => Self::Failed(refused.to_string()),
            other => Self::Unreachable(other.to_string()),
        }
    }
}

/// Callback client.
#[derive(Clone)]
pub struct CallbackClient(UnpooledHttp);

impl CallbackClient {
    /// Calls what `rules` allow. Fails without an HTTP client on this machine.
    pub fn new(rules: &AddressRules) -> Result<Self, SettingsError> {
        Self::with_lookups(rules, NameLookups::new(MAX_LOOKUPS))
    }

    fn with_lookups(rules: &AddressRules, lookups: NameLookups) -> Result<Self, SettingsError> {
        Ok(Self(UnpooledHttp::new(rules, lookups)?))
    }

    /// Posts JSON. Success is a 2xx `within` the time, name lookup included.
    ///
    /// The lookup holds `permit` until it ends, even if the call is late or dropped. It must run on a tokio runtime.
    ///
    /// # Errors
    /// See [`CallbackError`]. The call may have arrived, except after a refused address.
    pub async fn post(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: Vec<u8>,
        within: Duration,
        permit: impl Send + 'static,
    ) -> Result<(), CallbackError> {
        let json = HeaderValue::from_static("application/json;charset=UTF-8");
        let exchange = self.0.send(url, permit, |client| {
            client.post(url.clone()).headers(headers).header(CONTENT_TYPE, json).body(body)
        });
        let response = timeout(within, exchange).await.unwrap_or(Err(TransportError::Timeout));
        judge(response.map_err(|error| CallbackError::of(error, within))?.status())
    }
}

fn judge(status: StatusCode) -> Result<(), CallbackError> {
    match status.as_u16() {
        200..300 => Ok(()),
        code @ 300..400 => Err(CallbackError::Redirect(code)),
        code => Err(CallbackError::Status(code)),
    }
}

#[cfg(test)]
mod tests;
