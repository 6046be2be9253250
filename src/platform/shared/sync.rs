//! Directory synchronisation.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::{
    auth::caller::Caller,
    error::{Error, Result},
    http::envelope::Envelope,
    index_progress::BulkGate,
    json,
    platform::shared::patch::SyncFailure,
    store::{Cached, Store, Transaction, WriteFuture},
};

/// State for writing a synchronisation.
#[derive(Clone)]
pub struct Synchronisation {
    pub(crate) store: Store,
    pub(crate) bulk: BulkGate,
}

/// Parsed rows, and failures of the others.
#[derive(Debug)]
pub struct ParsedRows<T> {
    /// Parsed rows in order.
    pub rows: Vec<T>,
    /// Failures of unreadable rows.
    pub failures: Vec<SyncFailure>,
}

/// Unreadable rows fail alone, under `id_field` or position.
pub async fn read_rows<T: DeserializeOwned + Send + 'static>(
    rows: Vec<Box<RawValue>>,
    id_field: &'static str,
    id_of: fn(&T) -> &str,
) -> Result<ParsedRows<T>> {
    // Parsing would block the runtime.
    tokio::task::spawn_blocking(move || {
        let mut read = ParsedRows { rows: Vec::with_capacity(rows.len()), failures: Vec::new() };
        for (place, raw) in (1_usize..).zip(rows) {
            match json::read_object::<T>(raw.get().as_bytes()) {
                Ok(row) if id_of(&row).is_empty() => {
                    let message = format!("row {place}: {id_field}: is required");
                    read.failures.push(SyncFailure { id: String::new(), message });
                }
                Ok(row) => read.rows.push(row),
                Err(message) => {
                    let id = json::field_as_text(&raw, id_field);
                    let message = if id.is_empty() { format!("row {place}: {message}") } else { message };
                    read.failures.push(SyncFailure { id, message });
                }
            }
        }
        read
    })
    .await
    .map_err(Error::internal)
}

/// One transaction; `apply` returns failures and whether anything changed.
pub async fn write<T, A>(
    sync: &Synchronisation,
    caller: &Arc<Caller>,
    rows: ParsedRows<T>,
    apply: A,
) -> Result<Envelope<Vec<SyncFailure>>>
where
    T: Send + 'static,
    A: for<'a> FnOnce(&'a Transaction, Vec<T>) -> WriteFuture<'a, (Vec<SyncFailure>, bool)> + Send + 'static,
{
    let ParsedRows { rows, mut failures } = rows;
    if rows.is_empty() {
        return Ok(Envelope::list(failures));
    }
    sync.bulk.wait_for_room(rows.len()).await?;
    let tenant_id = caller.tenant.id;
    let calling = Arc::clone(caller);
    let refused = sync.store.write(move |transaction| {
        Box::pin(async move {
            // Access may have ended meanwhile.
            calling.confirm(transaction).await?;
            let (refused, is_changed) = apply(transaction, rows).await?;
            if is_changed {
                // Cached principals depend on the directory.
                transaction.invalidate(Cached::Identities(tenant_id));
            }
            Ok(refused)
        })
    });
    failures.extend(refused.await?);
    Ok(Envelope::list(failures))
}

/// Page without total.
pub fn page<T>(rows: Vec<T>) -> Envelope<Vec<T>> {
    Envelope { count: Some(rows.len()), ..Envelope::of(rows) }
}
