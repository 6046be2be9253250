//! Calls that tell another system of something, and count only if it takes them: each is sent once, whatever becomes of it,
//! over guarded connections, and bounded in time and in what is read of its answer.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, StatusCode};
use tokio::time::timeout;
use url::Url;

use crate::addresses::AddressRules;
use crate::error::SourceError;
use crate::settings::SettingsError;
use crate::transport::{BoundedNames, Endpoint, TransportError, discard_body, guarded};

/// What failures call the system.
const CALLBACK: Endpoint = Endpoint { name: "the callback", setting: "the address of the callback" };
/// How large an answer may be, in bytes. Nothing of it is kept.
const MOST_ANSWER_BYTES: usize = 64 << 10;
/// Names that are looked up at once, those that nobody waits for any more among them.
const LOOK_UPS: usize = 128;

/// Why a call did not count. The text of each is safe to show: it holds no address, and nothing of the answer but its status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallbackError {
    /// Its whole answer was not there in time.
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
#[derive(Clone, Debug)]
pub struct CallbackClient {
    rules: AddressRules,
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
        let names = Arc::new(BoundedNames::new(LOOK_UPS));
        let client = |is_listed| {
            guarded(Arc::clone(&names) as _, is_listed)
                .pool_max_idle_per_host(0)
                .http1_only()
                .retry(reqwest::retry::never())
                .build()
                .map_err(|error| SettingsError::Client(error.without_url().to_string()))
        };
        Ok(Self { rules: rules.clone(), listed: client(true)?, unlisted: client(false)? })
    }

    /// Posts a JSON `body` with these headers; it counts if a 2xx has come whole `within` that time, with at most 64 KiB of
    /// body. Dropping the future ends the call. It must run on a tokio runtime.
    ///
    /// # Errors
    /// See [`CallbackError`]. After all but a refused address the call may have arrived.
    pub async fn post(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: Vec<u8>,
        within: Duration,
    ) -> Result<(), CallbackError> {
        let refused = |refusal| CallbackError::of(TransportError::Forbidden(refusal), within);
        self.rules.check_url(url).map_err(refused)?;
        let client = if self.rules.lists(url) { &self.listed } else { &self.unlisted };
        let json = HeaderValue::from_static("application/json;charset=UTF-8");
        let request = client.post(url.clone()).headers(headers).header(CONTENT_TYPE, json).body(body);
        let exchange = async {
            let response = request.send().await.map_err(TransportError::from);
            let response = response.map_err(|error| CallbackError::of(error, within))?;
            judge(response.status())?;
            let read = discard_body(response, MOST_ANSWER_BYTES).await;
            read.map_err(|error| CallbackError::of(error, within))
        };
        timeout(within, exchange).await.unwrap_or(Err(CallbackError::Timeout(within)))
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
