//! Giving a content: while one piece is taken the next one is read.

use std::{
    fs::File,
    io::{self, ErrorKind, Read, Seek, SeekFrom},
    ops::Range,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use futures::{StreamExt, stream};
use tokio::task::{JoinHandle, spawn_blocking};

use super::{PIECE_BYTES, layout};
use crate::{
    error::{Error, Result},
    storage::Pieces,
};

/// A content that is read.
struct Reading {
    file: File,
    /// Bytes that are still to be read.
    left: u64,
}

impl Reading {
    fn open(path: &Path, range: &Range<u64>) -> io::Result<Self> {
        let mut file = File::open(path)?;
        if file.metadata()?.len() < range.end {
            return Err(io::Error::other(format!("{} is shorter than it should be", path.display())));
        }
        if range.start > 0 {
            file.seek(SeekFrom::Start(range.start))?;
        }
        Ok(Self { file, left: range.end.saturating_sub(range.start) })
    }

    /// The next piece, and what goes on behind it.
    fn step(mut self) -> io::Result<(Bytes, Self)> {
        let size = self.left.min(PIECE_BYTES as u64);
        let mut piece = Vec::with_capacity(usize::try_from(size).unwrap_or(PIECE_BYTES));
        (&self.file).take(size).read_to_end(&mut piece)?;
        if (piece.len() as u64) < size {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.left -= size;
        Ok((piece.into(), self))
    }
}

type Step = JoinHandle<io::Result<(Bytes, Reading)>>;

/// A range of the content of a file.
pub(super) async fn read(path: PathBuf, range: Range<u64>) -> Result<Pieces> {
    let opened = spawn_blocking(move || Reading::open(&path, &range)?.step());
    let first = opened.await.map_err(Error::internal)?.map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::not_found("this content is not there").caused_by(error),
        _ => layout::failed(error),
    })?;
    Ok(stream::unfold(State::There(first), next).boxed())
}

/// Between two pieces.
enum State {
    There((Bytes, Reading)),
    Coming(Step),
    Over,
}

async fn next(state: State) -> Option<(Result<Bytes>, State)> {
    let read = match state {
        State::There(read) => Ok(read),
        State::Coming(step) => match step.await {
            Ok(read) => read.map_err(layout::failed),
            Err(error) => Err(Error::internal(error)),
        },
        State::Over => return None,
    };
    match read {
        Ok((piece, _)) if piece.is_empty() => None,
        Ok((piece, reading)) => {
            let after =
                if reading.left > 0 { State::Coming(spawn_blocking(|| reading.step())) } else { State::Over };
            Some((Ok(piece), after))
        }
        Err(error) => {
            error.log();
            Some((Err(error), State::Over))
        }
    }
}
