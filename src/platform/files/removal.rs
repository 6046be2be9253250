//! Deleting files: all that are named, or none (decisions 10.7).

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{
    FILE, quotas,
    repo::{self, File},
    signing::no_such_file,
};
use crate::{
    app::App,
    auth::caller::Caller,
    error::Result,
    platform::directories::access::{Access, Needed, Seer},
    store::Transaction,
};

/// Deletes files with all their versions.
///
/// # Errors
/// 430003 where one is not there or the caller may not read it, 430011 where he may not delete one, 430017 where somebody else's
/// lock forbids it.
pub(super) async fn delete(app: &Arc<App>, caller: Arc<Caller>, ids: Vec<String>) -> Result<()> {
    let remembering = Arc::clone(app);
    let job = app.store.write(move |transaction| {
        // Contents that nobody has any more go soon.
        transaction.after_commit(move || remembering.upkeep.wake());
        Box::pin(async move { delete_all(transaction, &Seer::of(&caller)?, &ids).await })
    });
    job.await
}

async fn delete_all(transaction: &Transaction, seer: &Seer<'_>, ids: &[String]) -> Result<()> {
    let files = repo::find(&**transaction, seer.tenant_id, ids).await?;
    if files.len() < ids.len() {
        return Err(no_such_file());
    }
    let folders = folders_of(transaction, seer, &files).await?;
    for folder in folders.values() {
        folder.check(Needed::Delete)?;
    }
    let mut freed: BTreeMap<&str, i64> = BTreeMap::new();
    for file in &files {
        if let Some(folder) = folders.get(file.directory_id.as_str()) {
            *freed.entry(&folder.root_id).or_default() += file.stored_bytes;
        }
        repo::remove(transaction, seer.tenant_id, &file.id).await?;
        transaction.record_change(seer.tenant_id, FILE, &file.id);
    }
    for (root_id, bytes) in freed {
        quotas::count(transaction, seer.tenant_id, root_id, -bytes).await?;
    }
    Ok(())
}

/// The folders that the files are in, all of which the person may read.
async fn folders_of<'f>(
    transaction: &Transaction,
    seer: &Seer<'_>,
    files: &'f [File],
) -> Result<HashMap<&'f str, Access>> {
    let mut folders = HashMap::new();
    for file in files {
        if !folders.contains_key(file.directory_id.as_str()) {
            let folder =
                Access::find(&**transaction, seer, &file.directory_id).await?.ok_or_else(no_such_file)?;
            folders.insert(file.directory_id.as_str(), folder);
        }
    }
    Ok(folders)
}
