//! Open index and snapshots.

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use tantivy::ReloadPolicy;
use tantivy::directory::error::OpenDirectoryError;
use tantivy::directory::{Directory, MmapDirectory, RamDirectory};
use tokio_util::sync::CancellationToken;
use trawl_engine::correction::UnknownWords;
use trawl_engine::{FacetFields, FieldCounts, Hit, HitPage, Request, Scope};

use crate::Error;
use crate::checkpoint::Payload;
use crate::directory::UnsyncedDirectory;
use crate::embedded::bytes_in;
use crate::open_index::OpenIndex;
use crate::options::Options;
use crate::schema::{self, Fields};
use crate::startup_check::verify_on_open;
use crate::tokenizer::{EncodedTokenizer, TOKENIZER};
use crate::verification::Verification;
use crate::view::IndexView;
use crate::writer::Writer;

/// Handle for reading; clones share the index.
#[derive(Clone)]
pub struct Index {
    open: Arc<OpenIndex>,
}

impl Index {
    /// Opens the index in the directory; creates both if missing.
    ///
    /// Never deletes: on [`Error::Unusable`] the caller wipes the directory and rebuilds.
    /// [`Self::verification`] finds further damage.
    pub fn open(directory: &Path, options: &Options) -> Result<(Self, Writer), Error> {
        without_panic("when it was opened", || Self::open_directory(directory, options))
    }

    fn open_directory(directory: &Path, options: &Options) -> Result<(Self, Writer), Error> {
        std::fs::create_dir_all(directory)?;
        let mapped = MmapDirectory::open(directory).map_err(|error| match error {
            OpenDirectoryError::IoError { io_error, .. } => {
                let code = io_error.raw_os_error();
                Error::Files(code.map_or_else(|| io_error.kind().into(), std::io::Error::from_raw_os_error))
            }
            other => Error::Unusable(other.to_string()),
        })?;
        let directory = UnsyncedDirectory::new(mapped, directory);
        let root = Some(directory.root().to_owned());
        Self::open_in(directory.clone(), options, root, |index| verify_on_open(directory.root(), index))
    }

    /// Creates an index in memory.
    pub fn in_memory(options: &Options) -> Result<(Self, Writer), Error> {
        Self::open_in(RamDirectory::create(), options, None, |_| Ok(()))
    }

    fn open_in<D: Directory>(
        directory: D,
        options: &Options,
        root: Option<PathBuf>,
        verify: impl FnOnce(&tantivy::Index) -> Result<(), Error>,
    ) -> Result<(Self, Writer), Error> {
        let (schema, fields) = Fields::build();
        let exists =
            tantivy::Index::exists(&directory).map_err(|error| Error::Unusable(error.to_string()))?;
        let index = if exists {
            let index = tantivy::Index::open(directory).map_err(Error::from_opening)?;
            if index.schema() != schema || index.settings() != &schema::settings() {
                return Err(Error::Unusable("it was written with other fields or settings".to_owned()));
            }
            index
        } else {
            tantivy::Index::create(directory, schema, schema::settings())?
        };
        index.tokenizers().register(TOKENIZER, EncodedTokenizer::default());
        let payload = Payload::read(&index)?;
        verify(&index)?;

        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            // The view caches stored items across reloads.
            .doc_store_cache_num_blocks(0)
            .try_into()
            .map_err(Error::from_opening)?;
        // A file that cannot be read here is damaged.
        let view = IndexView::new(reader.searcher(), fields, None).map_err(|error| match error {
            Error::Engine(error) => Error::from_opening(error),
            other => other,
        })?;
        let view = ArcSwap::from_pointee(view);
        let open = Arc::new(OpenIndex { reader, fields, view, engine: index.clone(), root });
        let writer = Writer::new(&index, Arc::clone(&open), options, payload)?;
        Ok((Self { open }, writer))
    }

