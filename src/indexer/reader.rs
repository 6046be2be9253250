//! Reads the change log and the current state of each changed item.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

use futures::StreamExt;
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep_until},
};
use trawl_engine::{Change, Checkpoint, Scope};

use super::commit_schedule::Rest;
use crate::{
    auth::tenants,
    error::{Error, Result},
    index_progress::WaitingSearches,
    platform::{documents::Area, files, folders},
    store::{
        Store,
        change_log::{self, LogEntry},
    },
};

/// Items whose documents are built at a time; bounds memory.
const ITEMS_AT_A_TIME: usize = 500;

pub(super) enum ReaderStep {
    Apply(Vec<Change>),
    /// All changes up to this position were sent, and a request ends here.
    Reach {
        position: i64,
        /// The time when the log had no more entries, if it had none.
        caught_up: Option<Instant>,
    },
    /// The log had no entries then.
    CaughtUp(Instant),
    /// Entries that were not sent are gone.
    Truncated,
    /// The database has lost changes that were sent.
    Lost,
}

#[derive(Clone)]
pub(super) struct Rows {
    pub(super) store: Store,
    pub(super) public_url: Arc<str>,
}

impl Rows {
    /// A commit of these rows up to a position of the log.
    pub(super) fn checkpoint(&self, position: i64, complete: bool) -> Checkpoint {
        Checkpoint { store: self.store.id().to_owned(), position, complete }
    }
}

pub(super) struct LogReader {
    pub(super) rows: Rows,
    pub(super) positions: watch::Receiver<i64>,
    /// Most entries read together, unless one request wrote more.
    pub(super) batch_changes: u64,
    pub(super) steps: mpsc::Sender<ReaderStep>,
    /// The rest after each batch that reached the end of the log.
    pub(super) rests: watch::Receiver<Rest>,
    /// What ends rests early.
    pub(super) waiting: WaitingSearches,
}

impl LogReader {
    /// Reads on from `position` until the receiver is dropped.
    pub(super) async fn run(mut self, mut position: i64) -> Result<()> {
        let mut tenants = PresentTenants::default();
        loop {
            self.positions.mark_unchanged();
            let read_at = Instant::now();
            let Batch { entries, is_rest } = self.next_batch(position).await?;
            let Some(last) = entries.last().map(|entry| entry.position) else {
                if self.steps.send(ReaderStep::CaughtUp(read_at)).await.is_err() {
                    return Ok(());
                }
                self.positions.changed().await.map_err(Error::internal)?;
                continue;
            };
            // Only a failover skips positions.
            let is_gap =
                |first: &LogEntry| first.position > position + 1 && first.last_before_failover().is_none();
            if entries.first().is_some_and(is_gap) {
                // A receiver that is gone needs no step.
                drop(self.steps.send(ReaderStep::Truncated).await);
                return Ok(());
            }
            let has_lost =
                |entry: &LogEntry| entry.last_before_failover().is_some_and(|last| position > last);
            if entries.iter().any(has_lost) && self.steps.send(ReaderStep::Lost).await.is_err() {
                return Ok(());
            }
            tenants.look_up(&self.rows, &entries).await?;
            let rows = self.rows.clone();
            let mut changes = futures::stream::iter(pieces(entries, &tenants))
                .map(move |piece| tokio::spawn(piece.read(rows.clone())))
                .buffered(2);
            while let Some(changes) = changes.next().await {
                let step = ReaderStep::Apply(changes.map_err(Error::internal)??);
                if self.steps.send(step).await.is_err() {
                    return Ok(());
                }
            }
            position = last;
            let caught_up = is_rest.then_some(read_at);
            if self.steps.send(ReaderStep::Reach { position, caught_up }).await.is_err() {
                return Ok(());
            }
            if is_rest {
                // Another replica's entries may be read before their position is announced, and lost ones lower it.
                self.positions.wait_for(|known| *known != position).await.map_err(Error::internal)?;
                self.rest(position).await;
            }
        }
    }

    /// Waits until the index has taken this position and rested, or a search waits.
    async fn rest(&mut self, position: i64) {
        // Once the receiver of the steps is gone, sending the next one fails.
        let rested = self.rests.wait_for(|rest| rest.position >= position).await.map(|rest| rest.end);
        if let Ok(end) = rested {
            tokio::select! {
                () = sleep_until(end.into()) => {}
                () = self.waiting.begun() => {}
            }
        }
    }

