//! Commits: from parts that came in to a file that is there (decisions 10.4). Each step leaves things so that a crash behind it
//! loses nothing that was there and keeps nothing that no row tells of.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError, Weak},
};

use bytes::Bytes;
use futures::{StreamExt, stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tracing::Instrument;

use super::{
    forms::{Wanted, Way, general},
    info::FileInfo,
    parts,
    placing::{self, Claim},
    repo::{self, Upload},
    signing::no_such_upload,
};
use crate::{
    app::App,
    auth::caller::Caller,
    error::{BusinessCode, Error, Result},
    platform::directories::access::Seer,
    scanner::{Scanner, Verdict},
    storage::{Composed, Part, Pieces},
    store::now_millis,
};

/// Commits that go on at once; further ones wait.
const COMMITS_AT_ONCE: usize = 64;

/// Commits of one person that go on at once; further ones wait for his own, and take nobody else's places.
const OF_A_PERSON_AT_ONCE: usize = 8;

/// With more people than these, it is looked whether they are at work.
const MANY_PEOPLE: usize = 1_000;

/// Pieces of a content that wait for the scanner.
const PIECES_AHEAD: usize = 4;

/// The commits that go on.
pub struct Commits {
    places: Arc<Semaphore>,
    /// The places of people who are at work, by tenant and user id.
    of_people: Mutex<HashMap<(i64, String), Weak<Semaphore>>>,
    /// The uploads that are being committed.
    uploads: Arc<Mutex<HashSet<String>>>,
}

impl Default for Commits {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(COMMITS_AT_ONCE)),
            of_people: Mutex::default(),
            uploads: Arc::default(),
        }
    }
}

/// A person's place and one of the common ones, for as long as it is kept.
struct Places {
    _own: OwnedSemaphorePermit,
    _common: OwnedSemaphorePermit,
}

impl Commits {
    /// Waits for a place of the person's, and only then for one of those that all share.
    async fn wait(&self, caller: &Caller) -> Result<Places> {
        let of_person = self.places_of(caller.tenant.id, &caller.require_user()?.person.user_id);
        let own = of_person.acquire_owned().await.map_err(Error::internal)?;
        let common = Arc::clone(&self.places).acquire_owned().await.map_err(Error::internal)?;
        Ok(Places { _own: own, _common: common })
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

    /// Has no other commit of this upload begin, nor its end, until what is answered is dropped.
    pub(super) fn begin(&self, upload_id: &str) -> Result<Begun> {
        let is_first =
            self.uploads.lock().unwrap_or_else(PoisonError::into_inner).insert(upload_id.to_owned());
        if !is_first {
            return Err(general("uploadId: this upload is being committed by another call"));
        }
        Ok(Begun { upload_id: upload_id.to_owned(), uploads: Arc::clone(&self.uploads) })
    }
}

/// An upload that is being committed, or given up.
pub(super) struct Begun {
    upload_id: String,
    uploads: Arc<Mutex<HashSet<String>>>,
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.uploads.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.upload_id);
    }
}

/// Commits an upload. It goes on to its end also when the caller goes away.
///
/// # Errors
/// The business failures of a commit (specification, "Errors" 4). The upload is as it was then.
pub(super) async fn commit(app: &Arc<App>, caller: Arc<Caller>, wanted: Wanted) -> Result<FileInfo> {
    let places = app.commits.wait(&caller).await?;
    let (app, texts) = (Arc::clone(app), &app.texts);
    let going_on = async move {
        let _places = places;
        run(&app, &caller, wanted).await
    };
    let file = tokio::spawn(going_on.in_current_span()).await.map_err(Error::internal)??;
    // So that it is found by what it says a moment after it is answered; it is read in any case.
    texts.wait(&file.id).await;
    Ok(file)
}

async fn run(app: &App, caller: &Arc<Caller>, wanted: Wanted) -> Result<FileInfo> {
    let upload = find(app, caller, &wanted).await?;
    let _begun = app.commits.begin(&upload.id)?;
    let claim =
        Claim { seer: Seer::of(caller)?, upload: &upload, wanted: &wanted, limits: &app.config.limits };
    placing::look(&app.store, caller, claim).await?;
    let chosen = choose(app, &wanted).await?;
    let upload_id = upload.id.clone();
    match make(app, caller, upload, wanted, &chosen).await {
        Ok(file) => {
            discard(app, &upload_id).await;
            Ok(file)
        }
        Err(refusal) => {
            // No quota counts what is composed, and it may be committed again and again.
            if let Err(error) = app.storage.remove_composed(&upload_id).await {
                tracing::warn!(%error, "what was composed for a commit that was refused could not be removed");
            }
            Err(refusal)
        }
    }
}

