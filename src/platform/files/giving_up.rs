//! Giving an upload up before it is committed: what it has reserved of quotas is free again, and what was sent for it goes.

use std::sync::Arc;

use super::{commit::discard, person::Present, repo, signing::no_such_upload};
use crate::{app::App, auth::caller::Caller, error::Result};

/// Ends an upload of the caller's, whichever way it came.
///
/// # Errors
/// A general failure where he has no such upload, or it is being committed; 401 and 403 where he may not call any more.
pub(super) async fn give_up(app: &App, caller: Arc<Caller>, upload_id: String) -> Result<()> {
    let user_id = &caller.require_user()?.person.user_id;
    // Others' are unknown, also while they are being committed.
    let upload = repo::find_upload(app.store.reader(), caller.tenant.id, user_id, &upload_id).await?;
    let _begun = app.commits.begin(&upload.ok_or_else(no_such_upload)?.id)?;
    let id = upload_id.clone();
    let job = app.store.write(move |transaction| {
        Box::pin(async move {
            let present = Present::of(transaction, &caller).await?;
            let seer = present.seer();
            let upload = repo::find_upload(&**transaction, seer.tenant_id, seer.user_id, &id).await?;
            repo::remove_upload(transaction, &upload.ok_or_else(no_such_upload)?.id).await?;
            Ok(())
        })
    });
    job.await?;
    discard(app, &upload_id).await;
    Ok(())
}
