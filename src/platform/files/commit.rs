//! Commits of uploads. A crash leaves no content without a row.

use std::{
    collections::HashMap,
    pin::pin,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use bytes::Bytes;
use futures::{StreamExt, stream};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::sleep,
};
use tracing::Instrument;

use super::{
    commit_transaction::{self, Claim},
    forms::{UploadKind, ValidatedCommit, general},
    info::FileInfo,
    parts,
    repo::{self, NotedContent, Upload},
    signing::no_such_upload,
};
use crate::{
    auth::caller::Caller,
    blobs::{
        ComposedContent, Pieces, UploadPart,
        scanning::{Scanner, Verdict},
    },
    error::{BusinessCode, Error, Result},
    platform::{files::FilesState, folders::access::FolderViewer},
    replicas::{Lease, Leases},
    store::now_millis,
};

const COMMITS_AT_ONCE: usize = 64;

/// Others wait without taking a shared permit.
const OF_A_PERSON_AT_ONCE: usize = 8;

const MANY_PEOPLE: usize = 1_000;

const PIECES_AHEAD: usize = 4;

/// Attempts to keep a content that is removed with its last file.
const KEPT_AGAIN: usize = 3;

/// Interval at which a commit renews its note against sweeps (`blobs::contents`).
const NOTED_AGAIN: Duration = Duration::from_mins(3);

/// Commits in progress.
pub struct FileCommits {
    places: Arc<Semaphore>,
    of_people: Mutex<HashMap<(i64, String), Weak<Semaphore>>>,
    leases: Leases,
}

struct CommitPermits {
    _own: OwnedSemaphorePermit,
    _common: OwnedSemaphorePermit,
}

impl FileCommits {
    /// No commits yet; `leases` are those of uploads, too.
    pub fn new(leases: Leases) -> Self {
        Self { places: Arc::new(Semaphore::new(COMMITS_AT_ONCE)), of_people: Mutex::default(), leases }
    }

    /// Waits for the person's permit first.
    async fn wait(&self, caller: &Caller) -> Result<CommitPermits> {
        let of_person = self.places_of(caller.tenant.id, &caller.require_user()?.person.user_id);
        let own = of_person.acquire_owned().await.map_err(Error::internal)?;
        let common = Arc::clone(&self.places).acquire_owned().await.map_err(Error::internal)?;
        Ok(CommitPermits { _own: own, _common: common })
    }

    fn places_of(&self, tenant_id: i64, user_id: &str) -> Arc<Semaphore> {
        let mut of_people = self.of_people.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (tenant_id, user_id.to_owned());
        if let Some(places) = of_people.get(&key).and_then(Weak::upgrade) {
            return places;
        }
        if of_people.len() > MANY_PEOPLE {
            of_people.retain(|_, places| places.strong_count() > 0);
        }
        let places = Arc::new(Semaphore::new(OF_A_PERSON_AT_ONCE));
        of_people.insert(key, Arc::downgrade(&places));
        places
    }

    /// Locks out other commits and the abort, at every replica, until dropped.
    pub(super) async fn begin(&self, upload_id: &str) -> Result<Lease> {
        let lease = self.leases.try_acquire(&format!("upload:{upload_id}")).await?;
        lease.ok_or_else(|| general("uploadId: this upload is being committed by another call"))
    }
}

/// Continues if the client disconnects. Fails with the business failures of a commit (book: reference/errors.md).
pub(super) async fn commit(
    state: &FilesState,
    caller: Arc<Caller>,
    commit: ValidatedCommit,
) -> Result<FileInfo> {
    let places = state.commits.wait(&caller).await?;
    let (state, texts) = (state.clone(), &state.texts);
    let going_on = async move {
        let _places = places;
        run(&state, &caller, commit).await
    };
    let file = tokio::spawn(going_on.in_current_span()).await.map_err(Error::internal)??;
    // The file is searchable by its text shortly after the response.
    texts.wait(&file.id).await;
    Ok(file)
}