/// Removes what there is of an upload that is over. What cannot be now is swept up otherwise (`storage/contents`).
pub(super) async fn discard(app: &App, upload_id: &str) {
    if let Err(error) = app.storage.discard(upload_id).await {
        tracing::warn!(%error, "what was left of an upload could not be removed yet");
    }
}

/// Makes a file of the parts.
async fn make(
    app: &App,
    caller: &Arc<Caller>,
    upload: Upload,
    wanted: Wanted,
    chosen: &[Part],
) -> Result<FileInfo> {
    let content = compose(app, &upload.id, chosen).await?;
    check_content(&content, &upload, &wanted)?;
    keep(app, caller, wanted, content).await
}

/// The caller's upload, which came the way that this commit is for.
async fn find(app: &App, caller: &Caller, wanted: &Wanted) -> Result<Upload> {
    let user_id = &caller.require_user()?.person.user_id;
    let found = repo::find_upload(app.store.reader(), caller.tenant.id, user_id, &wanted.upload_id).await?;
    let upload = found.ok_or_else(no_such_upload)?;
    match (wanted.way, upload.is_multipart) {
        (Way::Single, true) => {
            Err(general("uploadId: this upload is in parts; commit it by /v1/stream/multipart/upload/commit"))
        }
        (Way::Multipart, false) => {
            Err(general("uploadId: this upload is not in parts; commit it by /v1/stream/upload/commit"))
        }
        _ => Ok(upload),
    }
}

/// The parts that make up the content.
async fn choose(app: &App, wanted: &Wanted) -> Result<Vec<Part>> {
    let sent = app.storage.parts(&wanted.upload_id).await?;
    let chosen = match wanted.way {
        Way::Single if sent.is_empty() => {
            return Err(general("uploadId: nothing has been sent to the address of this upload"));
        }
        Way::Single => sent,
        Way::Multipart => {
            parts::choose(&wanted.parts, &sent, app.config.limits.part_bytes).map_err(general)?
        }
    };
    check_size(chosen.iter().map(|part| part.size).sum(), wanted)?;
    Ok(chosen)
}

fn check_size(bytes: u64, wanted: &Wanted) -> Result<()> {
    if u64::try_from(wanted.bytes).is_ok_and(|expected| expected == bytes) {
        return Ok(());
    }
    Err(general(format!("fileSize: {bytes} bytes have come in, not {}", wanted.bytes)))
}

/// Makes one content of the parts, while the scanner looks through it.
async fn compose(app: &App, upload_id: &str, chosen: &[Part]) -> Result<Composed> {
    let Some(scanner) = &app.scanner else { return app.storage.compose(upload_id, chosen, None).await };
    let (tap, pieces) = mpsc::channel(PIECES_AHEAD);
    let (composed, verdict) =
        tokio::join!(app.storage.compose(upload_id, chosen, Some(tap)), scan(scanner.as_ref(), pieces));
    // A content that did not come to its end was not looked through either.
    let composed = composed?;
    match verdict? {
        Verdict::Safe => Ok(composed),
        Verdict::Unsafe(what) => {
            tracing::warn!(what, "an unsafe file was refused");
            Err(unsafe_file())
        }
    }
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

fn check_content(content: &Composed, upload: &Upload, wanted: &Wanted) -> Result<()> {
    check_size(content.size, wanted)?;
    for (expected, said) in
        [(&wanted.sha256, "said"), (&upload.declared_sha256, "said when the upload was signed")]
    {
        if expected.as_ref().is_some_and(|expected| *expected != content.sha256) {
            return Err(general(format!("fileHash: what has come in has another SHA-256 than was {said}")));
        }
    }
    Ok(())
}

/// Has the content be there for good, and the file with it.
async fn keep(app: &App, caller: &Arc<Caller>, wanted: Wanted, content: Composed) -> Result<FileInfo> {
    // From here on nobody removes it for having no version.
    let _claim = app.contents.claim(&content.sha256).await;
    note(app, &content).await?;
    app.storage.keep(&wanted.upload_id, &content).await?;
    let (caller, limits) = (Arc::clone(caller), app.config.limits.clone());
    let job = app.store.write(move |transaction| {
        Box::pin(async move { placing::put(transaction, &caller, &limits, &wanted, &content).await })
    });
    job.await
}

/// Notes that the content is to be there, before it is.
async fn note(app: &App, content: &Composed) -> Result<()> {
    let (store, content) = (app.storage.name(), content.clone());
    let job = app.store.write(move |transaction| {
        Box::pin(async move { Ok(repo::note_content(transaction, store, &content, now_millis()).await?) })
    });
    // The same content may have been found unsafe before.
    job.await?.map_or(Ok(()), |_verdict| Err(unsafe_file()))
}
