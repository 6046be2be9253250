//! One search from plan to page: asks the sources in rounds until the page is full, the sources are at their end,
//! or the time is over, and gives an honest account of each.

use std::{collections::HashSet, sync::Arc, time::Duration};

use serde::Serialize;
use tokio::{sync::Semaphore, time::Instant};

use super::{
    cursor::{self, Cursor, LaneState},
    gather::{Call, Outcome, gather},
    merge::{Lane, Merge, PageLength},
    plan::{Plan, PlannedLane, plan},
    registry::{Module, Registry},
    request::{SearchRequest, Start, Viewer},
    source::{Ask, FailureKind, Item, Page, Position},
};
use crate::{
    auth::keys::Keys,
    error::{Error, Result},
};

/// How a source took part in an answer (decisions 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It answered.
    Ok,
    /// It did not answer in time.
    Timeout,
    /// It cannot be reached, or takes no calls now.
    Unavailable,
    /// It refused our credentials.
    Unauthorized,
    /// It broke the contract.
    Invalid,
    /// Anything else.
    Error,
}

impl From<FailureKind> for Status {
    fn from(kind: FailureKind) -> Self {
        match kind {
            FailureKind::Timeout => Self::Timeout,
            FailureKind::Unavailable => Self::Unavailable,
            FailureKind::Unauthorized => Self::Unauthorized,
            FailureKind::Invalid => Self::Invalid,
            FailureKind::Error => Self::Error,
        }
    }
}

/// The account of one source in an answer.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceReport {
    /// The source's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// How it took part.
    pub status: Status,
    /// Milliseconds that its requests took in all.
    pub took_ms: u64,
    /// Its matches in all, where it says so.
    pub total: Option<u64>,
    /// What went wrong, for people.
    pub message: Option<String>,
}

/// One page of a module.
#[derive(Debug)]
pub struct Answer {
    /// The items, in order.
    pub items: Vec<Item>,
    /// Every match, as far as the sources say (decisions 5.6).
    pub total: u64,
    /// What to send back for the next page; `None` at the end.
    pub cursor: Option<String>,
    /// Whether something is missing that was asked for.
    pub partial: bool,
    /// One report for each source of the module that took part.
    pub sources: Vec<SourceReport>,
}

/// Why there is no page.
#[derive(Debug)]
pub enum Failure {
    /// The request cannot be served.
    Refused(Error),
    /// No source answered: 504 when all timed out, else 502 (decisions 5.5).
    NoSource {
        /// Whether every source timed out.
        all_timed_out: bool,
        /// One report for each source.
        sources: Vec<SourceReport>,
    },
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Refused(error.into())
    }
}

/// Runs searches.
pub struct Coordinator {
    registry: Arc<Registry>,
    keys: Arc<Keys>,
    permits: Semaphore,
    /// Pages of one source that one search asks for at the most.
    source_pages: usize,
}

impl Coordinator {
    /// A coordinator that runs `at_once` searches at the most.
    pub fn new(registry: Arc<Registry>, keys: Arc<Keys>, at_once: usize, source_pages: usize) -> Self {
        Self { registry, keys, permits: Semaphore::new(at_once), source_pages }
    }

    /// Answers one page of one module.
    ///
    /// # Errors
    /// 400 for a cursor or source filter that does not belong here, 404 for a module that is not the tenant's, 503
    /// under overload; [`Failure::NoSource`] when no source answered.
    pub async fn search(&self, viewer: Viewer, request: SearchRequest) -> Result<Answer, Failure> {
        let deadline = Instant::now() + request.timeout;
        let _permit = self.permits.try_acquire().map_err(|_| {
            Error::unavailable("too many searches run already; try again shortly", Duration::from_secs(1))
        })?;
        let modules = self.registry.modules_of(viewer.tenant_id).await?;
        let module = modules.find(&request.module).ok_or_else(|| {
            Error::not_found(
                "moduleId: there is no such module; POST /modules lists those that you may search",
            )
        })?;
        let context = cursor::context(viewer.tenant_id, &module.id, &request)?;
        let opened = match &request.start {
            Start::Cursor(text) => Some(Cursor::open(text, &self.keys.cursors, &context)?),
            Start::Beginning | Start::Before(_) => None,
        };
        let plan = plan(&request, &modules.sources_of(module), opened)?;
        let before = plan.before;
        let mut run = Run::new(plan, viewer, request, self.source_pages);
        run.ask_until_done(deadline).await;
        run.finish(|lanes| Cursor { before, lanes }.seal(&self.keys.cursors, &context))
    }

    /// The modules of a tenant, by `orderNo`.
    pub async fn modules(&self, tenant_id: i64) -> Result<Vec<Arc<Module>>> {
        Ok(self.registry.modules_of(tenant_id).await?.list().to_vec())
    }
}

/// What became of one source so far.
struct Account {
    planned: PlannedLane,
    status: Option<Status>,
    message: Option<String>,
    total: Option<u64>,
    took: Duration,
    pages: usize,
    /// At least one page of it came in.
    answered: bool,
    /// What it might have had is missing from the page.
    lacking: bool,
}

/// One search under way.
struct Run {
    ask: Arc<Ask>,
    merge: Merge,
    accounts: Vec<Account>,
    source_pages: usize,
}