    /// The next entries up to the end of a request.
    ///
    /// Its changes become searchable together.
    async fn next_batch(&self, position: i64) -> Result<Batch> {
        let mut limit = self.batch_changes;
        loop {
            let mut entries =
                change_log::entries_after(self.rows.store.index_reader(), position, limit).await?;
            let is_whole = u64::try_from(entries.len()).is_ok_and(|count| count < limit);
            if let Some(end) = entries.iter().rposition(|entry| entry.is_last) {
                let is_rest = is_whole && end + 1 == entries.len();
                entries.truncate(end + 1);
                return Ok(Batch { entries, is_rest });
            }
            if entries.is_empty() {
                return Ok(Batch { entries, is_rest: true });
            }
            limit *= 2;
        }
    }
}

struct Batch {
    entries: Vec<LogEntry>,
    /// Whether the log had no more entries.
    is_rest: bool,
}

/// Tenants that are not removed.
///
/// A removal is an entry of the log.
#[derive(Default)]
struct PresentTenants(HashSet<i64>);

impl PresentTenants {
    /// Looks up the tenants of the entries that are not known.
    async fn look_up(&mut self, rows: &Rows, entries: &[LogEntry]) -> Result<()> {
        for entry in entries.iter().filter(|entry| entry.module == change_log::WHOLE_TENANT) {
            self.0.remove(&entry.tenant_id);
        }
        let unknown: BTreeSet<i64> =
            entries.iter().map(|entry| entry.tenant_id).filter(|tenant| !self.0.contains(tenant)).collect();
        for tenant in unknown {
            // Rows of a removed tenant remain for a while (`platform/tenants/removal`).
            if tenants::find_by_id(rows.store.index_reader(), tenant).await?.is_some() {
                self.0.insert(tenant);
            }
        }
        Ok(())
    }
}

/// The distinct items of the entries, in pieces of one module.
///
/// Pieces may come in any order: files of a removed folder are read as gone. A removed tenant is the exception. Its
/// entry has an empty module name and so precedes the tenant's present items.
fn pieces(entries: Vec<LogEntry>, tenants: &PresentTenants) -> Vec<ModuleItems> {
    let mut items: BTreeMap<(i64, String), BTreeSet<String>> = BTreeMap::new();
    for key in entries.into_iter().map(LogEntry::into_key) {
        items.entry((key.tenant_id, key.module)).or_default().insert(key.item_id);
    }
    items
        .into_iter()
        .flat_map(|((tenant_id, module), ids)| {
            let ids: Vec<String> = ids.into_iter().collect();
            let is_gone = !tenants.0.contains(&tenant_id);
            let piece = |ids: &[String]| ModuleItems {
                tenant_id,
                is_gone,
                module: module.clone(),
                ids: ids.to_vec(),
            };
            let at_a_time = if module == files::FILE { files::documents::AT_A_TIME } else { ITEMS_AT_A_TIME };
            ids.chunks(at_a_time).map(piece).collect::<Vec<_>>()
        })
        .collect()
}

struct ModuleItems {
    tenant_id: i64,
    /// Whether the tenant is removed.
    is_gone: bool,
    module: String,
    ids: Vec<String>,
}

impl ModuleItems {
    async fn read(self, rows: Rows) -> Result<Vec<Change>> {
        if self.module == change_log::WHOLE_TENANT {
            return Ok(vec![Change::RemoveTenant { tenant: self.tenant_id }]);
        }
        let documents = if self.is_gone {
            Vec::new()
        } else {
            Area::of(&self.module)
                .find(rows.store.index_reader(), &rows.public_url, self.tenant_id, &self.module, &self.ids)
                .await?
        };
        let scope = Scope::new(self.tenant_id, self.module);
        // A task that has moved to another module is put there by the same change that removes it here.
        let here = documents.iter().filter(|document| document.scope == scope);
        let found: HashSet<&str> = here.map(|document| document.id.as_str()).collect();
        let gone = self.ids.iter().filter(|id| !found.contains(id.as_str()));
        let mut changes: Vec<Change> =
            gone.map(|id| Change::Remove { scope: scope.clone(), id: id.clone() }).collect();
        changes.extend(documents.into_iter().map(Change::Put));
        if scope.module == folders::removal::DIRECTORY {
            changes.extend(
                files::documents::removed(rows.store.index_reader(), self.tenant_id, &self.ids).await?,
            );
        }
        Ok(changes)
    }
}
