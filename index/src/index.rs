//! The index as it is opened, and the snapshots that searches run on.

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use tantivy::directory::error::{OpenDirectoryError, OpenReadError};
use tantivy::directory::{Directory, MmapDirectory, RamDirectory};
use tantivy::{IndexReader, ReloadPolicy, TantivyError};

use crate::directory::UnsyncedDirectory;
use crate::schema::{self, Fields};
use crate::text::{EncodedTokenizer, TOKENIZER};
use crate::verification::Verification;
use crate::view::View;
use crate::writer::{Payload, Writer};
use crate::{Error, Page, Request, Scope};

/// How an index is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// Memory, in bytes, that the documents of one uncommitted segment may take, over all indexing threads; at least
    /// 15 MB a thread is taken.
    pub writer_memory_bytes: usize,
    /// Threads that index; each makes a segment of its own at each commit. One is right for a server that commits
    /// small batches all the time: more only makes more segments to merge. Bulk loads into few commits gain from two.
    pub indexing_threads: usize,
    /// Threads that merge segments in the background.
    pub merge_threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { writer_memory_bytes: 128 * 1024 * 1024, indexing_threads: 1, merge_threads: 3 }
    }
}

/// The index, to read from. Clones are cheap and share it.
#[derive(Clone)]
pub struct Index {
    shared: Arc<Shared>,
}

/// What the readers and the writer have in common.
pub(crate) struct Shared {
    reader: IndexReader,
    fields: Fields,
    view: ArcSwap<View>,
    engine: tantivy::Index,
    /// Where the files are, unless it lives in memory.
    root: Option<PathBuf>,
}

impl Index {
    /// Opens the index in the directory, or creates both.
    ///
    /// Nothing is ever deleted: an index that another version wrote or that is damaged is [`Error::Unusable`], and
    /// the caller wipes the directory and rebuilds. Damage that is not met here is found by [`Self::verification`].
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
        Self::open_in(directory.clone(), options, root, |index| directory.verify(index))
    }

    /// Creates an index that lives in memory and ends with the last handle to it.
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
            let index = tantivy::Index::open(directory).map_err(unusable)?;
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
            // The view keeps its own readers of stored items, across reloads.
            .doc_store_cache_num_blocks(0)
            .try_into()
            .map_err(unusable)?;
        // What cannot be read here is damaged, whatever the engine calls it.
        let view = View::new(reader.searcher(), fields, None).map_err(|error| match error {
            Error::Engine(error) => unusable(error),
            other => other,
        })?;
        let view = ArcSwap::from_pointee(view);
        let shared = Arc::new(Shared { reader, fields, view, engine: index.clone(), root });
        let writer = Writer::new(&index, Arc::clone(&shared), options, payload)?;
        Ok((Self { shared }, writer))
    }

    /// A consistent view of what was committed last. Cheap: taken per request.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { view: self.shared.view() }
    }

    /// A reading of all files that the index has now, against their checksums; `None` of an index in memory.
    ///
    /// # Errors
    /// [`Error::Unusable`] when the description of the index cannot be read.
    pub fn verification(&self) -> Result<Option<Verification>, Error> {
        let Some(root) = &self.shared.root else { return Ok(None) };
        without_panic("when its files were listed", || {
            Verification::of(&self.shared.engine, root.clone()).map(Some)
        })
    }
}

impl Shared {
    pub(crate) fn fields(&self) -> Fields {
        self.fields
    }

    pub(crate) fn view(&self) -> Arc<View> {
        self.view.load_full()
    }

    /// Makes what was committed visible to the snapshots taken from now on.
    pub(crate) fn reload(&self) -> Result<(), Error> {
        self.reader.reload()?;
        let view = View::new(self.reader.searcher(), self.fields, Some(&self.view.load()))?;
        self.view.store(Arc::new(view));
        Ok(())
    }
}

/// The index as it was at one moment.
#[derive(Clone)]
pub struct Snapshot {
    view: Arc<View>,
}

impl Snapshot {
    /// Answers the request. Blocks on memory-mapped files and the processor; run it on a thread that may block.
    ///
    /// # Errors
    /// [`Error::Unusable`] where it met a damaged place, a panic of the engine included.
    pub fn search(&self, request: &Request<'_>) -> Result<Page, Error> {
        without_panic("in a search", || crate::search::search(&self.view, request))
    }

    /// The keyword with each word that finds nothing replaced by one that is one edit (a letter more, less, another or two
    /// exchanged) away, and that the viewer with these principals finds something by; none where there is no such word.
    /// Blocks, as [`Self::search`] does.
    pub fn correct(
        &self,
        scope: &Scope,
        principals: &[String],
        keyword: &str,
    ) -> Result<Option<String>, Error> {
        without_panic("in a search", || crate::search::correct(&self.view, scope, principals, keyword))
    }

    /// What [`Self::search`] answers, where finding it is so little work, whatever matches, that it may be done where nothing
    /// long may run; `None` where it would be more. The work is counted as it is done, and given up when it gets too much:
    /// a few hundred microseconds at most.
    pub fn search_at_once(&self, request: &Request<'_>) -> Result<Option<Page>, Error> {
        without_panic("in a search", || crate::search::search_at_once(&self.view, request))
    }

    /// The documents in the index, over all scopes.
    pub fn documents(&self) -> u64 {
        self.view.searcher.num_docs()
    }

    /// Grows with every commit that was made visible while this process runs. No two views have the same one, be they of
    /// one index or of two.
    pub fn generation(&self) -> u64 {
        self.view.generation
    }

    /// The segments that a search looks into, one after the other.
    pub fn segments(&self) -> usize {
        self.view.segments.len()
    }
}

/// A new, empty engine of the same schema and settings, without anything of ours around it.
pub fn bare_index(directory: &Path) -> Result<tantivy::Index, Error> {
    let (schema, _) = Fields::build();
    let mapped = MmapDirectory::open(directory).map_err(TantivyError::from)?;
    let directory = UnsyncedDirectory::new(mapped, directory);
    let index = tantivy::Index::create(directory, schema, schema::settings())?;
    index.tokenizers().register(TOKENIZER, EncodedTokenizer::default());
    Ok(index)
}

/// Damages, such as a file that is cut in the middle, make the engine panic; a panic is an answer like any other here.
fn without_panic<T>(moment: &str, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    std::panic::catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_panic| Err(Error::Unusable(format!("the engine panicked {moment}"))))
}

/// The engine over the index in the directory, without anything of ours around it.
pub fn bare_open(directory: &Path) -> Result<tantivy::Index, Error> {
    let mapped = MmapDirectory::open(directory).map_err(TantivyError::from)?;
    Ok(tantivy::Index::open(UnsyncedDirectory::new(mapped, directory))?)
}

/// Makes the index forget all that searches had it remember.
pub fn forget(snapshot: &Snapshot) {
    snapshot.view.forget();
}

/// Files that are missing, cut or of another format make an index unusable; what the operating system refuses does not.
pub(crate) fn unusable(error: TantivyError) -> Error {
    match error {
        TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. })
        | TantivyError::IoError(io_error)
            if io_error.kind() != std::io::ErrorKind::NotFound
                && let Some(code) = io_error.raw_os_error() =>
        {
            Error::Files(std::io::Error::from_raw_os_error(code))
        }
        TantivyError::LockFailure(..) => Error::Locked,
        other => Error::Unusable(other.to_string()),
    }
}
