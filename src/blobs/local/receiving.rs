//! Hashes and writes received parts in chunks, at most 2 in memory.
//!
//! Blocking threads never wait for senders, of which there are more.

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

use super::{CHUNK_BYTES, PIECE_BYTES, begin, incoming::IncomingUpload, layout};
use crate::{
    blobs::{UploadPart, signing::SignedPart},
    error::{Error, Result, disk_full},
    store::disk_reserve::DiskReserve,
};

/// A received part before its publication; dropped, it removes its file.
pub struct ReceivedPart {
    file: Option<NamedTempFile>,
    directory: PathBuf,
    part: UploadPart,
}

impl ReceivedPart {
    /// The received part.
    pub fn part(&self) -> &UploadPart {
        &self.part
    }

    pub(super) fn upload_id(&self) -> &str {
        self.directory.file_name().and_then(OsStr::to_str).unwrap_or_default()
    }

    /// Removes the file.
    pub async fn discard(mut self) {
        let file = self.file.take();
        if let Err(error) = spawn_blocking(move || drop(file)).await {
            tracing::error!(%error, "a refused part could not be removed");
        }
    }
}

struct FileSink {
    file: Option<NamedTempFile>,
    hash: Context,
    size: u64,
}

impl FileSink {
    fn create(directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let file = unfinished(directory)?;
        Ok(Self { file: Some(file), hash: Context::new(&SHA256), size: 0 })
    }

    fn write(mut self, mut piece: Vec<u8>) -> io::Result<(Self, Vec<u8>)> {
        let file = self.file.as_mut().ok_or(ErrorKind::NotFound)?;
        self.hash.update(&piece);
        file.write_all(&piece)?;
        self.size += piece.len() as u64;
        piece.clear();
        Ok((self, piece))
    }

    fn finish(mut self, directory: PathBuf, number: u32) -> io::Result<ReceivedPart> {
        let file = self.file.take();
        if let Some(file) = &file {
            file.as_file().sync_all()?;
        }
        let e_tag = hex::encode(mem::replace(&mut self.hash, Context::new(&SHA256)).finish());
        Ok(ReceivedPart { file, directory, part: UploadPart { number, size: self.size, e_tag } })
    }
}

/// Runs on a blocking thread: removing a large file takes long.
pub(super) fn let_go(file: Option<NamedTempFile>) {
    let Some(file) = file else { return };
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(move || drop(file))),
        Err(_) => drop(file),
    }
}

impl Drop for FileSink {
    fn drop(&mut self) {
        let_go(self.file.take());
    }
}

impl Drop for ReceivedPart {
    fn drop(&mut self) {
        let_go(self.file.take());
    }
}

pub(super) fn unfinished(directory: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(layout::UNFINISHED).tempfile_in(directory)
}

pub(super) async fn receive(
    directory: PathBuf,
    part: &SignedPart,
    content: impl Stream<Item = Result<Bytes>> + Send + Unpin,
    room: &DiskReserve,
) -> Result<ReceivedPart> {
    let mut content = content.fuse();
    let to = directory.clone();
    let mut writing = begin(move || Ok((FileSink::create(&to)?, Vec::new()))).await;
    let mut left = part.most_bytes;
    // Incoming slices would keep their larger buffers alive.
    let mut piece = Vec::new();
    loop {
        let gathered = gather(&mut content, &mut left, &mut piece).await;
        // Awaited even without a sender, so that no file remains.
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

async fn gather(
    content: &mut (impl Stream<Item = Result<Bytes>> + Unpin),
    left: &mut u64,
    piece: &mut Vec<u8>,
) -> Result<()> {
    // Full capacity prevents reallocation.
    piece.reserve_exact(PIECE_BYTES + CHUNK_BYTES);
    while piece.len() < PIECE_BYTES {
        let Some(chunk) = content.next().await.transpose()? else { break };
        *left = left.checked_sub(chunk.len() as u64).ok_or_else(too_large)?;
        piece.extend_from_slice(&chunk);
    }
    Ok(())
}

/// 413: larger than its URL allows.
pub(super) fn too_large() -> Error {
    Error::too_large("body: has more bytes than this address allows")
}

/// None where its upload is gone.
pub(super) fn place(mut arrived: ReceivedPart, upload: &IncomingUpload) -> io::Result<Option<UploadPart>> {
    let ReceivedPart { directory, part, .. } = &arrived;
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

/// Returns whether the directory still exists.
fn put(
    file: NamedTempFile,
    directory: &Path,
    part: &UploadPart,
    upload: &IncomingUpload,
) -> io::Result<bool> {
    let path = |part: &UploadPart| directory.join(layout::part_name(part.number, part.size, &part.e_tag));
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