impl Run {
    fn new(plan: Plan, viewer: Viewer, request: SearchRequest, source_pages: usize) -> Self {
        let Plan { lanes: planned, length, before } = plan;
        let lanes = planned.iter().map(|lane| Lane::at(lane.position.clone(), lane.taken)).collect();
        let ask = Arc::new(Ask {
            viewer,
            query: Arc::new(trawl_index::Query::parse(&request.keyword)),
            keyword: request.keyword,
            filters: request.filters,
            order: request.order,
            limit: request.limit,
            whole_ties: matches!(length, PageLength::WholeTies(_)),
            before,
        });
        let account = |planned: PlannedLane| Account {
            total: planned.total,
            planned,
            status: None,
            message: None,
            took: Duration::ZERO,
            pages: 0,
            answered: false,
            lacking: false,
        };
        let merge = Merge::new(request.order, length, lanes);
        Self { ask, merge, accounts: planned.into_iter().map(account).collect(), source_pages }
    }

    async fn ask_until_done(&mut self, deadline: Instant) {
        // Every source is asked at once; later rounds ask only those that hold the page up.
        let mut wanted = self.merge.advance();
        while !wanted.is_empty() {
            let calls = wanted.into_iter().filter_map(|place| self.call(place)).collect::<Vec<_>>();
            if !calls.is_empty() {
                let outcomes = gather(Arc::clone(&self.ask), calls, deadline).await;
                outcomes.into_iter().for_each(|outcome| self.take_in(outcome));
            }
            wanted = self.merge.advance();
        }
    }

    /// The next request to a source, unless it has been asked for as many pages as one search may.
    fn call(&mut self, place: usize) -> Option<Call> {
        let account = &mut self.accounts[place];
        if account.pages >= self.source_pages {
            account.lacking = true;
            account.message =
                Some(format!("read {} pages without getting to the end of this one", account.pages));
            self.merge.fail(place);
            return None;
        }
        account.pages += 1;
        let position = self.merge.next_position(place)?;
        Some(Call { place, source: Arc::clone(&account.planned.source), position })
    }

    fn take_in(&mut self, outcome: Outcome) {
        let account = &mut self.accounts[outcome.place];
        account.took += outcome.took;
        match outcome.result {
            Ok(mut page) => {
                if account.pages > 1 {
                    drop_repeated(&mut page, &self.merge.ids_of(outcome.place));
                }
                account.total = page.total.or(account.total);
                account.answered = true;
                account.status = Some(if page.broken.is_some() || account.status == Some(Status::Invalid) {
                    Status::Invalid
                } else {
                    Status::Ok
                });
                account.message = page.broken.take().or(account.message.take()).or(page.note.take());
                self.merge.supply(outcome.place, page);
            }
            Err(failure) => {
                account.status = Some(failure.kind.into());
                account.message = Some(failure.message);
                account.lacking = true;
                self.merge.fail(outcome.place);
            }
        }
    }

    fn finish(self, seal: impl FnOnce(Vec<LaneState>) -> Result<String>) -> Result<Answer, Failure> {
        let asked = self.accounts.iter().any(|account| account.pages > 0);
        let answered = self.accounts.iter().any(|account| account.answered);
        let (items, lanes, tie_cut) = self.merge.finish();
        let reports: Vec<SourceReport> = self.accounts.iter().map(Account::report).collect();
        if asked && !answered {
            let all_timed_out = self
                .accounts
                .iter()
                .filter(|account| account.pages > 0)
                .all(|account| account.status == Some(Status::Timeout));
            return Err(Failure::NoSource { all_timed_out, sources: reports });
        }
        let at_end = lanes.iter().all(|lane| lane.position == Position::End);
        let states = lanes.into_iter().zip(&self.accounts).map(|(lane, account)| LaneState {
            source: account.planned.source.id().to_owned(),
            position: lane.position,
            taken: lane.taken,
            total: account.total,
        });
        Ok(Answer {
            cursor: if at_end { None } else { Some(seal(states.collect())?) },
            total: self.accounts.iter().filter_map(|account| account.total).sum(),
            partial: tie_cut || self.accounts.iter().any(|account| account.lacking),
            sources: reports,
            items,
        })
    }
}

/// A source that ignores its cursor sends the same page again; nothing is shown twice for that (decisions 6.4).
fn drop_repeated(page: &mut Page, known: &HashSet<&str>) {
    let sent = page.entries.len();
    page.entries.retain(|entry| !known.contains(entry.item.id.as_str()));
    let repeated = sent - page.entries.len();
    if repeated > 0 {
        let repeats = || format!("{repeated} of {sent} items repeat an id of an earlier page");
        page.broken =
            Some(page.broken.take().map_or_else(repeats, |broken| format!("{}; {broken}", repeats())));
    }
}

impl Account {
    fn report(&self) -> SourceReport {
        let source = &self.planned.source;
        SourceReport {
            id: source.id().to_owned(),
            name: source.name().to_owned(),
            // One that was at its end already had nothing to be asked for.
            status: self.status.unwrap_or(Status::Ok),
            took_ms: u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
            total: self.total,
            message: self.message.clone(),
        }
    }
}
