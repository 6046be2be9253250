//! One page, layer by layer.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;
use tracing::{Instrument, Span};
use trawl_connectors::DeclaredOrder;

use super::{
    client::{ClientSettings, LazyClient, PropagateTrace},
    health::SourceState,
    hedging::HedgedClient,
    page::{into_page, resume_point},
    page_cache::{CachedPage, PageOrigin, PageResult, SourcePageCache},
    raw_page::SourcePageKey,
    wait::Wait,
};
use crate::{
    request::{SearchOrder, Viewer},
    single_flight::SharedCall,
    source::{ConsumedPart, PagedSource, Position, ResultItem, SourceFailure, SourcePage, SourceRequest},
    weight::Weight,
};

/// External system with its connections and token.
pub struct ExternalSource {
    id: String,
    name: String,
    weight: Weight,
    order: DeclaredOrder,
    while_typing: bool,
    /// Whether it learns for whom it is called.
    is_personal: bool,
    /// Separates the cached pages of registrations.
    registration: u64,
    cache: SourcePageCache,
    state: Arc<SourceState>,
    client: Arc<HedgedClient>,
    timeout: Duration,
    propagate_trace: PropagateTrace,
}

/// Settings of an external source.
#[derive(Clone, Debug)]
pub struct ExternalSettings {
    /// Id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Weight.
    pub weight: Weight,
    /// Whether late calls are hedged.
    pub hedging: bool,
    /// Most calls in a minute.
    pub requests_per_minute: Option<usize>,
    /// Whether it is asked for a keyword that is still typed.
    pub while_typing: bool,
    /// Client's settings.
    pub client: ClientSettings,
}

impl ExternalSource {
    /// The state outlives the stack.
    pub fn new(
        settings: ExternalSettings,
        state: Arc<SourceState>,
        cache: SourcePageCache,
        propagate_trace: PropagateTrace,
    ) -> Self {
        static REGISTRATIONS: AtomicU64 = AtomicU64::new(0);
        let ExternalSettings { id, name, weight, hedging, requests_per_minute, while_typing, client } =
            settings;
        state.limit_calls(requests_per_minute);
        let (order, timeout) = (client.order, client.source.timeout);
        let is_personal = client.source.identity.is_some();
        let client = HedgedClient::new(LazyClient::new(client), hedging.then(|| Arc::clone(&state)));
        let client = Arc::new(client);
        let registration = REGISTRATIONS.fetch_add(1, Ordering::Relaxed);
        Self {
            id,
            name,
            weight,
            order,
            while_typing,
            is_personal,
            registration,
            cache,
            state,
            client,
            timeout,
            propagate_trace,
        }
    }

    /// Opens a connection and fetches a token. Fails if the client cannot be set up.
    pub async fn warm(&self) -> Result<(), String> {
        self.client.warm().await.map_err(|failure| failure.message)
    }
}

#[async_trait::async_trait]
impl PagedSource for ExternalSource {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn weight(&self) -> Weight {
        self.weight
    }

    fn is_asked_while_typing(&self) -> bool {
        self.while_typing
    }

    /// Finds an item in the cached pages that the viewer may see.
    async fn find_item(&self, viewer: &Viewer, id: &str) -> Result<Option<ResultItem>, SourceFailure> {
        let person = viewer.user_id.as_deref().filter(|_| self.is_personal);
        if self.is_personal && person.is_none() {
            return Ok(None);
        }
        Ok(self.cache.find_item(self.registration, person, id))
    }

    async fn page(&self, request: &SourceRequest, position: &Position) -> Result<SourcePage, SourceFailure> {
        let Some((cursor, consumed)) = resume_point(position) else { return Ok(SourcePage::default()) };
        if *position == Position::Beginning
            && let Some(time) = self.time_bound(request)
            // Boxed: few searches need its room.
            && let Some(page) = Box::pin(self.page_at_time(request, time)).await?
        {
            return Ok(page);
        }
        let cached = self.get(request, cursor, false).await?;
        Ok(self.read(request, cached, cursor, consumed))
    }
}

