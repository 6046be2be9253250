//! The sources of a tenant's modules that are external systems: those that are asked, and those that are not.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use secrecy::SecretString;
use tokio::{sync::OnceCell, time::Instant};
use tracing::{Instrument, Span};
use trawl_connectors::{AddressRules, DeclaredOrder, SourceClient, TraceContext};

use super::{
    repo::sources::SourceRow,
    usable::{Reach, Unusable, Usable},
};
use crate::{
    auth::keys::CannotOpen,
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
        is_a_guess: bool,
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
                Some(hedge) => Box::pin(hedge.ask(ask, || source.client.has_room())).await,
                None => ask().await,
            };
            let of_the_guess = |failure: SourceFailure| SourceFailure {
                is_of_the_cursor: failure.is_of_the_cursor || is_a_guess,
                ..failure
            };
            let page = Arc::new(page.map_err(of_the_guess)?);
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
        let known = self.known(ask, cursor, false).await?;
        Ok(self.make_page(ask, known, cursor, taken))
    }
}

impl Registered {
    /// The page that this cursor leads to; what becomes of a cursor that is a guess says nothing of the source.
    async fn known(&self, ask: &Ask, cursor: Option<&str>, is_a_guess: bool) -> Result<Known, SourceFailure> {
        let key = Arc::new(self.key(ask, cursor));
        let is_asked = AtomicBool::new(false);
        let begin = |deadline| {
            let call = self.begin(Arc::clone(&key), ask.trace.clone(), deadline, is_a_guess)?;
            // What is refused misses nothing: nobody asks the source.
            self.state.count_asked();
            is_asked.store(true, Ordering::Relaxed);
            Ok(call)
        };
        let known = self.answers.get(Arc::clone(&key), ask.deadline, begin).await?;
        match (known.kept, &known.instead_of) {
            (true, None) => self.state.count_hit(),
            (_, Some(_)) => self.state.count_stale(is_asked.load(Ordering::Relaxed)),
            (false, None) => {}
        }
        Ok(known)
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
        match self.known(ask, Some(&cursor), true).await {
            Ok(Known { instead_of: Some(failure), .. }) if failure.is_of_the_cursor => {}
            Ok(known) if known.page.newest().is_some_and(|newest| newest >= time) => {
                return Ok(Some(self.make_page(ask, known, Some(&cursor), &[])));
            }
            // It is not asked now, or there is no time left to ask it again.
            Err(failure) if failure.rest.is_some() || Instant::now() >= ask.deadline => return Err(failure),
            Ok(_) | Err(_) => {}
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
