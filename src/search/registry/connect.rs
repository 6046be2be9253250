//! From the row of an external source to something that can be asked, or that says why it cannot.
//!
//! A row may outlive what made it usable: the master key, and the settings that say where sources may be. Such a source
//! fails alone and says why; the others of its tenant go on.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use secrecy::{ExposeSecret, SecretString};
use tokio::{sync::OnceCell, time::Instant};
use tracing::{Instrument, Span};
use trawl_connectors::{
    AddressRules, Authentication, ClientCredentials, DeclaredOrder, Method, SourceClient, SourceSettings,
    TraceContext, check::CheckSettings,
};
use url::Url;

use super::{
    repo::sources::SourceRow,
    sources::{GET, NONE, OAUTH2_CLIENT, POST, RELEVANCE, TIME},
};
use crate::{
    auth::keys::{CannotOpen, SealingKey},
    error::Error,
    search::{
        cache::{Answers, Key, Known},
        external::{self, ExternalSource, SourcePage},
        health::SourceState,
        request::Order,
        source::{Ask, FailureKind, Page, Position, Source, SourceFailure, Taken},
        weight::Weight,
    },
    telemetry::trace::hand_on,
};

/// What the configuration allows external sources (decisions 6.2, 7.4).
#[derive(Clone, Debug)]
pub struct Reach {
    /// Where they may be.
    pub addresses: AddressRules,
    /// Whether they may be called without credentials.
    pub auth_none: bool,
    /// The largest answer, in bytes, inflated.
    pub max_body_bytes: usize,
}

/// Why a source cannot be used: the field that is wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unusable {
    field: &'static str,
    reason: String,
}

impl Unusable {
    fn new(field: &'static str, reason: impl Into<String>) -> Self {
        Self { field, reason: reason.into() }
    }

    /// What those who search are told, and their operator.
    pub(super) fn message(&self) -> String {
        format!("its settings are not usable: {self}")
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.field, self.reason)
    }
}

/// What the secret of a source is bound to: sealed for one source of one tenant, it opens for no other.
fn seal_context(tenant_id: i64, source_id: &str) -> Vec<u8> {
    format!("source:{tenant_id}:{source_id}").into_bytes()
}

/// Seals the secret of a source.
pub(super) fn seal(
    key: &SealingKey,
    tenant_id: i64,
    source_id: &str,
    secret: &SecretString,
) -> Result<Vec<u8>, CannotOpen> {
    key.seal(&seal_context(tenant_id, source_id), secret.expose_secret().as_bytes())
}

/// Opens the secret of a source. Those of the first days are bound to the source's id alone.
pub(super) fn open(
    key: &SealingKey,
    tenant_id: i64,
    source_id: &str,
    sealed: &[u8],
) -> Result<SecretString, CannotOpen> {
    let opened = key
        .open(&seal_context(tenant_id, source_id), sealed)
        .or_else(|CannotOpen| key.open(source_id.as_bytes(), sealed))?;
    String::from_utf8(opened).map(SecretString::from).map_err(|_| CannotOpen)
}

/// The sealed secret of a stored source, for the row that takes its place: as it is, or, of the first days, sealed anew.
///
/// # Errors
/// 400 that asks for the secret when the stored one does not open.
pub(super) fn keep_sealed(key: &SealingKey, tenant_id: i64, stored: SourceRow) -> Result<Vec<u8>, Error> {
    let sealed = stored.client_secret_sealed.unwrap_or_default();
    if key.open(&seal_context(tenant_id, &stored.id), &sealed).is_ok() {
        return Ok(sealed);
    }
    let secret = open(key, tenant_id, &stored.id, &sealed).map_err(|CannotOpen| {
        Error::bad_request(
            "auth.clientSecret: must be given anew, as the stored one does not open with the server's master key",
        )
    })?;
    seal(key, tenant_id, &stored.id, &secret).map_err(Error::internal)
}