    /// The last commit; cheap enough for each request.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { view: self.open.view(), cancelled: CancellationToken::new() }
    }

    /// Size of the files; 0 in memory. Blocks.
    pub fn bytes(&self) -> u64 {
        self.open.root.as_deref().map_or(0, bytes_in)
    }

    /// Starts a verification of all files; `None` in memory.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] if the description of the index cannot be read.
    pub fn verification(&self) -> Result<Option<Verification>, Error> {
        let Some(root) = &self.open.root else { return Ok(None) };
        without_panic("when its files were listed", || {
            Verification::new(&self.open.engine, root.clone()).map(Some)
        })
    }
}

/// The index at one commit.
#[derive(Clone)]
pub struct Snapshot {
    view: Arc<IndexView>,
    /// Ends searches that block.
    cancelled: CancellationToken,
}

impl Snapshot {
    /// The same commit, whose searches end soon after they are cancelled.
    pub(crate) fn until(&self, cancelled: CancellationToken) -> Self {
        Self { view: Arc::clone(&self.view), cancelled }
    }

    /// Answers the request. Blocks on files and the processor.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] for damage, including panics of the engine.
    pub fn search(&self, request: &Request) -> Result<HitPage, Error> {
        without_panic("in a search", || crate::search::search(&self.view, request, &self.cancelled))
    }

    /// The newest hits of each request, uncounted. Blocks.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`], like [`Snapshot::search`].
    pub fn newest(&self, requests: &[Request]) -> Result<Vec<Vec<Hit>>, Error> {
        let newest = |request| crate::search::newest_hits(&self.view, request, &self.cancelled);
        without_panic("in a search", || requests.iter().map(newest).collect())
    }

    /// Counts all matches of requests of one viewer by their fields. Blocks.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`], like [`Snapshot::search`].
    pub fn count_fields(&self, requests: &[Request], fields: FacetFields) -> Result<FieldCounts, Error> {
        without_panic("in a search", || {
            crate::search::count_fields(&self.view, requests, fields, &self.cancelled)
        })
    }

    /// Looks up hidden words, and visible words one edit away. Blocks.
    ///
    /// An edit inserts, deletes, replaces or swaps letters.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`], like [`Snapshot::search`].
    pub fn unknown_words(
        &self,
        scopes: &[Arc<Scope>],
        principals: &Arc<[String]>,
        keyword: &str,
    ) -> Result<UnknownWords, Error> {
        let key = (scopes.to_vec(), Arc::clone(principals), keyword.to_owned());
        if let Some(known) = self.view.unknown_words.get(&key) {
            return Ok(known);
        }
        let find = || crate::search::unknown_words(&self.view, scopes, principals, keyword, &self.cancelled);
        let found = without_panic("in a search", find)?;
        self.view.unknown_words.put(key, found.clone());
        Ok(found)
    }

    /// Looks up whether every word that may be corrected is in the scopes, for each viewer.
    pub(crate) fn are_all_found(&self, scopes: &[Arc<Scope>], keyword: &str) -> Result<bool, Error> {
        without_panic("in a search", || crate::search::are_all_found(&self.view, scopes, keyword))
    }

    /// Searches for a few hundred microseconds at most; `None` if that does not suffice.
    pub fn search_at_once(&self, request: &Request) -> Result<Option<HitPage>, Error> {
        without_panic("in a search", || crate::search::search_at_once(&self.view, request))
    }

    /// Number of documents in all scopes.
    pub fn documents(&self) -> u64 {
        self.view.searcher.num_docs()
    }

    /// Number that grows with every visible commit; unique in the process.
    pub fn generation(&self) -> u64 {
        self.view.generation
    }

    pub(crate) fn clear_caches(&self) {
        self.view.clear_caches();
    }

    /// Number of segments.
    pub fn segments(&self) -> usize {
        self.view.segments.len()
    }
}

/// Turns panics of the engine, which damaged files cause, into errors.
fn without_panic<T>(moment: &str, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    std::panic::catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_panic| Err(Error::Unusable(format!("the engine panicked {moment}"))))
}
