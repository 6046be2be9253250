//! Memory and threads.

/// Minimum for an indexing thread, in bytes.
pub const MIN_THREAD_MEMORY_BYTES: usize = 15_000_000;

/// Options for opening an index.
#[derive(Debug, Clone)]
pub struct Options {
    /// Bytes of uncommitted documents, over all threads; at least [`MIN_THREAD_MEMORY_BYTES`] each.
    pub writer_memory_bytes: usize,
    /// Threads that write a segment at each commit.
    ///
    /// One suits steady small commits; bulk loads gain from two.
    pub indexing_threads: usize,
    /// Threads that merge segments.
    pub merge_threads: usize,
    /// Most documents of a commit that needs no thread.
    pub small_commit_documents: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            writer_memory_bytes: 128 * 1024 * 1024,
            indexing_threads: 1,
            merge_threads: 3,
            small_commit_documents: 256,
        }
    }
}
