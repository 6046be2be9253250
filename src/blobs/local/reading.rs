//! Reads a content, with one chunk of read-ahead.

use std::{
    fs::File,
    io::{self, ErrorKind, Read, Seek, SeekFrom},
    mem,
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use futures::{StreamExt, stream};
use tokio::task::JoinHandle;

use super::{PIECE_BYTES, begin, layout};
use crate::{
    blobs::Pieces,
    error::{Error, Result},
};

/// Reuse prevents growth of the allocator's memory across threads.
type Buffers = Arc<Mutex<Vec<Vec<u8>>>>;

/// Returns its buffer when dropped.
struct BorrowedBuffer {
    bytes: Vec<u8>,
    buffers: Buffers,
}

impl AsRef<[u8]> for BorrowedBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for BorrowedBuffer {
    fn drop(&mut self) {
        let mut bytes = mem::take(&mut self.bytes);
        bytes.clear();
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    }
}

struct RangeReader {
    file: File,
    buffers: Buffers,
    left: u64,
}

impl RangeReader {
    fn open(path: &Path, range: &Range<u64>) -> io::Result<Self> {
        let mut file = File::open(path)?;
        if file.metadata()?.len() < range.end {
            return Err(io::Error::other(format!("{} is shorter than it should be", path.display())));
        }
        if range.start > 0 {
            file.seek(SeekFrom::Start(range.start))?;
        }
        Ok(Self { file, buffers: Buffers::default(), left: range.end.saturating_sub(range.start) })
    }

    fn step(mut self) -> io::Result<(Bytes, Self)> {
        let size = self.left.min(PIECE_BYTES as u64);
        let free = self.buffers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut bytes = free.unwrap_or_default();
        bytes.reserve_exact(usize::try_from(size).unwrap_or(PIECE_BYTES));
        (&self.file).take(size).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < size {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.left -= size;
        let piece = Bytes::from_owner(BorrowedBuffer { bytes, buffers: Arc::clone(&self.buffers) });
        Ok((piece, self))
    }
}

type ReadStep = JoinHandle<io::Result<(Bytes, RangeReader)>>;

pub(super) async fn read(path: PathBuf, range: Range<u64>) -> Result<Pieces> {
    let opened = begin(move || RangeReader::open(&path, &range)?.step()).await;
    let first = opened.await.map_err(Error::internal)?.map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::not_found("there is no such content").caused_by(error),
        _ => layout::failed(error),
    })?;
    Ok(stream::unfold(ReadingState::There(first), next).boxed())
}

enum ReadingState {
    There((Bytes, RangeReader)),
    PartInFlight(ReadStep),
    Over,
}

async fn next(state: ReadingState) -> Option<(Result<Bytes>, ReadingState)> {
    let read = match state {
        ReadingState::There(read) => Ok(read),
        ReadingState::PartInFlight(step) => match step.await {
            Ok(read) => read.map_err(layout::failed),
            Err(error) => Err(Error::internal(error)),
        },
        ReadingState::Over => return None,
    };
    match read {
        Ok((piece, _)) if piece.is_empty() => None,
        Ok((piece, reading)) => {
            let after = if reading.left > 0 {
                ReadingState::PartInFlight(begin(|| reading.step()).await)
            } else {
                ReadingState::Over
            };
            Some((Ok(piece), after))
        }
        Err(error) => {
            error.log();
            Some((Err(error), ReadingState::Over))
        }
    }
}