/// What a row says, read.
#[derive(Clone)]
pub(super) struct Usable {
    settings: SourceSettings,
    order: DeclaredOrder,
    page_size: usize,
}

impl Usable {
    /// Reads a row and holds it against what the configuration allows. `secret` is asked for where one is needed.
    ///
    /// # Errors
    /// What of the row is not usable.
    pub(super) fn read(
        row: &SourceRow,
        reach: &Reach,
        secret: impl FnOnce() -> Result<SecretString, CannotOpen>,
    ) -> Result<Self, Unusable> {
        let url = address("url", &row.url, reach)?;
        let method = match row.method.as_str() {
            GET => Method::Get,
            POST => Method::Post,
            _ => return Err(Unusable::new("method", "must be GET or POST")),
        };
        let order = match row.result_order.as_str() {
            TIME => DeclaredOrder::Time,
            RELEVANCE => DeclaredOrder::Relevance,
            _ => return Err(Unusable::new("order", "must be time or relevance")),
        };
        let settings = SourceSettings {
            url,
            method,
            authentication: authentication(row, reach, secret)?,
            timeout: Duration::from_millis(positive("timeoutMs", row.timeout_ms)?),
            max_concurrency: positive("maxConcurrency", row.max_concurrency)?,
            max_body_bytes: reach.max_body_bytes,
        };
        Ok(Self { settings, order, page_size: positive("pageSize", row.page_size)? })
    }

    /// What a conformance check needs to know.
    pub(super) fn into_check(self, keyword: Option<String>) -> CheckSettings {
        CheckSettings { source: self.settings, order: self.order, keyword }
    }
}

fn positive<T: TryFrom<i64>>(field: &'static str, number: i64) -> Result<T, Unusable> {
    Some(number)
        .filter(|number| *number > 0)
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| Unusable::new(field, "must be positive"))
}

fn address(field: &'static str, text: &str, reach: &Reach) -> Result<Url, Unusable> {
    let url = Url::parse(text)
        .map_err(|_| Unusable::new(field, "must be an absolute address, such as https://host/path"))?;
    reach.addresses.check_url(&url).map_err(|refusal| Unusable::new(field, refusal.to_string()))?;
    Ok(url)
}

fn authentication(
    row: &SourceRow,
    reach: &Reach,
    secret: impl FnOnce() -> Result<SecretString, CannotOpen>,
) -> Result<Authentication, Unusable> {
    match row.auth_type.as_str() {
        NONE if reach.auth_none => Ok(Authentication::None),
        NONE => {
            Err(Unusable::new("auth.type", "NONE is not allowed here: connectors.allow_auth_none is false"))
        }
        OAUTH2_CLIENT => {
            let token_url = address("auth.tokenUrl", row.token_url.as_deref().unwrap_or_default(), reach)?;
            let client_id =
                row.client_id.clone().ok_or_else(|| Unusable::new("auth.clientId", "is missing"))?;
            let client_secret = secret().map_err(|CannotOpen| {
                Unusable::new(
                    "auth.clientSecret",
                    "cannot be opened with the server's master key; it must be given anew",
                )
            })?;
            let (scope, audience) = (row.scope.clone(), row.audience.clone());
            let credentials = ClientCredentials { token_url, client_id, client_secret, scope, audience };
            Ok(Authentication::OAuth2Client(credentials))
        }
        _ => Err(Unusable::new("auth.type", "must be OAUTH2_CLIENT or NONE")),
    }
}

/// A registered external system. It is kept from one load of its tenant's modules to the next while its row stays
/// what it is, and with it its connections and its token.
pub(super) struct Registered {
    /// Tells its answers from those of other registrations, and of the same source's earlier ones.
    number: u64,
    state: Arc<SourceState>,
    answers: Answers,
    connection: Arc<Connection>,
}