async fn run(state: &FilesState, caller: &Arc<Caller>, commit: ValidatedCommit) -> Result<FileInfo> {
    let upload = find(state, caller, &commit).await?;
    let begun = state.commits.begin(&upload.id).await?;
    let outcome = run_alone(state, caller, upload, commit).await;
    // The upload is free before the answer, since the caller may commit again or give up.
    begun.release().await;
    outcome
}

async fn run_alone(
    state: &FilesState,
    caller: &Arc<Caller>,
    upload: Upload,
    commit: ValidatedCommit,
) -> Result<FileInfo> {
    let claim =
        Claim { viewer: FolderViewer::of(caller)?, upload: &upload, commit: &commit, limits: &state.limits };
    commit_transaction::look(&state.store, caller, claim).await?;
    let chosen = choose(state, &commit).await?;
    let file = make(state, caller, &upload, &commit, &chosen).await?;
    discard(state, &upload.id).await;
    Ok(file)
}

/// `storage/contents` removes any remainder.
pub(super) async fn discard(state: &FilesState, upload_id: &str) {
    if let Err(error) = state.blobs.discard(upload_id).await {
        tracing::warn!(%error, "the remains of an upload could not be removed yet");
    }
}

async fn make(
    state: &FilesState,
    caller: &Arc<Caller>,
    upload: &Upload,
    commit: &ValidatedCommit,
    chosen: &[UploadPart],
) -> Result<FileInfo> {
    for _ in 0..KEPT_AGAIN {
        let (content, verdict) = compose(state, &upload.id, chosen).await?;
        let keeping = async {
            check_verdict(&verdict?)?;
            check_content(&content, upload, commit)?;
            keep(state, caller, commit.clone(), content.clone()).await
        };
        let kept = keeping.await;
        if let Ok(Some(file)) = kept {
            return Ok(file);
        }
        // Quotas do not count composed contents, and commits can be repeated.
        if let Err(error) = state.blobs.remove_composed(&upload.id, &content).await {
            tracing::warn!(%error, "the composed content of a refused commit could not be removed");
        }
        kept?;
    }
    Err(Error::unavailable("the content was removed meanwhile; commit again", Duration::from_secs(1)))
}

async fn find(state: &FilesState, caller: &Caller, commit: &ValidatedCommit) -> Result<Upload> {
    let user_id = &caller.require_user()?.person.user_id;
    let found = repo::find_upload(state.store.reader(), caller.tenant.id, user_id, &commit.upload_id).await?;
    let upload = found.ok_or_else(no_such_upload)?;
    match (commit.way, upload.is_multipart) {
        (UploadKind::Single, true) => Err(general(
            "uploadId: this is a multipart upload; commit it by /v1/stream/multipart/upload/commit",
        )),
        (UploadKind::Multipart, false) => {
            Err(general("uploadId: this is not a multipart upload; commit it by /v1/stream/upload/commit"))
        }
        _ => Ok(upload),
    }
}

async fn choose(state: &FilesState, commit: &ValidatedCommit) -> Result<Vec<UploadPart>> {
    let sent = state.blobs.parts(&commit.upload_id).await?;
    let chosen = match commit.way {
        UploadKind::Single if sent.is_empty() => {
            return Err(general("uploadId: nothing has been sent to this upload's address"));
        }
        UploadKind::Single => sent,
        UploadKind::Multipart => {
            parts::choose(&commit.parts, &sent, state.limits.part_bytes).map_err(general)?
        }
    };
    check_size(chosen.iter().map(|part| part.size).sum(), commit)?;
    Ok(chosen)
}

fn check_size(bytes: u64, commit: &ValidatedCommit) -> Result<()> {
    if u64::try_from(commit.bytes).is_ok_and(|expected| expected == bytes) {
        return Ok(());
    }
    Err(general(format!("fileSize: {bytes} bytes were received, not {}", commit.bytes)))
}

