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

/// Reads the rows, hands those that can be read to `apply` in one transaction, and answers every failure.
///
/// # Errors
/// 400 when there are more rows than `limits.sync_items`.
pub async fn synchronise<T, A>(
    app: &Arc<App>,
    caller: &Caller,
    rows: &[Box<RawValue>],
    id_field: &str,
    apply: A,
) -> Result<Envelope<Vec<SyncFailure>>>
where
    T: DeserializeOwned + Send + 'static,
    A: for<'a> FnOnce(&'a Transaction, i64, Vec<T>) -> WriteFuture<'a, Vec<SyncFailure>> + Send + 'static,
{
    let (changes, mut failures) = read_rows(rows, id_field, app.config.limits.sync_items)?;
    let tenant_id = caller.tenant.id;
    let remembering = Arc::clone(app);
    let refused = app.store.write(move |transaction| {
        // What callers may see hangs on people and departments.
        transaction.after_commit(move || remembering.authenticator.forget_callers(tenant_id));
        apply(transaction, tenant_id, changes)
    });
    failures.extend(refused.await?);
    Ok(Envelope::list(failures))
}

/// Reads the rows of a synchronisation; a row that cannot be read is a failure of its own.
///
/// # Errors
/// 400 when there are more than `most`.
pub fn read_rows<T: DeserializeOwned>(
    rows: &[Box<RawValue>],
    id_field: &str,
    most: usize,
) -> Result<(Vec<T>, Vec<SyncFailure>)> {
    if rows.len() > most {
        return Err(Error::bad_request(format!("body: must hold at most {most} rows, not {}", rows.len())));
    }
    let mut read = Vec::with_capacity(rows.len());
    let mut failures = Vec::new();
    for raw in rows {
        match json::read_object(raw.get().as_bytes()) {
            Ok(row) => read.push(row),
            Err(message) => failures.push(SyncFailure { id: json::field_as_text(raw, id_field), message }),
        }
    }
    Ok((read, failures))
}