/// What a call of a source needs; a call may outlive its search.
struct Connection {
    row: SourceRow,
    usable: Usable,
    addresses: AddressRules,
    /// Made when it is first needed: it takes milliseconds, and a tenant may have a thousand sources.
    source: OnceCell<ExternalSource>,
}

impl Registered {
    /// The source of a row whose settings are usable.
    ///
    /// # Errors
    /// What of the row is not usable.
    pub(super) fn new(
        row: SourceRow,
        reach: &Reach,
        state: Arc<SourceState>,
        answers: Answers,
        secret: impl FnOnce() -> Result<SecretString, CannotOpen>,
    ) -> Result<Self, Unusable> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let usable = Usable::read(&row, reach, secret)?;
        let addresses = reach.addresses.clone();
        let connection = Connection { row, usable, addresses, source: OnceCell::new() };
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        Ok(Self { number, state, answers, connection: Arc::new(connection) })
    }

    /// Whether it is the source of just this row.
    pub(super) fn is_of(&self, row: &SourceRow) -> bool {
        self.connection.row == *row
    }

    /// The source with its client.
    ///
    /// # Errors
    /// The client cannot be set up on this machine.
    pub(super) async fn connected(&self) -> Result<&ExternalSource, SourceFailure> {
        self.connection.connected().await
    }
}

impl Registered {
    /// The call that brings a page and keeps it; it is waited for until `deadline`. It belongs to the search that begins
    /// it, whoever waits for it, and the source is told so.
    ///
    /// # Errors
    /// The source may not be called now.
    fn begin(
        &self,
        key: Arc<Key>,
        trace: Option<TraceContext>,
        deadline: Instant,
    ) -> Result<impl Future<Output = Result<Arc<SourcePage>, SourceFailure>> + Send + use<>, SourceFailure>
    {
        let admitted = self.state.admit()?;
        let (connection, answers) = (Arc::clone(&self.connection), self.answers.clone());
        let own_limit = connection.usable.settings.timeout;
        let hedge = connection.row.hedging.then(|| self.state.hedge());
        let span = Span::current();
        let of_search = span.clone();
        let call = async move {
            let trace = hand_on(of_search, trace);
            let source = connection.connected().await?;
            let ask = || source.ask(&key.keyword, key.cursor.as_deref(), trace.as_ref());
            let page = match hedge {
                // Two requests' room, which the other calls need not carry along.
                Some(hedge) => Box::pin(hedge.ask(ask, || source.client.has_room())).await?,
                None => ask().await?,
            };
            let page = Arc::new(page);
            answers.keep(key, &page);
            Ok(page)
        };
        Ok(admitted.watch(deadline, own_limit, call).instrument(span))
    }
}

impl Connection {
    async fn connected(&self) -> Result<&ExternalSource, SourceFailure> {
        self.source.get_or_try_init(|| self.connect()).await
    }

    async fn connect(&self) -> Result<ExternalSource, SourceFailure> {
        let Usable { settings, order, page_size } = self.usable.clone();
        let addresses = self.addresses.clone();
        let made = tokio::task::spawn_blocking(move || SourceClient::new(settings, &addresses)).await;
        let failed = |reason: String| {
            SourceFailure::new(FailureKind::Error, format!("its settings are not usable: {reason}"))
        };
        let client = made
            .map_err(|_panic| failed("its client could not be made".to_owned()))?
            .map_err(|error| failed(error.to_string()))?;
        Ok(ExternalSource { order, page_size, client })
    }
}

#[async_trait::async_trait]
impl Source for Registered {
    fn id(&self) -> &str {
        &self.connection.row.id
    }

    fn name(&self) -> &str {
        &self.connection.row.name
    }

    /// Its own limit is kept where its end is remembered.
    fn timeout(&self) -> Duration {
        Duration::MAX
    }

    fn weight(&self) -> Weight {
        Weight::from_thousandths(self.connection.row.weight)
    }