/// The scanner reads along.
async fn compose(
    state: &FilesState,
    upload_id: &str,
    chosen: &[UploadPart],
) -> Result<(ComposedContent, Result<Verdict>)> {
    let Some(scanner) = &state.scanner else {
        return Ok((state.blobs.compose(upload_id, chosen, None).await?, Ok(Verdict::Safe)));
    };
    let (tap, pieces) = mpsc::channel(PIECES_AHEAD);
    let (composed, verdict) =
        tokio::join!(state.blobs.compose(upload_id, chosen, Some(tap)), scan(scanner.as_ref(), pieces));
    Ok((composed?, verdict))
}

fn check_verdict(verdict: &Verdict) -> Result<()> {
    let Verdict::Unsafe(what) = verdict else { return Ok(()) };
    tracing::warn!(what, "an unsafe file was refused");
    Err(unsafe_file())
}

async fn scan(scanner: &dyn Scanner, pieces: mpsc::Receiver<Bytes>) -> Result<Verdict> {
    let pieces: Pieces =
        stream::unfold(pieces, async |mut pieces| pieces.recv().await.map(|piece| (Ok(piece), pieces)))
            .boxed();
    scanner.scan(pieces).await
}

fn unsafe_file() -> Error {
    Error::business(BusinessCode::UnsafeFile, "the file is unsafe")
}

fn check_content(content: &ComposedContent, upload: &Upload, commit: &ValidatedCommit) -> Result<()> {
    check_size(content.size, commit)?;
    for (expected, given) in
        [(&commit.sha256, "given"), (&upload.declared_sha256, "given when the upload was signed")]
    {
        if expected.as_ref().is_some_and(|expected| *expected != content.sha256) {
            return Err(general(format!(
                "fileHash: the received content has another SHA-256 than was {given}"
            )));
        }
    }
    Ok(())
}

/// `None`: the content's row was removed before its version was written.
async fn keep(
    state: &FilesState,
    caller: &Arc<Caller>,
    commit: ValidatedCommit,
    mut content: ComposedContent,
) -> Result<Option<FileInfo>> {
    let noted_at = now_millis();
    content.store_key = note(state, &content, noted_at).await?;
    let outcome = keep_noted(state, caller, commit, &content).await;
    match &outcome {
        Ok(Some(_)) => {}
        // A sweep may have forgotten the key, which it removed before the content was there.
        Ok(None) => {
            if let Err(error) = state.blobs.remove(&content.store_key).await {
                tracing::warn!(%error, content.store_key, "a content without a row could not be removed");
            }
        }
        Err(_) => withdraw_note(state, content.sha256, noted_at).await,
    }
    outcome
}

async fn keep_noted(
    state: &FilesState,
    caller: &Arc<Caller>,
    commit: ValidatedCommit,
    content: &ComposedContent,
) -> Result<Option<FileInfo>> {
    {
        let mut keeping = pin!(state.blobs.keep(&commit.upload_id, content));
        loop {
            tokio::select! {
                kept = &mut keeping => break kept?,
                () = sleep(NOTED_AGAIN) => drop(note(state, content, now_millis()).await?),
            }
        }
    }
    let (caller, limits, content) = (Arc::clone(caller), state.limits.clone(), content.clone());
    let job = state.store.write(move |transaction| {
        Box::pin(
            async move { commit_transaction::put(transaction, &caller, &limits, &commit, &content).await },
        )
    });
    job.await
}

/// Lets the next sweep look at the content of a refused commit.
async fn withdraw_note(state: &FilesState, sha256: String, noted_at: i64) {
    let job = state.store.write(move |transaction| {
        Box::pin(async move { Ok(repo::withdraw_note(transaction, &sha256, noted_at).await?) })
    });
    if let Err(error) = job.await {
        tracing::warn!(%error, "the content of a refused commit is removed later");
    }
}

/// Inserts the content's row before the content. Returns the content's key.
async fn note(state: &FilesState, content: &ComposedContent, now: i64) -> Result<String> {
    let (store, content) = (state.blobs.name(), content.clone());
    let job = state.store.write(move |transaction| {
        Box::pin(async move { Ok(repo::note_content(transaction, store, &content, now).await?) })
    });
    // An earlier scan may have found this content unsafe.
    let NotedContent { store_key, verdict } = job.await?;
    verdict.map_or(Ok(store_key), |_verdict| Err(unsafe_file()))
}