impl ExternalSource {
    /// A guessed cursor that fails is no fault of the source.
    async fn get(
        &self,
        request: &SourceRequest,
        cursor: Option<&str>,
        is_guess: bool,
    ) -> Result<CachedPage, SourceFailure> {
        if self.is_personal && request.search.viewer.user_id.is_none() {
            return Err(SourceFailure::no_person());
        }
        let key = Arc::new(self.key(request, cursor));
        let deadline = request.search.deadline;
        let cached = match self.cache.look_up(&key, deadline) {
            Ok(cached) => cached,
            Err(missing) => {
                let until = missing.until;
                let is_late = self.state.is_late(deadline.saturating_duration_since(Instant::now()));
                let call = if is_late && !self.client.has_room() {
                    Err(SourceFailure::late())
                } else {
                    self.call(request, key, until, is_guess)
                };
                let answer = call.map(|call| async move {
                    let wait = Wait::until(until, &self.state);
                    if is_late { wait.leave(call) } else { wait.for_answer(call).await }
                });
                missing.fill(answer).await?
            }
        };
        self.state.count_page(&cached.origin);
        Ok(cached)
    }

    /// Begins or joins a call; fails if the source is suspended.
    fn call(
        &self,
        request: &SourceRequest,
        key: Arc<SourcePageKey>,
        until: Instant,
        is_guess: bool,
    ) -> Result<SharedCall<PageResult>, SourceFailure> {
        let permit = self.state.admit()?;
        let slot = self.state.reserve_call()?;
        self.state.count_call();
        let (span, trace) = (Span::current(), request.search.parameters.trace.clone());
        let (client, cache, propagate_trace) =
            (Arc::clone(&self.client), self.cache.clone(), self.propagate_trace);
        let (fetched, fetch_span) = (Arc::clone(&key), span.clone());
        let fetch = async move {
            slot.take();
            let trace = propagate_trace(fetch_span, trace);
            let result = client.fetch(&fetched, trace.as_ref()).await.map(Arc::new).map_err(|failure| {
                SourceFailure { is_cursor_fault: failure.is_cursor_fault || is_guess, ..failure }
            });
            cache.keep(fetched, &result);
            result
        };
        let call = permit.watch(until, self.timeout, fetch).instrument(span);
        Ok(self.cache.join(key, call))
    }

    fn key(&self, request: &SourceRequest, cursor: Option<&str>) -> SourcePageKey {
        SourcePageKey {
            registration: self.registration,
            keyword: request.search.parameters.keyword.clone(),
            person: request.search.viewer.user_id.clone().filter(|_| self.is_personal),
            cursor: cursor.map(str::to_owned),
        }
    }

    fn read(
        &self,
        request: &SourceRequest,
        cached: CachedPage,
        cursor: Option<&str>,
        consumed: &[ConsumedPart],
    ) -> SourcePage {
        let page = into_page(&cached.page, request, self.order, cursor, consumed);
        match cached.origin {
            PageOrigin::Call => page,
            PageOrigin::Cache => SourcePage { cached: true, ..page },
            PageOrigin::Stale { failure, .. } => {
                let note = format!("an earlier answer, because now: {}", failure.message);
                SourcePage { note: Some(note), cached: true, stale: true, ..page }
            }
        }
    }

    fn time_bound(&self, request: &SourceRequest) -> Option<i64> {
        let is_by_time =
            request.search.parameters.order == SearchOrder::Time && self.order == DeclaredOrder::Time;
        request.upper_bound().filter(|_| is_by_time)
    }

    /// Finds the page where an earlier search saw this time.
    async fn page_at_time(
        &self,
        request: &SourceRequest,
        time: i64,
    ) -> Result<Option<SourcePage>, SourceFailure> {
        let Some(cursor) = self.cache.positions.find(&self.key(request, None), time) else {
            return Ok(None);
        };
        match self.get(request, Some(&cursor), true).await {
            Ok(CachedPage { origin: PageOrigin::Stale { failure, .. }, .. }) if failure.is_cursor_fault => {}
            Ok(cached) if cached.page.newest().is_some_and(|newest| newest >= time) => {
                return Ok(Some(self.read(request, cached, Some(&cursor), &[])));
            }
            // The source is suspended or late, or no time is left.
            Err(failure)
                if failure.pause.is_some()
                    || failure.is_late
                    || Instant::now() >= request.search.deadline =>
            {
                return Err(failure);
            }
            Ok(_) | Err(_) => {}
        }
        self.cache.positions.forget(&self.key(request, Some(&cursor)));
        Ok(None)
    }
}