    async fn page(&self, ask: &Arc<Ask>, position: &Position) -> Result<Page, SourceFailure> {
        let Some((cursor, taken)) = external::place(position) else { return Ok(Page::default()) };
        if *position == Position::Beginning
            && let Some(bound) = self.first_time(ask)
            // Few searches need its room.
            && let Some(page) = Box::pin(self.page_at_time(ask, bound)).await?
        {
            return Ok(page);
        }
        let known = self.known(ask, cursor).await?;
        Ok(self.make_page(ask, known, cursor, taken))
    }
}

impl Registered {
    /// The page that this cursor leads to.
    async fn known(&self, ask: &Ask, cursor: Option<&str>) -> Result<Known, SourceFailure> {
        let key = Arc::new(self.key(ask, cursor));
        let begin = |deadline| self.begin(Arc::clone(&key), ask.trace.clone(), deadline);
        self.answers.get(Arc::clone(&key), ask.deadline, begin).await
    }

    fn key(&self, ask: &Ask, cursor: Option<&str>) -> Key {
        Key { registration: self.number, keyword: ask.keyword.clone(), cursor: cursor.map(str::to_owned) }
    }

    /// What one search makes of a page.
    fn make_page(&self, ask: &Ask, known: Known, cursor: Option<&str>, taken: &[Taken]) -> Page {
        let order = self.connection.usable.order;
        let page = external::into_page(&known.page, ask, order, cursor, taken);
        let page = Page { kept: known.kept, ..page };
        match known.instead_of {
            None => page,
            Some(failure) => {
                let note = format!("an earlier answer, as now: {}", failure.message);
                Page { note: Some(note), stale: true, ..page }
            }
        }
    }

    /// The time below which the search begins, where the source's order is by time, too.
    fn first_time(&self, ask: &Ask) -> Option<i64> {
        let is_by_time = ask.order == Order::Time && self.connection.usable.order == DeclaredOrder::Time;
        ask.upper_bound().filter(|_| is_by_time)
    }

    /// The page in which what is below a time begins, where an earlier search saw it; `None` where none did, or where it is
    /// elsewhere by now.
    async fn page_at_time(&self, ask: &Ask, time: i64) -> Result<Option<Page>, SourceFailure> {
        let Some(cursor) = self.answers.find_position(self.number, &ask.keyword, time) else {
            return Ok(None);
        };
        match self.known(ask, Some(&cursor)).await {
            Ok(Known { instead_of: Some(failure), .. }) | Err(failure) if failure.is_of_the_cursor => {}
            Err(failure) => return Err(failure),
            Ok(known) => {
                if known.page.newest().is_some_and(|newest| newest >= time) {
                    return Ok(Some(self.make_page(ask, known, Some(&cursor), &[])));
                }
            }
        }
        self.answers.forget_position(&self.key(ask, Some(&cursor)));
        Ok(None)
    }
}

/// A source that is registered and is not asked: disabled, or of settings that are not usable.
pub(super) struct Unasked {
    id: String,
    name: String,
    /// Why it always fails; `None` where it is disabled.
    unusable: Option<String>,
}

impl Unasked {
    /// A source that its operator took out of use.
    pub(super) fn disabled(row: SourceRow) -> Self {
        Self { id: row.id, name: row.name, unusable: None }
    }

    /// A source that fails whenever it is asked, with this message.
    pub(super) fn unusable(id: String, name: String, message: String) -> Self {
        Self { id, name, unusable: Some(message) }
    }
}

#[async_trait::async_trait]
impl Source for Unasked {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn timeout(&self) -> Duration {
        Duration::MAX
    }

    fn is_disabled(&self) -> bool {
        self.unusable.is_none()
    }

    async fn page(&self, _ask: &Arc<Ask>, _position: &Position) -> Result<Page, SourceFailure> {
        Err(match &self.unusable {
            Some(message) => SourceFailure::new(FailureKind::Error, message.as_str()),
            None => SourceFailure::disabled(),
        })
    }
}
