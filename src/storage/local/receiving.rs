//! Taking a part in: what arrives is hashed and written piece by piece, and never more of it is in memory than two pieces.
//!
//! A thread works on a piece that is there. None waits for a sender: there are fewer threads than senders.

use std::{
    ffi::OsStr,
    fs,
    io::{self, ErrorKind, Write},
    mem,
    path::{Path, PathBuf},
};

use aws_lc_rs::digest::{Context, SHA256};
use bytes::Bytes;
use futures::{Stream, StreamExt};
use tempfile::NamedTempFile;
use tokio::task::spawn_blocking;

use super::{CHUNK_BYTES, PIECE_BYTES, begin, incoming::Incoming, layout};
use crate::{
    error::{Error, Result, disk_full},
    storage::{Part, signing::SignedPart},
    store::room::Room,
};

/// A part that came in and is not in its place yet. It goes when it is dropped.
pub struct Arrived {
    /// None once it was taken to its place, or is gone.
    file: Option<NamedTempFile>,
    directory: PathBuf,
    part: Part,
}

impl Arrived {
    /// What came in.
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// What it came in for.
    pub(super) fn upload_id(&self) -> &str {
        self.directory.file_name().and_then(OsStr::to_str).unwrap_or_default()
    }

    /// Has nothing be left of it.
    pub async fn discard(mut self) {
        let file = self.file.take();
        if let Err(error) = spawn_blocking(move || drop(file)).await {
            tracing::error!(%error, "a part that was refused could not be removed");
        }
    }
}

/// What is written.
struct Sink {
    file: Option<NamedTempFile>,
    hash: Context,
    size: u64,
}

impl Sink {
    fn create(directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let file = unfinished(directory)?;
        Ok(Self { file: Some(file), hash: Context::new(&SHA256), size: 0 })
    }

    /// Gives the piece back, empty, for the next one.
    fn write(mut self, mut piece: Vec<u8>) -> io::Result<(Self, Vec<u8>)> {
        let file = self.file.as_mut().ok_or(ErrorKind::NotFound)?;
        self.hash.update(&piece);
        file.write_all(&piece)?;
        self.size += piece.len() as u64;
        piece.clear();
        Ok((self, piece))
    }

    fn finish(mut self, directory: PathBuf, number: u32) -> io::Result<Arrived> {
        let file = self.file.take();
        if let Some(file) = &file {
            file.as_file().sync_all()?;
        }
        let e_tag = hex::encode(mem::replace(&mut self.hash, Context::new(&SHA256)).finish());
        Ok(Arrived { file, directory, part: Part { number, size: self.size, e_tag } })
    }
}

/// Removing a large file takes long.
pub(super) fn let_go(file: Option<NamedTempFile>) {
    let Some(file) = file else { return };
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(move || drop(file))),
        Err(_) => drop(file),
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        let_go(self.file.take());
    }
}

impl Drop for Arrived {
    fn drop(&mut self) {
        let_go(self.file.take());
    }
}

/// A file for what is not whole yet, which goes when it is dropped.
pub(super) fn unfinished(directory: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(layout::UNFINISHED).tempfile_in(directory)
}

/// Takes a part in, to a file that nobody sees.
pub(super) async fn receive(
    directory: PathBuf,
    part: &SignedPart,
    content: impl Stream<Item = Result<Bytes>> + Send + Unpin,
    room: &Room,
) -> Result<Arrived> {
    let mut content = content.fuse();
    let to = directory.clone();
    let mut writing = begin(move || Ok((Sink::create(&to)?, Vec::new()))).await;
    let mut left = part.most_bytes;
    // Copied: what comes is cut from larger buffers, which would all be held until it is written. Two pieces take turns.
    let mut piece = Vec::new();
    loop {
        let gathered = gather(&mut content, &mut left, &mut piece).await;
        // Waited for also where the sender is gone, so that nothing is left when that is answered.
        let written = writing.await.map_err(Error::internal)?;
        let (mut sink, next) = written.map_err(layout::failed)?;
        let gathered = gathered.and_then(|()| if room.has_room_for(0) { Ok(()) } else { Err(disk_full()) });
        if let Err(error) = gathered {
            let file = sink.file.take();
            spawn_blocking(move || drop(file)).await.map_err(Error::internal)?;
            return Err(error);
        }
        let full = mem::replace(&mut piece, next);
        if full.is_empty() {
            let number = part.part_number;
            let finishing = spawn_blocking(move || sink.finish(directory, number));
            return finishing.await.map_err(Error::internal)?.map_err(layout::failed);
        }
        writing = begin(move || sink.write(full)).await;
    }
}

/// Fills the next piece; one that stays empty is the end.
async fn gather(
    content: &mut (impl Stream<Item = Result<Bytes>> + Unpin),
    left: &mut u64,
    piece: &mut Vec<u8>,
) -> Result<()> {
    // As large as it may become, so that it never moves.
    piece.reserve_exact(PIECE_BYTES + CHUNK_BYTES);
    while piece.len() < PIECE_BYTES {
        let Some(chunk) = content.next().await.transpose()? else { break };
        *left = left.checked_sub(chunk.len() as u64).ok_or_else(too_large)?;
        piece.extend_from_slice(&chunk);
    }
    Ok(())
}

/// 413: it is larger than its address allows.
pub(super) fn too_large() -> Error {
    Error::too_large("body: has more bytes than this address allows")
}

/// Has a part be in its place, and none besides of its number. None where its upload is gone.
pub(super) fn place(mut arrived: Arrived, upload: &Incoming) -> io::Result<Option<Part>> {
    let Arrived { directory, part, .. } = &arrived;
    let (directory, part) = (directory.clone(), part.clone());
    let Some(file) = arrived.file.take() else { return Ok(None) };
    match put(file, &directory, &part, upload) {
        Ok(true) => {}
        Ok(false) => return Ok(None),
        Err(error) => {
            upload.forget();
            return Err(error);
        }
    }
    match layout::sync_directory(&directory).and_then(|()| sync_parent(&directory)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        synced => synced.map(|()| Some(part)),
    }
}

/// Answers whether its directory is still there.
fn put(file: NamedTempFile, directory: &Path, part: &Part, upload: &Incoming) -> io::Result<bool> {
    let path = |part: &Part| directory.join(layout::part_name(part.number, part.size, &part.e_tag));
    let entered = upload.enter();
    upload.look(&entered, directory)?;
    match file.persist(path(part)) {
        Err(error) if error.error.kind() == ErrorKind::NotFound => return Ok(false),
        placed => placed?,
    };
    if let Some(earlier) = upload.part(part.number).filter(|earlier| earlier != part) {
        layout::remove(&path(&earlier))?;
    }
    upload.put(part.clone());
    Ok(true)
}

fn sync_parent(directory: &Path) -> io::Result<()> {
    directory.parent().map_or(Ok(()), layout::sync_directory)
}
