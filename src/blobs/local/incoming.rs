//! Indexes parts in memory, instead of listing up to 10,000 for each.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::layout;
use crate::blobs::UploadPart;

/// Uploads above which idle ones leave the cache.
const MANY_UPLOADS: usize = 200;
const MANY_PARTS: usize = 200_000;

#[derive(Default)]
pub(super) struct Uploads {
    all: Mutex<HashMap<String, Arc<IncomingUpload>>>,
}

impl Uploads {
    pub(super) fn of(&self, upload_id: &str) -> Arc<IncomingUpload> {
        let mut all = lock(&self.all);
        if let Some(known) = all.get(upload_id) {
            return Arc::clone(known);
        }
        let parts = || all.values().map(|incoming| lock(&incoming.known).count()).sum::<usize>();
        if all.len() >= MANY_UPLOADS || parts() >= MANY_PARTS {
            all.retain(|_, incoming| Arc::strong_count(incoming) > 1);
        }
        Arc::clone(all.entry(upload_id.to_owned()).or_default())
    }

    pub(super) fn forget(&self, upload_id: &str) {
        let mut all = lock(&self.all);
        if all.get(upload_id).is_some_and(|incoming| Arc::strong_count(incoming) == 1) {
            all.remove(upload_id);
        }
    }
}

#[derive(Default)]
pub(super) struct IncomingUpload {
    placing: Mutex<()>,
    known: Mutex<ReceivedParts>,
}

#[derive(Default)]
struct ReceivedParts {
    parts: Option<BTreeMap<u32, UploadPart>>,
    there: u64,
    coming: u64,
}

impl ReceivedParts {
    fn count(&self) -> usize {
        self.parts.as_ref().map_or(0, BTreeMap::len)
    }

    fn part(&self, number: u32) -> Option<&UploadPart> {
        self.parts.as_ref()?.get(&number)
    }
}

impl IncomingUpload {
    /// Two parts of one number must not remove each other.
    pub(super) fn enter(&self) -> MutexGuard<'_, ()> {
        lock(&self.placing)
    }

    pub(super) fn is_known(&self) -> bool {
        lock(&self.known).parts.is_some()
    }

    /// Lists the directory, unless cached.
    pub(super) fn look(&self, _entered: &MutexGuard<'_, ()>, directory: &Path) -> io::Result<()> {
        if self.is_known() {
            return Ok(());
        }
        let (parts, superseded) = layout::look(directory)?;
        for path in superseded {
            layout::remove(&path)?;
        }
        let mut known = lock(&self.known);
        known.there = parts.iter().map(|part| part.size).sum();
        known.parts = Some(parts.into_iter().map(|part| (part.number, part)).collect());
        Ok(())
    }

    pub(super) fn part(&self, number: u32) -> Option<UploadPart> {
        lock(&self.known).part(number).cloned()
    }

    pub(super) fn put(&self, part: UploadPart) {
        let mut known = lock(&self.known);
        let size = part.size;
        let Some(parts) = &mut known.parts else { return };
        let earlier = parts.insert(part.number, part).map_or(0, |earlier| earlier.size);
        known.there = known.there.saturating_sub(earlier).saturating_add(size);
    }

    pub(super) fn forget(&self) {
        let mut known = lock(&self.known);
        known.parts = None;
        known.there = 0;
    }
}

/// Bytes of a part in flight, until dropped.
pub struct PartInFlight {
    upload: Arc<IncomingUpload>,
    part_number: u32,
    bytes: u64,
}

impl PartInFlight {
    pub(super) fn new(upload: Arc<IncomingUpload>, part_number: u32) -> Self {
        Self { upload, part_number, bytes: 0 }
    }

    /// Sets the part's bytes in flight. Returns the upload's total without the replaced part.
    pub fn set(&mut self, bytes: u64) -> u64 {
        let mut known = lock(&self.upload.known);
        known.coming = known.coming.saturating_sub(self.bytes).saturating_add(bytes);
        self.bytes = bytes;
        let replaced = known.part(self.part_number).map_or(0, |part| part.size);
        known.there.saturating_sub(replaced).saturating_add(known.coming)
    }
}

impl Drop for PartInFlight {
    fn drop(&mut self) {
        self.set(0);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
