//! Reads what changed: the change log, and the present state of every item that it names.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use futures::StreamExt;
use tokio::sync::{mpsc, watch};
use trawl_index::{Change, Document, Scope};

use crate::{
    error::{Error, Result},
    platform::{contents, tasks},
    store::{
        Store,
        change_log::{self, Entry},
    },
};

/// Rows that one step of a scan reads.
const SCAN_ROWS: u64 = 1_000;

/// Items whose documents are made and handed over at a time, which bounds memory.
const ITEMS_AT_A_TIME: usize = 500;

/// What is to be done to the index next.
pub(super) enum Step {
    /// Make these changes.
    Apply(Vec<Change>),
    /// Every change up to this position of the log was handed over, and a request ends there.
    Reach(i64),
    /// There is nothing more for now.
    CaughtUp,
}

/// Follows the change log.
pub(super) struct LogReader {
    pub(super) store: Store,
    pub(super) positions: watch::Receiver<i64>,
    /// Entries that are read together at the most, unless one request wrote more.
    pub(super) batch_changes: u64,
    /// Bounded: the reader is a few steps ahead of the index at the most.
    pub(super) steps: mpsc::Sender<Step>,
}

impl LogReader {
    /// Reads from `position` on, until nobody takes the steps any more.
    pub(super) async fn run(mut self, mut position: i64) -> Result<()> {
        loop {
            self.positions.mark_unchanged();
            let entries = self.next_batch(position).await?;
            let Some(last) = entries.last().map(|entry| entry.position) else {
                if self.steps.send(Step::CaughtUp).await.is_err() {
                    return Ok(());
                }
                self.positions.changed().await.map_err(Error::internal)?;
                continue;
            };
            // The next pieces are read while the ones before them are indexed.
            let store = self.store.clone();
            let mut changes = futures::stream::iter(pieces(entries))
                .map(move |piece| tokio::spawn(piece.read(store.clone())))
                .buffered(2);
            while let Some(changes) = changes.next().await {
                if self.steps.send(Step::Apply(changes.map_err(Error::internal)??)).await.is_err() {
                    return Ok(());
                }
            }
            position = last;
            if self.steps.send(Step::Reach(position)).await.is_err() {
                return Ok(());
            }
        }
    }

    /// The next entries, cut where a request ends: what one call changed becomes visible together.
    async fn next_batch(&self, position: i64) -> Result<Vec<Entry>> {
        let mut limit = self.batch_changes;
        loop {
            let mut entries = change_log::entries_after(self.store.reader(), position, limit).await?;
            if let Some(end) = entries.iter().rposition(|entry| entry.is_last) {
                entries.truncate(end + 1);
                return Ok(entries);
            }
            if entries.is_empty() {
                return Ok(entries);
            }
            limit *= 2;
        }
    }
}

/// The items that the entries name, each once, in pieces of one module. The end of a whole tenant, whose place is that of a
/// module without a name, comes before what the tenant has now.
fn pieces(entries: Vec<Entry>) -> Vec<Piece> {
    let mut items: BTreeMap<(i64, String), BTreeSet<String>> = BTreeMap::new();
    for key in entries.into_iter().map(Entry::into_key) {
        items.entry((key.tenant_id, key.module)).or_default().insert(key.item_id);
    }
    items
        .into_iter()
        .flat_map(|((tenant_id, module), ids)| {
            let ids: Vec<String> = ids.into_iter().collect();
            let piece = |ids: &[String]| Piece { tenant_id, module: module.clone(), ids: ids.to_vec() };
            ids.chunks(ITEMS_AT_A_TIME).map(piece).collect::<Vec<_>>()
        })
        .collect()
}

/// The areas of the platform whose rows are searched.
#[derive(Clone, Copy)]
pub(super) enum Area {
    Contents,
    Tasks,
}

impl Area {
    /// Every area.
    pub(super) const ALL: [Self; 2] = [Self::Contents, Self::Tasks];

    /// The area that a built-in module's items belong to.
    fn of(module: &str) -> Self {
        match module {
            tasks::documents::TODO => Self::Tasks,
            _ => Self::Contents,
        }
    }

    async fn find(
        self,
        store: &Store,
        tenant_id: i64,
        module: &str,
        ids: &[String],
    ) -> Result<Vec<Document>> {
        match self {
            Self::Contents => contents::documents::find(store.reader(), tenant_id, module, ids).await,
            Self::Tasks => tasks::documents::find(store.reader(), tenant_id, ids).await,
        }
    }

    /// Its name, for the note of how far a filling is.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Contents => "contents",
            Self::Tasks => "tasks",
        }
    }

    /// How many documents a scan from the beginning gives.
    pub(super) async fn count(self, store: &Store) -> Result<u64> {
        let count = match self {
            Self::Contents => contents::documents::count(store.reader()).await?,
            Self::Tasks => tasks::documents::count(store.reader()).await?,
        };
        Ok(u64::try_from(count).unwrap_or_default())
    }

    /// The next documents after a row's number, and the last one's number.
    pub(super) async fn scan(self, store: &Store, sequence: i64) -> Result<Option<(Vec<Document>, i64)>> {
        match self {
            Self::Contents => contents::documents::scan(store.reader(), sequence, SCAN_ROWS).await,
            Self::Tasks => tasks::documents::scan(store.reader(), sequence, SCAN_ROWS).await,
        }
    }
}

/// Items of one module that changed.
struct Piece {
    tenant_id: i64,
    module: String,
    ids: Vec<String>,
}

impl Piece {
    /// Brings the index to their present state: puts what is there and removes what is not.
    async fn read(self, store: Store) -> Result<Vec<Change>> {
        if self.module == change_log::WHOLE_TENANT {
            return Ok(vec![Change::RemoveTenant { tenant: self.tenant_id }]);
        }
        let documents = Area::of(&self.module).find(&store, self.tenant_id, &self.module, &self.ids).await?;
        let scope = Scope::new(self.tenant_id, self.module);
        let found: HashSet<&str> = documents.iter().map(|document| document.id.as_str()).collect();
        let gone = self.ids.iter().filter(|id| !found.contains(id.as_str()));
        let mut changes: Vec<Change> =
            gone.map(|id| Change::Remove { scope: scope.clone(), id: id.clone() }).collect();
        changes.extend(documents.into_iter().map(Change::Put));
        Ok(changes)
    }
}
