use std::sync::Arc;

use super::{commit::discard, fresh_caller::FreshCaller, repo, signing::no_such_upload};
use crate::{auth::caller::Caller, error::Result, platform::files::FilesState};

/// Aborts the caller's upload. Fails if it is unknown or being committed.
pub(super) async fn cancel(state: &FilesState, caller: Arc<Caller>, upload_id: String) -> Result<()> {
    let user_id = &caller.require_user()?.person.user_id;
    // Uploads of other people are unknown, even during their commit.
    let upload = repo::find_upload(state.store.reader(), caller.tenant.id, user_id, &upload_id).await?;
    let begun = state.commits.begin(&upload.ok_or_else(no_such_upload)?.id).await?;
    let id = upload_id.clone();
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let present = FreshCaller::of(transaction, &caller).await?;
            let viewer = present.viewer();
            let upload = repo::find_upload(transaction, viewer.tenant_id, viewer.user_id, &id).await?;
            repo::remove_upload(transaction, &upload.ok_or_else(no_such_upload)?.id).await?;
            Ok(())
        })
    });
    let removed = job.await;
    if removed.is_ok() {
        discard(state, &upload_id).await;
    }
    begun.release().await;
    removed
}
