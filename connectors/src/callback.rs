//! Calls that tell another system of something, and count only if it takes them: each is sent once, whatever becomes of it,
//! over guarded connections, and bounded in time. Of its answer no more is read than the head.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, StatusCode};
use tokio::time::timeout;
use url::{Host, Url};

use crate::addresses::AddressRules;
use crate::error::SourceError;
use crate::settings::SettingsError;
use crate::transport::{Endpoint, FoundNames, LookUps, TransportError, guarded, with_addresses};

/// What failures call the system.
const CALLBACK: Endpoint = Endpoint { name: "the callback", setting: "the address of the callback" };
/// Names that are looked up at once, those that nobody waits for any more among them.
const LOOK_UPS: usize = 128;

/// Why a call did not count. The text of each is safe to show: it holds no address, and nothing of the answer but its status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallbackError {
    /// The head of its answer was not there in time.
    #[error("the callback did not answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// It answered with another status than 2xx.
    #[error("the callback answered with HTTP {0}")]
    Status(u16),
    /// It led elsewhere: what has to happen once is not sent on.
    #[error("the callback answered with a redirect (HTTP {0}), which is not followed")]
    Redirect(u16),
    /// Its address may not be called, it was not reached, or what it sent is no answer. Holds which.
    #[error("{0}")]
    Failed(String),
}

impl CallbackError {
    fn of(error: TransportError, within: Duration) -> Self {
        match error.about(CALLBACK) {
            SourceError::Timeout => Self::Timeout(within),
            other => Self::Failed(other.to_string()),
        }
    }
}

/// Calls callbacks, each over a connection of its own: one that was kept may be closed by the other side in the moment
/// in which it is used, and then nobody knows whether the call arrived.
#[derive(Clone)]
pub struct CallbackClient {
    rules: AddressRules,
    look_ups: LookUps,
    /// For hosts that the operator lists.
    listed: Client,
    /// For all others.
    unlisted: Client,
}

impl CallbackClient {
    /// A client that calls what `rules` allow.
    ///
    /// # Errors
    /// An HTTP client that cannot be set up here.
    pub fn new(rules: &AddressRules) -> Result<Self, SettingsError> {
        Self::with_look_ups(rules, LookUps::new(LOOK_UPS))
    }

    /// The same with other look-ups before the guard.
    fn with_look_ups(rules: &AddressRules, look_ups: LookUps) -> Result<Self, SettingsError> {
        let client = |is_listed| {
            guarded(Arc::new(FoundNames), is_listed)
                // None is kept, so that each request connects by itself, to what was looked up for it.
                .pool_max_idle_per_host(0)
                .http1_only()
                .retry(reqwest::retry::never())
                .build()
                .map_err(|error| SettingsError::Client(error.without_url().to_string()))
        };
        Ok(Self { rules: rules.clone(), look_ups, listed: client(true)?, unlisted: client(false)? })
    }

    /// Posts a JSON `body` with these headers; it counts if a 2xx and the headers behind it have come `within` that time, from
    /// the look-up of the name on. The body of the answer is not read. Dropping the future ends the call, but not the look-up
    /// of a name: `place` is let go only when that has ended, so it may stay taken for longer than `within`. It must run on a
    /// tokio runtime.
    ///
    /// # Errors
    /// See [`CallbackError`]. After all but a refused address the call may have arrived.
    pub async fn post(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: Vec<u8>,
        within: Duration,
        place: impl Send + 'static,
    ) -> Result<(), CallbackError> {
        let exchange = self.exchange(url, headers, body, place);
        let status = timeout(within, exchange).await.unwrap_or(Err(TransportError::Timeout));
        judge(status.map_err(|error| CallbackError::of(error, within))?)
    }

    /// The status of the answer. What comes behind the head goes with the connection.
    async fn exchange(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: Vec<u8>,
        place: impl Send + 'static,
    ) -> Result<StatusCode, TransportError> {
        self.rules.check_url(url).map_err(TransportError::Forbidden)?;
        let addresses = match url.host() {
            Some(Host::Domain(name)) => self.look_ups.find(name, place).await?,
            // An address, which is connected to as it is.
            _ => Vec::new(),
        };
        let client = if self.rules.lists(url) { &self.listed } else { &self.unlisted };
        let json = HeaderValue::from_static("application/json;charset=UTF-8");
        let request = client.post(url.clone()).headers(headers).header(CONTENT_TYPE, json).body(body);
        Ok(with_addresses(addresses, request.send()).await?.status())
    }
}

/// A refusal is one by its status, whatever comes behind that.
fn judge(status: StatusCode) -> Result<(), CallbackError> {
    match status.as_u16() {
        200..300 => Ok(()),
        code @ 300..400 => Err(CallbackError::Redirect(code)),
        code => Err(CallbackError::Status(code)),
    }
}

#[cfg(test)]
mod tests;
