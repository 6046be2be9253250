//! Checks a commit's target before large reads and in the inserting transaction.

use super::{
    FILE,
    forms::{ValidatedCommit, check_limit, check_name, general},
    fresh_caller::FreshCaller,
    info::FileInfo,
    quotas::{self, QuotaScope},
    repo::{self, File, FileAuthor, Upload},
    signing::{folder_for, no_such_upload},
};
use crate::{
    auth::caller::Caller,
    blobs::{ComposedContent, contents},
    config::Limits,
    error::{BusinessCode, Result},
    platform::folders::{
        access::{Access, FolderViewer, ROOT, RequiredPermission},
        names::Name,
    },
    store::{Connection, Store, Transaction, now_millis},
};

pub(super) struct CommitTarget {
    folder: Access,
    name: Name,
    known: Option<File>,
}

#[derive(Clone, Copy)]
pub(super) struct Claim<'a> {
    pub(super) viewer: FolderViewer<'a>,
    pub(super) upload: &'a Upload,
    pub(super) commit: &'a ValidatedCommit,
    pub(super) limits: &'a Limits,
}

impl Claim<'_> {
    /// The business failures of a commit except those of the content.
    pub(super) async fn check(&self, connection: &Connection) -> Result<CommitTarget> {
        let Self { viewer, upload, commit, limits } = self;
        let missing = BusinessCode::NoParentOfFile;
        let folder = Access::require(connection, viewer, &commit.directory_id, missing).await?;
        folder.check(RequiredPermission::Upload)?;
        let name = check_name(limits, &commit.name)?;
        check_limit(commit.bytes, limits.file_bytes)?;
        if let Some(declared) = upload.declared_bytes.filter(|declared| commit.bytes > *declared) {
            return Err(general(format!("fileSize: the upload was signed for at most {declared} bytes")));
        }
        let known = repo::find_named(connection, viewer.tenant_id, &folder.id, &name.key).await?;
        if known.is_some() {
            if !commit.replaces {
                return Err(general(
                    "fileName: the folder has a file of this name; set ondup to add a version",
                ));
            }
            folder.check(RequiredPermission::Edit)?;
        }
        let counted = QuotaScope { tenant: viewer.tenant_id, root: Some(&folder.root_id), but: &upload.id };
        quotas::check(connection, counted, commit.bytes).await?;
        Ok(CommitTarget { folder, name, known })
    }
}

/// Checks a claim before large reads; errors as [`Claim::check`].
pub(super) async fn look(store: &Store, caller: &Caller, claim: Claim<'_>) -> Result<()> {
    if claim.commit.directory_id == ROOT {
        make_own_root(store, caller).await?;
    }
    claim.check(store.reader()).await.map(drop)
}

async fn make_own_root(store: &Store, caller: &Caller) -> Result<()> {
    let viewer = FolderViewer::of(caller)?;
    if Access::find(store.reader(), &viewer, ROOT).await?.is_some() {
        return Ok(());
    }
    let caller = caller.clone();
    let job = store.write(move |transaction| {
        Box::pin(async move {
            let present = FreshCaller::of(transaction, &caller).await?;
            folder_for(transaction, &present.viewer(), ROOT).await.map(drop)
        })
    });
    job.await
}

/// Errors as [`Claim::check`]; 401 or 403 for revoked callers. `None` where the content's row is gone.
pub(super) async fn put(
    transaction: &Transaction,
    caller: &Caller,
    limits: &Limits,
    commit: &ValidatedCommit,
    content: &ComposedContent,
) -> Result<Option<FileInfo>> {
    if !contents::confirm(transaction, &content.sha256, &content.store_key).await? {
        return Ok(None);
    }
    let present = FreshCaller::of(transaction, caller).await?;
    let (viewer, person) = (present.viewer(), &present.person);
    let upload = repo::find_upload(transaction, viewer.tenant_id, viewer.user_id, &commit.upload_id).await?;
    let upload = upload.ok_or_else(no_such_upload)?;
    let CommitTarget { folder, name, known } =
        Claim { viewer, upload: &upload, commit, limits }.check(transaction).await?;
    let author = FileAuthor {
        tenant_id: viewer.tenant_id,
        user_id: viewer.user_id,
        name: &person.name,
        now: now_millis(),
    };
    let content = (content.sha256.as_str(), commit.bytes);
    let file = match known {
        Some(known) => repo::replace(transaction, author, known, content).await?,
        None => repo::insert(transaction, author, &folder.id, &name, content).await?,
    };
    quotas::count(transaction, viewer.tenant_id, &folder.root_id, commit.bytes).await?;
    repo::remove_upload(transaction, &upload.id).await?;
    transaction.record_change(viewer.tenant_id, FILE, &file.id);
    Ok(Some(FileInfo::of(file, &folder)))
}
