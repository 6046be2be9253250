//! What the directory's synchronisations share.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::envelope::Envelope;
use crate::{
    app::App,
    auth::caller::Caller,
    error::{Error, Result},
    json,
    platform::common::SyncFailure,
    store::{Transaction, WriteFuture},
};

/// The rows of a synchronisation that could be read, and why the others could not.
#[derive(Debug)]
pub struct Rows<T> {
    /// Those that could, in their order.
    pub rows: Vec<T>,
    /// Why the others could not.
    pub failures: Vec<SyncFailure>,
}

/// Reads the rows of a synchronisation; one that cannot be read is a failure of its own, under what stands in `id_field`.
///
/// # Errors
/// 400 when there are more rows than `most`.
pub async fn read_rows<T: DeserializeOwned + Send + 'static>(
    rows: Vec<Box<RawValue>>,
    id_field: &'static str,
    most: usize,
) -> Result<Rows<T>> {
    if rows.len() > most {
        return Err(Error::bad_request(format!("body: must hold at most {most} rows, not {}", rows.len())));
    }
    // Many rows take a while, in which the runtime has other requests to serve.
    tokio::task::spawn_blocking(move || {
        let mut read = Rows { rows: Vec::with_capacity(rows.len()), failures: Vec::new() };
        for raw in rows {
            match json::read_object(raw.get().as_bytes()) {
                Ok(row) => read.rows.push(row),
                Err(message) => {
                    read.failures.push(SyncFailure { id: json::field_as_text(&raw, id_field), message });
                }
            }
        }
        read
    })
    .await
    .map_err(Error::internal)
}

/// Hands the rows to `apply` in one transaction, and answers every failure. `apply` gives its failures, and whether it changed
/// anything.
///
/// # Errors
/// 503 where the store or the index cannot take it now.
pub async fn write<T, A>(
    app: &Arc<App>,
    caller: &Arc<Caller>,
    rows: Rows<T>,
    apply: A,
) -> Result<Envelope<Vec<SyncFailure>>>
where
    T: Send + 'static,
    A: for<'a> FnOnce(&'a Transaction, Vec<T>) -> WriteFuture<'a, (Vec<SyncFailure>, bool)> + Send + 'static,
{
    let Rows { rows, mut failures } = rows;
    if rows.is_empty() {
        return Ok(Envelope::list(failures));
    }
    app.bulk.wait_for_room(rows.len()).await?;
    let tenant_id = caller.tenant.id;
    let (remembering, calling) = (Arc::clone(app), Arc::clone(caller));
    let refused = app.store.write(move |transaction| {
        Box::pin(async move {
            // Hashing passwords and waiting for the index take long.
            calling.confirm(transaction).await?;
            let (refused, is_changed) = apply(transaction, rows).await?;
            if is_changed {
                // What callers may see hangs on people and departments.
                transaction.after_commit(move || remembering.authenticator.forget_callers(tenant_id));
            }
            Ok(refused)
        })
    });
    failures.extend(refused.await?);
    Ok(Envelope::list(failures))
}

/// A page of a list whose total is not counted.
pub fn page<T>(rows: Vec<T>) -> Envelope<Vec<T>> {
    Envelope { count: Some(rows.len()), ..Envelope::of(rows) }
}
