//! Composition of an upload's parts to one content.

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Read, Write},
    mem,
    path::{Path, PathBuf},
};

use aws_lc_rs::digest::{Context, SHA256};
use bytes::Bytes;
use tempfile::NamedTempFile;
use tokio::{sync::mpsc, task::spawn_blocking};

use super::{PIECE_BYTES, blocking, layout, receiving};
use crate::{
    blobs::{ComposedContent, UploadPart, changed},
    error::{Error, Result, disk_full},
    store::disk_reserve::DiskReserve,
};

fn path_of(directory: &Path, part: &UploadPart) -> Result<PathBuf> {
    // An unsent part's `ETag` can be any text.
    if layout::is_sha256(&part.e_tag) {
        Ok(directory.join(layout::part_name(part.number, part.size, &part.e_tag)))
    } else {
        Err(changed(part.number))
    }
}

/// Turns a single part into the content by a hard link. None without hard links.
pub(super) async fn take_whole(directory: PathBuf, part: UploadPart) -> Result<Option<ComposedContent>> {
    let path = path_of(&directory, &part)?;
    let sha256 = part.e_tag.clone();
    let linked = blocking(move || {
        let aside = directory.join(format!("{}{}", layout::UNFINISHED, uuid::Uuid::new_v4()));
        match fs::hard_link(&path, &aside) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(LinkOutcome::Missing),
            Err(error) if is_without_links(&error) => return Ok(LinkOutcome::Impossible),
            linked => linked?,
        }
        fs::rename(&aside, layout::whole(&directory, &part.e_tag))?;
        // A rename onto the same inode does nothing.
        layout::remove(&aside)?;
        layout::sync_directory(&directory)?;
        Ok(LinkOutcome::Done)
    });
    match linked.await? {
        LinkOutcome::Done => Ok(Some(composed(sha256, part.size))),
        LinkOutcome::Missing => Err(changed(part.number)),
        LinkOutcome::Impossible => Ok(None),
    }
}

fn composed(sha256: String, size: u64) -> ComposedContent {
    ComposedContent { name: sha256.clone(), store_key: sha256.clone(), sha256, size }
}

enum LinkOutcome {
    Done,
    Missing,
    Impossible,
}

/// Hard links may be unsupported (exFAT, some network file systems) or exhausted.
fn is_without_links(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::PERM, Errno::OPNOTSUPP, Errno::XDEV, Errno::MLINK, Errno::NOSYS]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

struct Composition {
    whole: Option<NamedTempFile>,
    hash: Context,
    size: u64,
    part: Option<(File, Context)>,
}

impl Composition {
    fn open(&mut self, path: &Path, size: u64) -> io::Result<bool> {
        match File::open(path) {
            Ok(file) => {
                let is_as_listed = file.metadata()?.len() == size;
                self.part = Some((file, Context::new(&SHA256)));
                Ok(is_as_listed)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn step(&mut self) -> io::Result<Bytes> {
        let Some((file, hash)) = &mut self.part else { return Ok(Bytes::new()) };
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        file.take(PIECE_BYTES as u64).read_to_end(&mut piece)?;
        hash.update(&piece);
        self.hash.update(&piece);
        self.whole.as_mut().ok_or(ErrorKind::NotFound)?.write_all(&piece)?;
        self.size += piece.len() as u64;
        Ok(piece.into())
    }

    fn close(&mut self) -> Option<String> {
        self.part.take().map(|(_, hash)| hex::encode(hash.finish()))
    }

    fn finish(mut self, directory: &Path) -> io::Result<ComposedContent> {
        let sha256 = hex::encode(mem::replace(&mut self.hash, Context::new(&SHA256)).finish());
        let whole = self.whole.take().ok_or(ErrorKind::NotFound)?;
        whole.as_file().sync_all()?;
        whole.persist(layout::whole(directory, &sha256))?;
        layout::sync_directory(directory)?;
        Ok(composed(sha256, self.size))
    }
}

impl Drop for Composition {
    fn drop(&mut self) {
        receiving::let_go(self.whole.take());
    }
}

pub(super) async fn compose(
    directory: PathBuf,
    parts: &[UploadPart],
    mut tap: Option<mpsc::Sender<Bytes>>,
    room: &DiskReserve,
) -> Result<ComposedContent> {
    let within = directory.clone();
    let mut making = blocking(move || {
        let whole = Some(receiving::unfinished(&within)?);
        Ok(Composition { whole, hash: Context::new(&SHA256), size: 0, part: None })
    })
    .await?;
    for part in parts {
        let (path, size) = (path_of(&directory, part)?, part.size);
        let is_as_listed;
        (making, is_as_listed) = on(making, move |making| making.open(&path, size)).await?;
        if !is_as_listed {
            return Err(changed(part.number));
        }
        loop {
            if !room.has_room_for(0) {
                return Err(disk_full());
            }
            let piece;
            (making, piece) = on(making, Composition::step).await?;
            if piece.is_empty() {
                break;
            }
            if let Some(listening) = &tap
                && listening.send(piece).await.is_err()
            {
                tap = None;
            }
        }
        if making.close().as_deref() != Some(&part.e_tag) {
            let told = format!("part {} in {} is damaged", part.number, directory.display());
            return Err(Error::internal(told));
        }
    }
    blocking(move || making.finish(&directory)).await
}

async fn on<T: Send + 'static>(
    mut making: Composition,
    job: impl FnOnce(&mut Composition) -> io::Result<T> + Send + 'static,
) -> Result<(Composition, T)> {
    let done = spawn_blocking(move || job(&mut making).map(|outcome| (making, outcome)));
    done.await.map_err(Error::internal)?.map_err(layout::failed)
}
