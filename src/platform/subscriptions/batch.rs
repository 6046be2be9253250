//! One transaction of a run: items, facts of their entries, and progress.

use std::collections::HashMap;

use super::{
    repo::{self, RunEnd, SubscriptionRow},
    schedule::oldest_kept,
};
use crate::{
    error::Result,
    platform::contents::{forms::Content, service as contents},
    replicas::Fence,
    store::{Connection, FromRow, Json, ROWS_PER_STATEMENT, Transaction, Value, find_in, sql},
};

/// The progress of a run that a batch writes.
#[derive(Debug)]
pub(super) enum RunProgress {
    /// Nothing: a run that is cut off reads the same entries again.
    Stay,
    /// Moves the position.
    Page(String),
    /// Ends the run; its counts are without this batch's.
    End(Box<RunEnd>),
}

/// An item as its source has it.
#[derive(Debug)]
pub(super) struct NewItem {
    pub(super) content: Content,
    /// Equal while the entry is.
    pub(super) hash: String,
}

/// Items to write, and ids of items that the source has dropped.
#[derive(Debug, Default)]
pub(super) struct ItemBatch {
    pub(super) items: Vec<NewItem>,
    pub(super) gone: Vec<String>,
}

/// The changes of a batch.
#[derive(Debug)]
pub(super) struct ChangeCounts {
    pub(super) added: u64,
    pub(super) changed: u64,
    pub(super) removed: u64,
}

/// Read entries beside what is known of them.
#[derive(Default)]
pub(super) struct Compared {
    pub(super) changed: Vec<ChangedEntry>,
    /// Known entries that are too old.
    pub(super) aged: Vec<String>,
}

#[derive(Clone, Debug, FromRow)]
struct KnownEntry {
    item_id: String,
    hash: Option<String>,
    first_seen: i64,
}

/// An entry that is new or has changed.
pub(super) struct ChangedEntry {
    pub(super) item: NewItem,
    is_new: bool,
    first_seen: i64,
    shown_at: i64,
}

/// Writes a batch of the run that began with `begun`.
///
/// `None` if the subscription was changed or removed meanwhile.
pub(super) async fn write(
    transaction: &Transaction,
    (begun, fence): (&SubscriptionRow, &Fence),
    batch: ItemBatch,
    progress: RunProgress,
    now: i64,
) -> Result<Option<ChangeCounts>> {
    fence.confirm(transaction).await?;
    let (tenant_id, id) = (begun.tenant_id, begun.settings.id.as_str());
    let present = repo::find(transaction, tenant_id, id).await?;
    if present.is_none_or(|row| row.revision != begun.revision) {
        return Ok(None);
    }
    // Upkeep may have removed items since the first comparison.
    let changed = compare(transaction, begun, batch.items, now).await?.changed;
    put(transaction, begun, &changed).await?;
    let added = changed.iter().filter(|entry| entry.is_new).count() as u64;
    let removed = remove(transaction, begun, &batch.gone).await?;
    let written = ChangeCounts { added, changed: changed.len() as u64 - added, removed };
    let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    repo::count_items(transaction, tenant_id, id, count(written.added) - count(written.removed)).await?;
    match progress {
        RunProgress::Stay => {}
        RunProgress::Page(position) => repo::set_position(transaction, tenant_id, id, &position).await?,
        RunProgress::End(mut end) => {
            end.last_run.added += written.added;
            end.last_run.changed += written.changed;
            end.last_run.removed += written.removed;
            repo::end_run(transaction, begun, &end).await?;
        }
    }
    Ok(Some(written))
}

/// Finds the entries that need a write, and those that are too old.
pub(super) async fn compare(
    connection: &Connection,
    begun: &SubscriptionRow,
    items: Vec<NewItem>,
    now: i64,
) -> Result<Compared> {
    let ids: Vec<&str> = items.iter().map(|item| item.content.id.as_str()).collect();
    let text = "SELECT item_id, hash, first_seen FROM subscription_items \
                WHERE tenant_id = ? AND subscription_id = ? AND item_id";
    let of_subscription = [begun.tenant_id.into(), begun.settings.id.as_str().into()];
    let known = find_in::<KnownEntry>(connection, text, &of_subscription, &ids).await?;
    let mut known: HashMap<String, KnownEntry> =
        known.into_iter().map(|entry| (entry.item_id.clone(), entry)).collect();
    let oldest = oldest_kept(now, begun.settings.keep_days);
    let mut compared = Compared::default();
    for item in items {
        let entry = known.remove(&item.content.id);
        let first_seen = entry.as_ref().map_or(now, |entry| entry.first_seen);
        let shown_at = item.content.display_time.unwrap_or(first_seen);
        if shown_at < oldest {
            compared.aged.extend(entry.map(|entry| entry.item_id));
            continue;
        }
        let hash = entry.and_then(|entry| entry.hash);
        if hash.as_ref() != Some(&item.hash) {
            compared.changed.push(ChangedEntry { item, is_new: hash.is_none(), first_seen, shown_at });
        }
    }
    Ok(compared)
}

async fn put(transaction: &Transaction, begun: &SubscriptionRow, changed: &[ChangedEntry]) -> Result<()> {
    let visibility = begun.settings.visibility.as_ref().map(|Json(visibility)| visibility);
    let shown =
        |entry: &ChangedEntry| Content { visibility: visibility.cloned(), ..entry.item.content.clone() };
    let items: Vec<Content> = changed.iter().map(shown).collect();
    contents::put_items(transaction, begun.tenant_id, &begun.settings.module, &items).await?;
    for chunk in changed.chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "INSERT INTO subscription_items (tenant_id, subscription_id, item_id, hash, first_seen, shown_at, audience) \
             VALUES {} ON CONFLICT (tenant_id, subscription_id, item_id) DO UPDATE SET hash = excluded.hash, \
             shown_at = excluded.shown_at, audience = excluded.audience",
            vec!["(?, ?, ?, ?, ?, ?, ?)"; chunk.len()].join(", ")
        );
        let values = chunk.iter().flat_map(|entry| {
            [
                Value::from(begun.tenant_id),
                begun.settings.id.as_str().into(),
                entry.item.content.id.as_str().into(),
                entry.item.hash.as_str().into(),
                entry.first_seen.into(),
                entry.shown_at.into(),
                begun.audience.into(),
            ]
        });
        sql(text, values).execute(transaction).await?;
    }
    Ok(())
}

/// Removes items and forgets their entries; returns the number of items.
async fn remove(transaction: &Transaction, begun: &SubscriptionRow, gone: &[String]) -> Result<u64> {
    let (tenant_id, settings) = (begun.tenant_id, &begun.settings);
    contents::remove_items(transaction, tenant_id, &settings.module, gone).await?;
    Ok(repo::forget_entries(transaction, tenant_id, &settings.id, gone).await?)
}
